// The sums of a tile of megcc_gemm.h on Helium, for floats and panels of 8 columns, as one piece of
// assembly: gcc keeps sums in memory, and multiplies by vectors where the instruction takes a core
// register.
//
// 3 rows by 8 columns take all eight registers: q0 and q1 one k of the panel, q2 to q7 the sums.
// Two k of a row come by one load; the first is multiplied at once, the second stays until the
// other rows have theirs, so that four core registers hold all of them.
#ifndef MEGCC_GEMM_MVE_H
#define MEGCC_GEMM_MVE_H

#include "megcc_kernel.h"

// clang-format off
#define MEGCC_MVE_C0_0 "q2"
#define MEGCC_MVE_C0_1 "q3"
#define MEGCC_MVE_C1_0 "q4"
#define MEGCC_MVE_C1_1 "q5"
#define MEGCC_MVE_C2_0 "q6"
#define MEGCC_MVE_C2_1 "q7"

#define MEGCC_MVE_FMA(r, x) \
  "vfma.f32 " MEGCC_MVE_C##r##_0 ", q0, " x "\n" \
  "vfma.f32 " MEGCC_MVE_C##r##_1 ", q1, " x "\n"
#define MEGCC_MVE_PANEL "vldrw.32 q0, [%[b]], #32\n" "vldrw.32 q1, [%[b], #-16]\n"

// The first of two k, the second, and one alone.
#define MEGCC_MVE_FIRST(r) "ldrd %[x], %[x" #r "], [%[p" #r "]], #8\n" MEGCC_MVE_FMA(r, "%[x]")
#define MEGCC_MVE_SECOND(r) MEGCC_MVE_FMA(r, "%[x" #r "]")
#define MEGCC_MVE_ALONE(r) "ldr %[x], [%[p" #r "]]\n" MEGCC_MVE_FMA(r, "%[x]")

// The addresses of a run of every row.
#define MEGCC_MVE_ROW(r) "ldr %[p" #r "], [%[a], #4 * " #r "]\n"
#define MEGCC_MVE_SKIP(r) "add %[p" #r "], %[p" #r "], %[x], lsl #2\n"

// The whole tile. The numbers are offsets in megcc_gemm_t.
#define MEGCC_MVE_TEXT                                    \
  "1:\n"                                                  \
  "ldr %[x], [%[g], #8]\n"                                \
  MEGCC_EACH_ROW(MEGCC_MVE_ROW)                           \
  MEGCC_EACH_ROW(MEGCC_MVE_SKIP)                          \
  "ldr %[x], [%[g], #16]\n"                               \
  "lsr %[x0], %[x], #1\n"                                 \
  "wls lr, %[x0], 3f\n"                                   \
  "2:\n"                                                  \
  MEGCC_MVE_PANEL                                         \
  MEGCC_EACH_ROW(MEGCC_MVE_FIRST)                         \
  MEGCC_MVE_PANEL                                         \
  MEGCC_EACH_ROW(MEGCC_MVE_SECOND)                        \
  "le lr, 2b\n"                                           \
  "3:\n"                                                  \
  "ldr %[x], [%[g], #16]\n"                               \
  "lsls %[x], %[x], #31\n"                                \
  "beq 4f\n"                                              \
  MEGCC_MVE_PANEL                                         \
  MEGCC_EACH_ROW(MEGCC_MVE_ALONE)                         \
  "4:\n"                                                  \
  "ldr %[x], [%[g], #4]\n"                                \
  "subs %[runs], %[runs], #1\n"                           \
  "add %[a], %[a], %[x], lsl #2\n"                        \
  "bne 1b\n"

#define MEGCC_MVE_SUMS(r) \
  register megcc_vf s##r##_0 __asm__(MEGCC_MVE_C##r##_0) = bias0; \
  register megcc_vf s##r##_1 __asm__(MEGCC_MVE_C##r##_1) = bias1;
#define MEGCC_MVE_POINTER(r) const float *p##r; uint32_t x##r;
#define MEGCC_MVE_OUT(r) \
  "+w"(s##r##_0), "+w"(s##r##_1), [p##r] "=&r"(p##r), [x##r] "=&r"(x##r),
#define MEGCC_MVE_COPIES(r) const megcc_vf c##r##_0 = s##r##_0, c##r##_1 = s##r##_1;

// Declares c0_0 ... with the sums of a tile.
#define MEGCC_TILE_SUMS_(g_, a_, b_, bias_)                                     \
  const megcc_vf bias0 = megcc_vf_load(bias_), bias1 = megcc_vf_load((bias_) + 4); \
  MEGCC_EACH_ROW(MEGCC_MVE_SUMS)                                                \
  {                                                                             \
    const float *const *from = a_;                                              \
    const float *columns_ = b_;                                                 \
    size_t runs = (g_)->segments;                                               \
    uint32_t x;                                                                 \
    MEGCC_EACH_ROW(MEGCC_MVE_POINTER)                                           \
    __asm__ volatile(MEGCC_MVE_TEXT                                             \
        : MEGCC_EACH_ROW(MEGCC_MVE_OUT) [x] "=&r"(x), [a] "+&r"(from),          \
          [b] "+&r"(columns_), [runs] "+&r"(runs)                               \
        : [g] "r"(g_)                                                           \
        : "q0", "q1", "lr", "cc", "memory");                                    \
  }                                                                             \
  MEGCC_EACH_ROW(MEGCC_MVE_COPIES)
#define MEGCC_TILE_SUMS(rows, vectors, g, a, b, bias) MEGCC_TILE_SUMS_(g, a, b, bias)
// clang-format on

#endif  // MEGCC_GEMM_MVE_H
