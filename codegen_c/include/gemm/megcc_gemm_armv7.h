// The inner loop of the 4 x 8 tile of megcc_gemm.h on Armv7, as one piece of assembly.
//
// The tile takes all 16 registers: q0-q3 four k of the four rows, q4-q7 two k of b, and the eight
// the compiler has left for the accumulators. Left to itself GCC moves accumulators around and adds
// to pointers that the loads could move on by themselves: 59 instructions per 4 k instead of 42.
#ifndef MEGCC_GEMM_ARMV7_H
#define MEGCC_GEMM_ARMV7_H

#include "megcc_kernel.h"

// clang-format off
// One k: its b in registers v0 (columns 0-3) and v1 (4-7), row r's lane in a##r.
#define MEGCC_ARMV7_K(v0, v1, a0, a1, a2, a3)                            \
  "vmla.f32 %q[c00], " v0 ", " a0 "\n vmla.f32 %q[c10], " v0 ", " a1 "\n" \
  "vmla.f32 %q[c20], " v0 ", " a2 "\n vmla.f32 %q[c30], " v0 ", " a3 "\n" \
  "vmla.f32 %q[c01], " v1 ", " a0 "\n vmla.f32 %q[c11], " v1 ", " a1 "\n" \
  "vmla.f32 %q[c21], " v1 ", " a2 "\n vmla.f32 %q[c31], " v1 ", " a3 "\n"

// 4 * quads k, quads > 0: moves p0-p3 and b0 on and adds to c0_0 ... c3_1. `step` is NR in bytes.
#define MEGCC_ARMV7_TILE_4X2(quads, step)                                      \
  __asm__(                                                                     \
      "1:\n"                                                                   \
      "vld1.32 {d8-d11}, [%[b]], %[s]\n"                                       \
      "vld1.32 {d0-d1}, [%[r0]]!\n"                                            \
      "vld1.32 {d2-d3}, [%[r1]]!\n"                                            \
      "vld1.32 {d4-d5}, [%[r2]]!\n"                                            \
      "vld1.32 {d6-d7}, [%[r3]]!\n"                                            \
      "vld1.32 {d12-d15}, [%[b]], %[s]\n"                                      \
      MEGCC_ARMV7_K("q4", "q5", "d0[0]", "d2[0]", "d4[0]", "d6[0]")            \
      "vld1.32 {d8-d11}, [%[b]], %[s]\n"                                       \
      "subs %[n], %[n], #1\n"                                                  \
      MEGCC_ARMV7_K("q6", "q7", "d0[1]", "d2[1]", "d4[1]", "d6[1]")            \
      "vld1.32 {d12-d15}, [%[b]], %[s]\n"                                      \
      MEGCC_ARMV7_K("q4", "q5", "d1[0]", "d3[0]", "d5[0]", "d7[0]")            \
      MEGCC_ARMV7_K("q6", "q7", "d1[1]", "d3[1]", "d5[1]", "d7[1]")            \
      "bne 1b\n"                                                               \
      : [c00] "+w"(c0_0), [c01] "+w"(c0_1), [c10] "+w"(c1_0), [c11] "+w"(c1_1), \
        [c20] "+w"(c2_0), [c21] "+w"(c2_1), [c30] "+w"(c3_0), [c31] "+w"(c3_1), \
        [r0] "+r"(p0), [r1] "+r"(p1), [r2] "+r"(p2), [r3] "+r"(p3),            \
        [b] "+r"(b0), [n] "+r"(quads)                                          \
      : [s] "r"(step)                                                          \
      : "cc", "memory", "d0", "d1", "d2", "d3", "d4", "d5", "d6", "d7", "d8",  \
        "d9", "d10", "d11", "d12", "d13", "d14", "d15")
// clang-format on

#endif  // MEGCC_GEMM_ARMV7_H
