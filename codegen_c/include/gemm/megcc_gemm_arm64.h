// The inner steps of the tiles of megcc_gemm.h on Arm64, for panels of 8 columns.
//
// The widest tile, 4 rows by 24 columns, takes all 32 registers: 24 accumulators, four k of every
// row, and v0-v3 for two k of a panel, which one instruction loads. Four k are 96 multiply-adds, 4
// loads of rows and 6 of panels. Rows are read where they are, so nothing is packed. Taller and
// narrower tiles load more often: 6 x 16 leaves two registers for b and takes 14 loads.
//
// Each step is one piece of assembly, so that no compiler spills an accumulator to load early, and
// none turns a multiply by lane into a broadcast. `ld1` also fits a big-endian machine.
#ifndef MEGCC_GEMM_ARM64_H
#define MEGCC_GEMM_ARM64_H

#include "megcc_kernel.h"

// clang-format off
// acc x or y of every row += vector v * lane l of the row.
#define MEGCC_ARM64_FMA_1(acc, v, l) \
  "fmla %[" acc "0].4s, " v ".4s, %[a0].s[" l "]\n"
#define MEGCC_ARM64_FMA_2(acc, v, l) \
  MEGCC_ARM64_FMA_1(acc, v, l) "fmla %[" acc "1].4s, " v ".4s, %[a1].s[" l "]\n"
#define MEGCC_ARM64_FMA_4(acc, v, l) \
  MEGCC_ARM64_FMA_2(acc, v, l) "fmla %[" acc "2].4s, " v ".4s, %[a2].s[" l "]\n" \
  "fmla %[" acc "3].4s, " v ".4s, %[a3].s[" l "]\n"

// The operands that these name: accumulators of vectors j0 and j1, and the rows.
#define MEGCC_ARM64_ACCS_1(j0, j1) [x0] "+w"(c0_##j0), [y0] "+w"(c0_##j1)
#define MEGCC_ARM64_ACCS_2(j0, j1) \
  MEGCC_ARM64_ACCS_1(j0, j1), [x1] "+w"(c1_##j0), [y1] "+w"(c1_##j1)
#define MEGCC_ARM64_ACCS_4(j0, j1) \
  MEGCC_ARM64_ACCS_2(j0, j1), [x2] "+w"(c2_##j0), [y2] "+w"(c2_##j1), \
  [x3] "+w"(c3_##j0), [y3] "+w"(c3_##j1)
#define MEGCC_ARM64_ROWS_1 [a0] "w"(x0)
#define MEGCC_ARM64_ROWS_2 MEGCC_ARM64_ROWS_1, [a1] "w"(x1)
#define MEGCC_ARM64_ROWS_4 MEGCC_ARM64_ROWS_2, [a2] "w"(x2), [a3] "w"(x3)

// Vectors j0 and j1, which lie in the panel at b: the k of lanes l0 and l1, or one k in lane 0.
#define MEGCC_ARM64_TWO_K(rows, b, j0, j1, l0, l1)                              \
  __asm__ volatile(                                                             \
      "ld1 {v0.4s-v3.4s}, [%[p]], #64\n"                                        \
      MEGCC_ARM64_FMA_##rows("x", "v0", l0) MEGCC_ARM64_FMA_##rows("y", "v1", l0) \
      MEGCC_ARM64_FMA_##rows("x", "v2", l1) MEGCC_ARM64_FMA_##rows("y", "v3", l1) \
      : MEGCC_ARM64_ACCS_##rows(j0, j1), [p] "+r"(b)                            \
      : MEGCC_ARM64_ROWS_##rows                                                 \
      : "v0", "v1", "v2", "v3", "memory");
#define MEGCC_ARM64_ONE_K(rows, b, j0, j1)                                      \
  __asm__ volatile(                                                             \
      "ld1 {v0.4s-v1.4s}, [%[p]], #32\n"                                        \
      MEGCC_ARM64_FMA_##rows("x", "v0", "0") MEGCC_ARM64_FMA_##rows("y", "v1", "0") \
      : MEGCC_ARM64_ACCS_##rows(j0, j1), [p] "+r"(b)                            \
      : MEGCC_ARM64_ROWS_##rows                                                 \
      : "v0", "v1", "memory");

// Four k of every row, or one; the rows' pointers move on.
#define MEGCC_ARM64_LOAD_1(how) __asm__ volatile(how : [a] "=w"(x0), [p] "+r"(p0) : : "memory");
#define MEGCC_ARM64_LOAD_2(how) \
  MEGCC_ARM64_LOAD_1(how) __asm__ volatile(how : [a] "=w"(x1), [p] "+r"(p1) : : "memory");
#define MEGCC_ARM64_LOAD_4(how)                                                             \
  MEGCC_ARM64_LOAD_2(how) __asm__ volatile(how : [a] "=w"(x2), [p] "+r"(p2) : : "memory"); \
  __asm__ volatile(how : [a] "=w"(x3), [p] "+r"(p3) : : "memory");

// All panels of a tile of 2, 4 or 6 vectors.
#define MEGCC_ARM64_TWO_K_2(rows, l0, l1) MEGCC_ARM64_TWO_K(rows, b0, 0, 1, l0, l1)
#define MEGCC_ARM64_TWO_K_4(rows, l0, l1) \
  MEGCC_ARM64_TWO_K_2(rows, l0, l1) MEGCC_ARM64_TWO_K(rows, b1, 2, 3, l0, l1)
#define MEGCC_ARM64_TWO_K_6(rows, l0, l1) \
  MEGCC_ARM64_TWO_K_4(rows, l0, l1) MEGCC_ARM64_TWO_K(rows, b2, 4, 5, l0, l1)
#define MEGCC_ARM64_ONE_K_2(rows) MEGCC_ARM64_ONE_K(rows, b0, 0, 1)
#define MEGCC_ARM64_ONE_K_4(rows) MEGCC_ARM64_ONE_K_2(rows) MEGCC_ARM64_ONE_K(rows, b1, 2, 3)
#define MEGCC_ARM64_ONE_K_6(rows) MEGCC_ARM64_ONE_K_4(rows) MEGCC_ARM64_ONE_K(rows, b2, 4, 5)
// clang-format on

// Four k of all rows and vectors, and one.
#define MEGCC_ARM64_STEP_4(rows, vectors)               \
  MEGCC_ARM64_LOAD_##rows("ld1 {%[a].4s}, [%[p]], #16") \
      MEGCC_ARM64_TWO_K_##vectors(rows, "0", "1") MEGCC_ARM64_TWO_K_##vectors(rows, "2", "3")
#define MEGCC_ARM64_STEP_1(rows, vectors) \
  MEGCC_ARM64_LOAD_##rows("ld1r {%[a].4s}, [%[p]], #4") MEGCC_ARM64_ONE_K_##vectors(rows)

// All k of a run, eight a turn; where an odd four of them is left, the first turn begins in the
// middle.
#define MEGCC_TILE_K_(rows, vectors, k) \
  {                                     \
    megcc_vf x0, x1, x2, x3;            \
    size_t turns = (k / 4 + 1) / 2;     \
    (void)x1, (void)x2, (void)x3;       \
    if (k / 4 % 2) goto half;           \
    for (; turns != 0; --turns) {       \
      MEGCC_ARM64_STEP_4(rows, vectors) \
    half:                               \
      MEGCC_ARM64_STEP_4(rows, vectors) \
    }                                   \
    for (k %= 4; k != 0; --k) {         \
      MEGCC_ARM64_STEP_1(rows, vectors) \
    }                                   \
  }
#define MEGCC_TILE_K(rows, vectors, k) MEGCC_TILE_K_(rows, vectors, k)

#endif  // MEGCC_GEMM_ARM64_H
