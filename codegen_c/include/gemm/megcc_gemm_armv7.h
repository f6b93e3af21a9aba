// The inner steps of the tiles of megcc_gemm.h on Armv7, for panels of 8 columns.
//
// 4 rows by 8 columns take all 16 registers: q0-q3 four k of every row, q4-q7 two k of the panel,
// which one instruction loads, and 8 accumulators. A multiply by lane takes its scalar from d0-d15,
// and only vmla has that form: vfma (VFPv4) would need a broadcast for each.
//
// Each step is one piece of assembly: left to itself GCC moves accumulators around and adds to
// pointers that the loads could move on by themselves.
#ifndef MEGCC_GEMM_ARMV7_H
#define MEGCC_GEMM_ARMV7_H

#include "megcc_kernel.h"

// clang-format off
// One k: accumulators x (columns 0-3) and y (4-7) of every row += v0 and v1 * the row's scalar.
#define MEGCC_ARMV7_FMA_1(acc, v, a0, a1, a2, a3) "vmla.f32 %q[" acc "0], " v ", " a0 "\n"
#define MEGCC_ARMV7_FMA_2(acc, v, a0, a1, a2, a3) \
  MEGCC_ARMV7_FMA_1(acc, v, a0, a1, a2, a3) "vmla.f32 %q[" acc "1], " v ", " a1 "\n"
#define MEGCC_ARMV7_FMA_4(acc, v, a0, a1, a2, a3) \
  MEGCC_ARMV7_FMA_2(acc, v, a0, a1, a2, a3) "vmla.f32 %q[" acc "2], " v ", " a2 "\n" \
  "vmla.f32 %q[" acc "3], " v ", " a3 "\n"
#define MEGCC_ARMV7_K(rows, v0, v1, a0, a1, a2, a3) \
  MEGCC_ARMV7_FMA_##rows("x", v0, a0, a1, a2, a3) MEGCC_ARMV7_FMA_##rows("y", v1, a0, a1, a2, a3)

// Four k of every row, or one; the pointers move on.
#define MEGCC_ARMV7_LOAD_4_1 "vld1.32 {d0-d1}, [%[r0]]!\n"
#define MEGCC_ARMV7_LOAD_4_2 MEGCC_ARMV7_LOAD_4_1 "vld1.32 {d2-d3}, [%[r1]]!\n"
#define MEGCC_ARMV7_LOAD_4_4 MEGCC_ARMV7_LOAD_4_2 "vld1.32 {d4-d5}, [%[r2]]!\n" \
  "vld1.32 {d6-d7}, [%[r3]]!\n"
#define MEGCC_ARMV7_LOAD_1_1 "vld1.32 {d0[0]}, [%[r0]]!\n"
#define MEGCC_ARMV7_LOAD_1_2 MEGCC_ARMV7_LOAD_1_1 "vld1.32 {d2[0]}, [%[r1]]!\n"
#define MEGCC_ARMV7_LOAD_1_4 MEGCC_ARMV7_LOAD_1_2 "vld1.32 {d4[0]}, [%[r2]]!\n" \
  "vld1.32 {d6[0]}, [%[r3]]!\n"

#define MEGCC_ARMV7_OPERANDS_1 [x0] "+w"(c0_0), [y0] "+w"(c0_1), [r0] "+r"(p0)
#define MEGCC_ARMV7_OPERANDS_2 MEGCC_ARMV7_OPERANDS_1, \
  [x1] "+w"(c1_0), [y1] "+w"(c1_1), [r1] "+r"(p1)
#define MEGCC_ARMV7_OPERANDS_4 MEGCC_ARMV7_OPERANDS_2, \
  [x2] "+w"(c2_0), [y2] "+w"(c2_1), [r2] "+r"(p2), \
  [x3] "+w"(c3_0), [y3] "+w"(c3_1), [r3] "+r"(p3)
#define MEGCC_ARMV7_CLOBBERS \
  "memory", "d0", "d1", "d2", "d3", "d4", "d5", "d6", "d7", "d8", "d9", "d10", "d11", "d12", \
  "d13", "d14", "d15"

#define MEGCC_ARMV7_STEP_4(rows)                                          \
  "vldmia %[b]!, {d8-d15}\n"                                              \
  MEGCC_ARMV7_LOAD_4_##rows                                               \
  MEGCC_ARMV7_K(rows, "q4", "q5", "d0[0]", "d2[0]", "d4[0]", "d6[0]")     \
  MEGCC_ARMV7_K(rows, "q6", "q7", "d0[1]", "d2[1]", "d4[1]", "d6[1]")     \
  "vldmia %[b]!, {d8-d15}\n"                                              \
  MEGCC_ARMV7_K(rows, "q4", "q5", "d1[0]", "d3[0]", "d5[0]", "d7[0]")     \
  MEGCC_ARMV7_K(rows, "q6", "q7", "d1[1]", "d3[1]", "d5[1]", "d7[1]")

// Eight k a turn, turns > 0; where `odd`, the first begins in the middle. The loop is assembly,
// too: a loop that is entered in the middle makes GCC keep pointers in memory.
#define MEGCC_ARMV7_TURNS(rows, turns, odd)                               \
  __asm__ volatile(                                                       \
      "cmp %[o], #0\n"                                                    \
      "bne 2f\n"                                                          \
      "1:\n" MEGCC_ARMV7_STEP_4(rows)                                     \
      "2:\n" MEGCC_ARMV7_STEP_4(rows)                                     \
      "subs %[n], %[n], #1\n"                                             \
      "bne 1b\n"                                                          \
      : MEGCC_ARMV7_OPERANDS_##rows, [b] "+r"(b0), [n] "+r"(turns)        \
      : [o] "r"(odd) : "cc", MEGCC_ARMV7_CLOBBERS);
// `left` k, one a turn, left > 0.
#define MEGCC_ARMV7_REST(rows, left)                                      \
  __asm__ volatile(                                                       \
      "1:\nvldmia %[b]!, {d8-d11}\n"                                      \
      MEGCC_ARMV7_LOAD_1_##rows                                           \
      MEGCC_ARMV7_K(rows, "q4", "q5", "d0[0]", "d2[0]", "d4[0]", "d6[0]") \
      "subs %[n], %[n], #1\n"                                             \
      "bne 1b\n"                                                          \
      : MEGCC_ARMV7_OPERANDS_##rows, [b] "+r"(b0), [n] "+r"(left)         \
      : : "cc", MEGCC_ARMV7_CLOBBERS);
// clang-format on

// All k of a run.
#define MEGCC_TILE_K_(rows, k)                          \
  {                                                     \
    size_t turns = (k / 4 + 1) / 2;                     \
    const size_t odd = k / 4 % 2;                       \
    if (turns != 0) MEGCC_ARMV7_TURNS(rows, turns, odd) \
    k %= 4;                                             \
    if (k != 0) MEGCC_ARMV7_REST(rows, k)               \
  }
#define MEGCC_TILE_K(rows, k) MEGCC_TILE_K_(rows, k)

#endif  // MEGCC_GEMM_ARMV7_H
