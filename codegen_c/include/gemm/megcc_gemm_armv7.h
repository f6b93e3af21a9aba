// The sums of a tile of megcc_gemm.h on Armv7, for panels of 8 columns, as one piece of assembly:
// left to itself GCC copies accumulators from loop to loop and keeps pointers on the stack.
//
// 4 rows by 8 columns take all 16 registers: q0-q3 four k of every row, q4-q7 two k of the panel,
// which one instruction loads, and q8-q15 the sums. A multiply by lane takes its scalar from
// d0-d15, and only vmla has that form: vfma (VFPv4) would need a broadcast for each.
#ifndef MEGCC_GEMM_ARMV7_H
#define MEGCC_GEMM_ARMV7_H

#include "megcc_kernel.h"

// clang-format off
#define MEGCC_ARMV7_C0_0 "q8"
#define MEGCC_ARMV7_C0_1 "q9"
#define MEGCC_ARMV7_C1_0 "q10"
#define MEGCC_ARMV7_C1_1 "q11"
#define MEGCC_ARMV7_C2_0 "q12"
#define MEGCC_ARMV7_C2_1 "q13"
#define MEGCC_ARMV7_C3_0 "q14"
#define MEGCC_ARMV7_C3_1 "q15"
// Both sums of a row, and those of all rows.
#define MEGCC_ARMV7_D0 "{d16-d19}"
#define MEGCC_ARMV7_D1 "{d20-d23}"
#define MEGCC_ARMV7_D2 "{d24-d27}"
#define MEGCC_ARMV7_D3 "{d28-d31}"
#define MEGCC_ARMV7_ALL_1 "{d16-d19}"
#define MEGCC_ARMV7_ALL_2 "{d16-d23}"
#define MEGCC_ARMV7_ALL_4 "{d16-d31}"

// One k: the sums of columns 0-3 and 4-7 of every row += v0 and v1 * the row's scalar.
#define MEGCC_ARMV7_COL_1(j, v, a0, a1, a2, a3) \
  "vmla.f32 " MEGCC_ARMV7_C0_##j ", " v ", " a0 "\n"
#define MEGCC_ARMV7_COL_2(j, v, a0, a1, a2, a3) \
  MEGCC_ARMV7_COL_1(j, v, a0, a1, a2, a3) "vmla.f32 " MEGCC_ARMV7_C1_##j ", " v ", " a1 "\n"
#define MEGCC_ARMV7_COL_4(j, v, a0, a1, a2, a3) \
  MEGCC_ARMV7_COL_2(j, v, a0, a1, a2, a3) "vmla.f32 " MEGCC_ARMV7_C2_##j ", " v ", " a2 "\n" \
  "vmla.f32 " MEGCC_ARMV7_C3_##j ", " v ", " a3 "\n"
#define MEGCC_ARMV7_K(rows, v0, v1, a0, a1, a2, a3) \
  MEGCC_ARMV7_COL_##rows(0, v0, a0, a1, a2, a3) MEGCC_ARMV7_COL_##rows(1, v1, a0, a1, a2, a3)

// Four k of every row and vector, or one.
#define MEGCC_ARMV7_LOAD_4_1 "vld1.32 {d0-d1}, [%[p0]]!\n"
#define MEGCC_ARMV7_LOAD_4_2 MEGCC_ARMV7_LOAD_4_1 "vld1.32 {d2-d3}, [%[p1]]!\n"
#define MEGCC_ARMV7_LOAD_4_4 \
  MEGCC_ARMV7_LOAD_4_2 "vld1.32 {d4-d5}, [%[p2]]!\n" "vld1.32 {d6-d7}, [%[p3]]!\n"
#define MEGCC_ARMV7_LOAD_1_1 "vld1.32 {d0[0]}, [%[p0]]!\n"
#define MEGCC_ARMV7_LOAD_1_2 MEGCC_ARMV7_LOAD_1_1 "vld1.32 {d2[0]}, [%[p1]]!\n"
#define MEGCC_ARMV7_LOAD_1_4 \
  MEGCC_ARMV7_LOAD_1_2 "vld1.32 {d4[0]}, [%[p2]]!\n" "vld1.32 {d6[0]}, [%[p3]]!\n"
#define MEGCC_ARMV7_STEP_4(rows)                                          \
  "vldmia %[b]!, {d8-d15}\n"                                              \
  MEGCC_ARMV7_LOAD_4_##rows                                               \
  MEGCC_ARMV7_K(rows, "q4", "q5", "d0[0]", "d2[0]", "d4[0]", "d6[0]")     \
  MEGCC_ARMV7_K(rows, "q6", "q7", "d0[1]", "d2[1]", "d4[1]", "d6[1]")     \
  "vldmia %[b]!, {d8-d15}\n"                                              \
  MEGCC_ARMV7_K(rows, "q4", "q5", "d1[0]", "d3[0]", "d5[0]", "d7[0]")     \
  MEGCC_ARMV7_K(rows, "q6", "q7", "d1[1]", "d3[1]", "d5[1]", "d7[1]")
#define MEGCC_ARMV7_STEP_1(rows)                                          \
  "vldmia %[b]!, {d8-d11}\n"                                              \
  MEGCC_ARMV7_LOAD_1_##rows                                               \
  MEGCC_ARMV7_K(rows, "q4", "q5", "d0[0]", "d2[0]", "d4[0]", "d6[0]")

// The addresses of a run of every row, for which `a` moves on; n holds how many floats are skipped.
#define MEGCC_ARMV7_RUN_1 "ldr %[p0], [%[a]], #4\n"
#define MEGCC_ARMV7_RUN_2 "ldm %[a]!, {%[p0], %[p1]}\n"
#define MEGCC_ARMV7_RUN_4 "ldm %[a]!, {%[p0], %[p1], %[p2], %[p3]}\n"
#define MEGCC_ARMV7_SKIP(r) "add %[p" #r "], %[p" #r "], %[n], lsl #2\n"

// The whole tile. Eight k a turn; where an odd four of them is left, the first turn begins in the
// middle. The low bits of n stay those of the run's length. The numbers are offsets in
// megcc_gemm_t.
#define MEGCC_ARMV7_TEXT(rows)                                            \
  "vldmia %[start], " MEGCC_ARMV7_ALL_##rows "\n"                         \
  "1:\n"                                                                  \
  "ldr %[n], [%[g], #8]\n"                                                \
  MEGCC_ARMV7_RUN_##rows                                                  \
  "cmp %[n], #0\n"                                                        \
  "beq 2f\n"                                                              \
  MEGCC_FOR_ROWS(rows)(MEGCC_ARMV7_SKIP)                                  \
  "2:\n"                                                                  \
  "ldr %[n], [%[g], #16]\n"                                               \
  "tst %[n], #4\n"                                                        \
  "bne 4f\n"                                                              \
  "subs %[n], %[n], #8\n"                                                 \
  "blt 5f\n"                                                              \
  "3:\n" MEGCC_ARMV7_STEP_4(rows)                                         \
  "4:\n" MEGCC_ARMV7_STEP_4(rows)                                         \
  "subs %[n], %[n], #8\n"                                                 \
  "bge 3b\n"                                                              \
  "5:\n"                                                                  \
  "ands %[n], %[n], #3\n"                                                 \
  "beq 7f\n"                                                              \
  "6:\n" MEGCC_ARMV7_STEP_1(rows)                                         \
  "subs %[n], %[n], #1\n"                                                 \
  "bne 6b\n"                                                              \
  "7:\n"                                                                  \
  "subs %[runs], %[runs], #1\n"                                           \
  "beq 8f\n"                                                              \
  "ldr %[n], [%[g], #4]\n"                                                \
  "sub %[n], %[n], #" #rows "\n"                                          \
  "add %[a], %[a], %[n], lsl #2\n"                                        \
  "b 1b\n"                                                                \
  "8:\n"

// MEGCC_GEMM_PACKED_ROWS: rows are one run of a multiple of 8 floats, and those of a tile of four are
// copied to [K / 4][4 rows][4 k] before the tiles read them. One load then does the work of four.
#ifdef MEGCC_GEMM_PACKED_ROWS
#define MEGCC_ARMV7_STEP_PACKED                                           \
  "vldmia %[b]!, {d8-d15}\n"                                              \
  "vldmia %[p]!, {d0-d7}\n"                                               \
  MEGCC_ARMV7_K(4, "q4", "q5", "d0[0]", "d2[0]", "d4[0]", "d6[0]")        \
  MEGCC_ARMV7_K(4, "q6", "q7", "d0[1]", "d2[1]", "d4[1]", "d6[1]")        \
  "vldmia %[b]!, {d8-d15}\n"                                              \
  MEGCC_ARMV7_K(4, "q4", "q5", "d1[0]", "d3[0]", "d5[0]", "d7[0]")        \
  MEGCC_ARMV7_K(4, "q6", "q7", "d1[1]", "d3[1]", "d5[1]", "d7[1]")
#define MEGCC_ARMV7_TEXT_PACKED                                           \
  "vldmia %[start], " MEGCC_ARMV7_ALL_4 "\n"                              \
  "1:\n" MEGCC_ARMV7_STEP_PACKED MEGCC_ARMV7_STEP_PACKED                  \
  "subs %[n], %[n], #8\n"                                                 \
  "bne 1b\n"

// Packs the tiles of four among `rows` rows of `length` floats. In the table the address of a tile's
// first row becomes that of its packed rows.
MEGCC_HOT static void megcc_gemm_pack_rows(const float **table, int32_t rows, size_t length,
                                           float *to) {
  for (; rows >= 4; rows -= 4, table += 4) {
    const float *p0 = table[0], *p1 = table[1], *p2 = table[2], *p3 = table[3];
    size_t n = length;
    table[0] = to;
    __asm__ volatile(
        "1:\n"
        "vld1.32 {d0-d1}, [%[p0]]!\n"
        "vld1.32 {d2-d3}, [%[p1]]!\n"
        "vld1.32 {d4-d5}, [%[p2]]!\n"
        "vld1.32 {d6-d7}, [%[p3]]!\n"
        "vld1.32 {d8-d9}, [%[p0]]!\n"
        "vld1.32 {d10-d11}, [%[p1]]!\n"
        "vld1.32 {d12-d13}, [%[p2]]!\n"
        "vld1.32 {d14-d15}, [%[p3]]!\n"
        "subs %[n], %[n], #8\n"
        "vstmia %[to]!, {d0-d15}\n"
        "bne 1b\n"
        : [p0] "+r"(p0), [p1] "+r"(p1), [p2] "+r"(p2), [p3] "+r"(p3), [to] "+r"(to), [n] "+r"(n)
        :
        : "d0", "d1", "d2", "d3", "d4", "d5", "d6", "d7", "d8", "d9", "d10", "d11", "d12", "d13",
          "d14", "d15", "cc", "memory");
  }
}
#endif

// The first sums of a tile, and the activation's parameters behind them. They stay in memory,
// because the assembly leaves no register for them.
#define MEGCC_TILE_BEFORE(rows, g, bias) \
  float start[8 * (rows) + 8];           \
  megcc_gemm_start(g, bias, start, rows);
#define MEGCC_TILE_AFTER(rows)                                                \
  register megcc_vf low __asm__("q0");                                        \
  register megcc_vf high __asm__("q1");                                       \
  __asm__("vldmia %2, {d0-d3}" : "=w"(low), "=w"(high)                        \
          : "r"(start + 8 * (rows)), "m"(*(const float(*)[8])(start + 8 * (rows)))); \
  const megcc_vf act_a = low, act_b = high;

#define MEGCC_ARMV7_SUMS(r) \
  register megcc_vf s##r##_0 __asm__(MEGCC_ARMV7_C##r##_0); \
  register megcc_vf s##r##_1 __asm__(MEGCC_ARMV7_C##r##_1);
#define MEGCC_ARMV7_COPIES(r) const megcc_vf c##r##_0 = s##r##_0, c##r##_1 = s##r##_1;
#define MEGCC_ARMV7_OUT(r) "=w"(s##r##_0), "=w"(s##r##_1), [p##r] "=&r"(p##r),
// One instruction loads all of them, so they are in the order of their numbers.
#define MEGCC_ARMV7_P0 "r4"
#define MEGCC_ARMV7_P1 "r5"
#define MEGCC_ARMV7_P2 "r6"
#define MEGCC_ARMV7_P3 "r8"
#define MEGCC_ARMV7_POINTER(r) register const float *p##r __asm__(MEGCC_ARMV7_P##r);

// Declares c0_0 ... with the sums of a tile. They leave their registers at once: a variable that
// is bound to one holds its value at the assembly only.
#define MEGCC_TILE_SUMS_(rows, g_, a_, b_)                                     \
  MEGCC_EACH_ROW(MEGCC_ARMV7_SUMS)                                             \
  {                                                                            \
    MEGCC_EACH_ROW(MEGCC_ARMV7_POINTER)                                        \
    const float *const *from = a_;                                             \
    const float *panel = b_;                                                   \
    size_t runs = g_->segments, n;                                             \
    __asm__ volatile(MEGCC_ARMV7_TEXT(rows)                                    \
        : MEGCC_EACH_ROW(MEGCC_ARMV7_OUT) [n] "=&r"(n), [a] "+r"(from),        \
          [b] "+r"(panel), [runs] "+r"(runs)                                   \
        : [g] "r"(g_), [start] "r"(start)                                      \
        : "d0", "d1", "d2", "d3", "d4", "d5", "d6", "d7", "d8", "d9", "d10",   \
          "d11", "d12", "d13", "d14", "d15", "cc", "memory");                  \
  }                                                                            \
  MEGCC_EACH_ROW(MEGCC_ARMV7_COPIES)
#ifdef MEGCC_GEMM_PACKED_ROWS
#define MEGCC_ARMV7_OUT_SUMS(r) "=w"(s##r##_0), "=w"(s##r##_1),
#define MEGCC_TILE_SUMS_PACKED(g_, a_, b_)                                     \
  MEGCC_EACH_ROW(MEGCC_ARMV7_SUMS)                                             \
  {                                                                            \
    const float *packed = *(a_), *panel = b_;                                  \
    size_t n = (g_)->length;                                                   \
    __asm__ volatile(MEGCC_ARMV7_TEXT_PACKED                                   \
        : MEGCC_EACH_ROW(MEGCC_ARMV7_OUT_SUMS) [p] "+r"(packed),               \
          [b] "+r"(panel), [n] "+r"(n)                                         \
        : [start] "r"(start)                                                   \
        : "d0", "d1", "d2", "d3", "d4", "d5", "d6", "d7", "d8", "d9", "d10",   \
          "d11", "d12", "d13", "d14", "d15", "cc", "memory");                  \
  }                                                                            \
  MEGCC_EACH_ROW(MEGCC_ARMV7_COPIES)
#define MEGCC_TILE_SUMS_1(g, a, b) MEGCC_TILE_SUMS_(1, g, a, b)
#define MEGCC_TILE_SUMS_4(g, a, b) MEGCC_TILE_SUMS_PACKED(g, a, b)
#define MEGCC_TILE_SUMS_OF(rows) MEGCC_TILE_SUMS_##rows
#define MEGCC_TILE_SUMS_FOR(rows) MEGCC_TILE_SUMS_OF(rows)
#define MEGCC_TILE_SUMS(rows, vectors, g, a, b, bias) MEGCC_TILE_SUMS_FOR(rows)(g, a, b)
#else
#define MEGCC_TILE_SUMS(rows, vectors, g, a, b, bias) MEGCC_TILE_SUMS_(rows, g, a, b)
#endif

// Stores y0 and y1, the finished row r of a tile, to dst, which moves on to the next row.
#define MEGCC_TILE_STORE_ROW(r, vectors)                              \
  register megcc_vf o0 __asm__(MEGCC_ARMV7_C##r##_0) = y0;             \
  register megcc_vf o1 __asm__(MEGCC_ARMV7_C##r##_1) = y1;             \
  __asm__ volatile("vst1.32 " MEGCC_ARMV7_D##r ", [%0], %1"           \
                   : "+r"(dst) : "r"(ld * sizeof(float)), "w"(o0), "w"(o1) : "memory");
// clang-format on

#endif  // MEGCC_GEMM_ARMV7_H
