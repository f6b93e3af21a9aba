// The sums of a tile of megcc_qgemm.h by sdot, as one piece of assembly: left to themselves
// compilers spill accumulators and copy them.
//
// The widest tile, 4 rows by 24 columns, takes all 32 vector registers: 24 accumulators, 16 k of
// every row, and v0-v3 for eight k of a panel, which one instruction loads. 16 k are 96 sdot, 4
// loads of rows and 6 of panels. Rows are read where they are, so nothing is packed. Unsigned bytes
// become signed ones as they are loaded: x ^ 0x80 is x - 128, and the bias holds what that adds.
//
//   v0-v3   eight k of a panel           x2-x4   panels     x12      runs left
//   v4-v7   16 k of each row             x5-x8   rows       x13      groups of a run
//   v8-v31  accumulators, six per row    x9-x11  the table of rows, its stride, what is skipped
#ifndef MEGCC_QGEMM_DOT_H
#define MEGCC_QGEMM_DOT_H

#define MEGCC_QGEMM_PANEL NR  // columns
#define MEGCC_QGEMM_KR 4      // bytes of a group: those that sdot multiplies per lane
#define MEGCC_QGEMM_CHUNK 4   // and groups are not mixed in larger ones
#define MEGCC_QGEMM_FLIP 1    // unsigned bytes are flipped
#ifdef MEGCC_QGEMM_ONE_ROW    // a kernel that has no others
#define MEGCC_QGEMM_ROWS 1
#else
#define MEGCC_QGEMM_ROWS 4
#endif
#ifndef MEGCC_SMALL
#define MEGCC_QGEMM_WIDE 6
#endif
#define MEGCC_QGEMM_MIDDLE 4
#define MEGCC_QGEMM_NARROW 2

// clang-format off
#define MEGCC_DOT_C0_0 "v8"
#define MEGCC_DOT_C0_1 "v9"
#define MEGCC_DOT_C0_2 "v10"
#define MEGCC_DOT_C0_3 "v11"
#define MEGCC_DOT_C0_4 "v12"
#define MEGCC_DOT_C0_5 "v13"
#define MEGCC_DOT_C1_0 "v14"
#define MEGCC_DOT_C1_1 "v15"
#define MEGCC_DOT_C1_2 "v16"
#define MEGCC_DOT_C1_3 "v17"
#define MEGCC_DOT_C1_4 "v18"
#define MEGCC_DOT_C1_5 "v19"
#define MEGCC_DOT_C2_0 "v20"
#define MEGCC_DOT_C2_1 "v21"
#define MEGCC_DOT_C2_2 "v22"
#define MEGCC_DOT_C2_3 "v23"
#define MEGCC_DOT_C2_4 "v24"
#define MEGCC_DOT_C2_5 "v25"
#define MEGCC_DOT_C3_0 "v26"
#define MEGCC_DOT_C3_1 "v27"
#define MEGCC_DOT_C3_2 "v28"
#define MEGCC_DOT_C3_3 "v29"
#define MEGCC_DOT_C3_4 "v30"
#define MEGCC_DOT_C3_5 "v31"
#define MEGCC_DOT_C(r, j) MEGCC_DOT_C##r##_##j

// For every row: the accumulator of vector j += b * group l of the row.
#define MEGCC_DOT_SDOT(c, b, a, l) "sdot " c ".4s," b ".16b," a ".4b[" l "]\n"
#define MEGCC_DOT_COL_1(j, b, l) MEGCC_DOT_SDOT(MEGCC_DOT_C0_##j, b, "v4", l)
#define MEGCC_DOT_COL_4(j, b, l) \
  MEGCC_DOT_COL_1(j, b, l) MEGCC_DOT_SDOT(MEGCC_DOT_C1_##j, b, "v5", l) \
  MEGCC_DOT_SDOT(MEGCC_DOT_C2_##j, b, "v6", l) MEGCC_DOT_SDOT(MEGCC_DOT_C3_##j, b, "v7", l)

// Vectors j0 and j1, which lie in the panel at `p`: groups l0 and l1, or group l0.
#define MEGCC_DOT_TWO(rows, p, j0, j1)                                            \
  "ld1 {v0.16b-v3.16b}, [" p "], #64\n"                                           \
  MEGCC_DOT_COL_##rows(j0, "v0", "\\l0") MEGCC_DOT_COL_##rows(j1, "v1", "\\l0") \
  MEGCC_DOT_COL_##rows(j0, "v2", "\\l1") MEGCC_DOT_COL_##rows(j1, "v3", "\\l1")
#define MEGCC_DOT_ONE(rows, p, j0, j1)  \
  "ld1 {v0.16b-v1.16b}, [" p "], #32\n" \
  MEGCC_DOT_COL_##rows(j0, "v0", "\\l0") MEGCC_DOT_COL_##rows(j1, "v1", "\\l0")

// The same for all panels of a tile of 2, 4 or 6 vectors.
#define MEGCC_DOT_TWO_2(rows) MEGCC_DOT_TWO(rows, "x2", 0, 1)
#define MEGCC_DOT_TWO_4(rows) MEGCC_DOT_TWO_2(rows) MEGCC_DOT_TWO(rows, "x3", 2, 3)
#define MEGCC_DOT_TWO_6(rows) MEGCC_DOT_TWO_4(rows) MEGCC_DOT_TWO(rows, "x4", 4, 5)
#define MEGCC_DOT_ONE_2(rows) MEGCC_DOT_ONE(rows, "x2", 0, 1)
#define MEGCC_DOT_ONE_4(rows) MEGCC_DOT_ONE_2(rows) MEGCC_DOT_ONE(rows, "x3", 2, 3)
#define MEGCC_DOT_ONE_6(rows) MEGCC_DOT_ONE_4(rows) MEGCC_DOT_ONE(rows, "x4", 4, 5)

// 16 bytes of every row, signed.
#define MEGCC_DOT_LOAD_1 "ld1 {v4.16b}, [x5], #16\n"
#define MEGCC_DOT_LOAD_4 \
  MEGCC_DOT_LOAD_1 "ld1 {v5.16b}, [x6], #16\n" \
  "ld1 {v6.16b}, [x7], #16\n" "ld1 {v7.16b}, [x8], #16\n"
#define MEGCC_DOT_FLIP_1_i8
#define MEGCC_DOT_FLIP_4_i8
#define MEGCC_DOT_FLIP_1_u8 "movi v0.16b, #0x80\n" "eor v4.16b, v4.16b, v0.16b\n"
#define MEGCC_DOT_FLIP_4_u8 \
  MEGCC_DOT_FLIP_1_u8 "eor v5.16b, v5.16b, v0.16b\n" \
  "eor v6.16b, v6.16b, v0.16b\n" "eor v7.16b, v7.16b, v0.16b\n"
#define MEGCC_DOT_FLIP_(rows, x) MEGCC_DOT_FLIP_##rows##_##x
#define MEGCC_DOT_FLIP(rows, x) MEGCC_DOT_FLIP_(rows, x)
#define MEGCC_DOT_ROWS(rows) MEGCC_DOT_LOAD_##rows MEGCC_DOT_FLIP(rows, X)

// A row's accumulators begin with the bias; x14 is 16 columns on.
#define MEGCC_DOT_BIAS_2(r) \
  "ld1 {" MEGCC_DOT_C(r, 0) ".4s-" MEGCC_DOT_C(r, 1) ".4s}, [%[bias]]\n"
#define MEGCC_DOT_BIAS_4(r) \
  "ld1 {" MEGCC_DOT_C(r, 0) ".4s-" MEGCC_DOT_C(r, 3) ".4s}, [%[bias]]\n"
#define MEGCC_DOT_BIAS_6(r) \
  MEGCC_DOT_BIAS_4(r) "ld1 {" MEGCC_DOT_C(r, 4) ".4s-" MEGCC_DOT_C(r, 5) ".4s}, [x14]\n"

// The addresses of a run of every row.
#define MEGCC_DOT_RUN_1 "ldr x5, [x9]\n" "add x5, x5, x11\n"
#define MEGCC_DOT_RUN_4 \
  "ldp x5, x6, [x9]\n" "ldp x7, x8, [x9, #16]\n" "add x5, x5, x11\n" "add x6, x6, x11\n" \
  "add x7, x7, x11\n" "add x8, x8, x11\n"

// The whole tile. The numbers are offsets in megcc_qgemm_t. Macros of the assembler keep the string
// below what C99 requires compilers to take.
#define MEGCC_DOT_TEXT(rows, vectors)                \
  ".macro megcc_two l0, l1\n"                        \
  MEGCC_DOT_TWO_##vectors(rows)                      \
  ".endm\n"                                          \
  ".macro megcc_one l0\n"                            \
  MEGCC_DOT_ONE_##vectors(rows)                      \
  ".endm\n"                                          \
  "mov x9, %[a]\n"                                   \
  "mov x2, %[b]\n"                                   \
  "ldp x10, x11, [%[g], #8]\n"                       \
  "ldp x12, x13, [%[g], #24]\n"                      \
  "ldr x4, [%[g], #40]\n"                            \
  "add x14, %[bias], #64\n"                          \
  "add x3, x2, x4\n"                                 \
  "add x4, x3, x4\n"                                 \
  MEGCC_FOR_ROWS(rows)(MEGCC_DOT_BIAS_##vectors)     \
  "1:\n"                                             \
  MEGCC_DOT_RUN_##rows                               \
  "add x9, x9, x10, lsl #3\n"                        \
  "lsr x14, x13, #2\n"                               \
  "cbz x14, 3f\n"                                    \
  "2:\n"                                             \
  MEGCC_DOT_ROWS(rows)                               \
  "megcc_two 0, 1\n"                                 \
  "megcc_two 2, 3\n"                                 \
  "subs x14, x14, #1\n"                              \
  "b.ne 2b\n"                                        \
  "3:\n"                                             \
  "ands x14, x13, #3\n"                              \
  "b.eq 5f\n"                                        \
  MEGCC_DOT_ROWS(rows)                               \
  "tbz x14, #1, 4f\n"                                \
  "megcc_two 0, 1\n"                                 \
  "tbz x14, #0, 5f\n"                                \
  "megcc_one 2\n"                                    \
  "b 5f\n"                                           \
  "4:\n"                                             \
  "megcc_one 0\n"                                    \
  "5:\n"                                             \
  "subs x12, x12, #1\n"                              \
  "b.gt 1b\n"                                        \
  ".purgem megcc_two\n"                              \
  ".purgem megcc_one\n"

#define MEGCC_DOT_OUT_2(r) "=w"(s##r##_0), "=w"(s##r##_1)
#define MEGCC_DOT_OUT_4(r) MEGCC_DOT_OUT_2(r), "=w"(s##r##_2), "=w"(s##r##_3)
#define MEGCC_DOT_OUT_6(r) MEGCC_DOT_OUT_4(r), "=w"(s##r##_4), "=w"(s##r##_5)
#define MEGCC_DOT_OUTS_1(out) out(0)
#define MEGCC_DOT_OUTS_4(out) out(0), out(1), out(2), out(3)

#define MEGCC_DOT_ASM(rows, vectors, g_, a_, b_, bias_)                       \
  __asm__ volatile(MEGCC_DOT_TEXT(rows, vectors)                              \
      : MEGCC_DOT_OUTS_##rows(MEGCC_DOT_OUT_##vectors)                        \
      : [g] "r"(g_), [a] "r"(a_), [b] "r"(b_), [bias] "r"(bias_)              \
      : "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13", "x14", \
        "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "cc", "memory")
// clang-format on

// The sums leave their registers at once: a variable that is bound to one holds its value at the
// assembly only.
#define MEGCC_DOT_SUM(r, j) register int32x4_t s##r##_##j __asm__(MEGCC_DOT_C(r, j));
#define MEGCC_DOT_SUMS(r) MEGCC_EACH_COL(MEGCC_DOT_SUM, r)
#define MEGCC_DOT_COPY(r, j) const int32x4_t c##r##_##j = s##r##_##j;
#define MEGCC_DOT_COPIES(r) MEGCC_EACH_COL(MEGCC_DOT_COPY, r)
#define MEGCC_TILE_SUMS_(rows, vectors, g, a, b, bias) \
  MEGCC_EACH_ROW(MEGCC_DOT_SUMS)                       \
  MEGCC_DOT_ASM(rows, vectors, g, a, b, bias);         \
  MEGCC_EACH_ROW(MEGCC_DOT_COPIES)
#define MEGCC_TILE_SUMS(rows, vectors, g, a, b, bias) MEGCC_TILE_SUMS_(rows, vectors, g, a, b, bias)

#endif  // MEGCC_QGEMM_DOT_H
