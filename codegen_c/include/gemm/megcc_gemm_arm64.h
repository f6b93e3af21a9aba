// The sums of a tile of megcc_gemm.h on Arm64, for panels of two vectors (8 columns of f32, 16 of
// f16), as one piece of assembly:
// left to themselves compilers turn a multiply by lane into a broadcast, spill accumulators to load
// early, and copy them.
//
// The widest tile, 4 rows by 24 columns, takes all 32 vector registers: 24 accumulators, four k of
// every row, and v0-v3 for two k of a panel, which one instruction loads. Four k are 96
// multiply-adds, 4 loads of rows and 6 of panels. Rows are read where they are, so nothing is
// packed. Taller and narrower tiles load more often: 6 x 16 leaves two registers for b and takes 14
// loads. `ld1` also fits a big-endian machine.
//
// A vector of f16 has eight k of a row, which are then a turn of the loop; by lane it may only be
// one of v0-v15. Sums of f16 are made in pieces (megcc_gemm_pieces.h), which are added up in
// memory.
//
//   v0-v3   two k of a panel             x2-x4   panels     x12      runs left
//   v4-v7   four k of each row           x5-x8   rows       x13      floats of a run
//   v8-v31  accumulators, six per row    x9-x11  the table of rows, its stride, what is skipped
#ifndef MEGCC_GEMM_ARM64_H
#define MEGCC_GEMM_ARM64_H

#include "megcc_kernel.h"

// By type of element, for a vector: V all lanes, L one lane, M the lanes as loaded; SIZE of an
// element in memory and SHIFT, its logarithm; bytes of VECTOR and VECTORS_2, _4 in memory. f16 that
// is only stored is widened as soon as it is loaded. B the same for a panel, which may be wider in
// the workspace than packed (MEGCC_GEMM_PANELS).
#if defined(MEGCC_SIMD_HALF_H)
#define MEGCC_ARM64_V ".4s"
#define MEGCC_ARM64_L ".s"
#define MEGCC_ARM64_M ".4h"
#define MEGCC_ARM64_WIDEN(v) "fcvtl " v ".4s," v ".4h\n"
#define MEGCC_ARM64_WIDEN_TWO(v, w) "megcc_l " v "," w "\n"
#define MEGCC_ARM64_BEGIN \
  ".macro megcc_l a,b\nfcvtl \\a\\().4s,\\a\\().4h\nfcvtl \\b\\().4s,\\b\\().4h\n.endm\n"
#define MEGCC_ARM64_END ".purgem megcc_l\n"
#elif MEGCC_VL == 4
#define MEGCC_ARM64_V ".4s"
#define MEGCC_ARM64_L ".s"
#define MEGCC_ARM64_M ".4s"
#define MEGCC_ARM64_WIDEN(v)
#define MEGCC_ARM64_WIDEN_TWO(v, w)
#define MEGCC_ARM64_BEGIN
#define MEGCC_ARM64_END
#else
#define MEGCC_ARM64_V ".8h"
#define MEGCC_ARM64_L ".h"
#define MEGCC_ARM64_M ".8h"
#define MEGCC_ARM64_WIDEN(v)
#define MEGCC_ARM64_WIDEN_TWO(v, w)
#define MEGCC_ARM64_BEGIN
#define MEGCC_ARM64_END
#endif
#if defined(MEGCC_F16)
#define MEGCC_ARM64_SIZE "#2"
#define MEGCC_ARM64_SHIFT "#1"
#else
#define MEGCC_ARM64_SIZE "#4"
#define MEGCC_ARM64_SHIFT "#2"
#endif
#if defined(MEGCC_SIMD_HALF_H)
#define MEGCC_ARM64_VECTOR "#8"
#define MEGCC_ARM64_VECTORS_2 "#16"
#define MEGCC_ARM64_VECTORS_4 "#32"
#else
#define MEGCC_ARM64_VECTOR "#16"
#define MEGCC_ARM64_VECTORS_2 "#32"
#define MEGCC_ARM64_VECTORS_4 "#64"
#endif

#if defined(MEGCC_GEMM_PANELS)
#define MEGCC_ARM64_B ".4s"
#define MEGCC_ARM64_B_2 "#32"
#define MEGCC_ARM64_B_4 "#64"
#define MEGCC_ARM64_B_SHIFT "#2"
#define MEGCC_ARM64_WIDEN_B(v, w)
#else
#define MEGCC_ARM64_B MEGCC_ARM64_M
#define MEGCC_ARM64_B_2 MEGCC_ARM64_VECTORS_2
#define MEGCC_ARM64_B_4 MEGCC_ARM64_VECTORS_4
#define MEGCC_ARM64_B_SHIFT MEGCC_ARM64_SHIFT
#define MEGCC_ARM64_WIDEN_B(v, w) MEGCC_ARM64_WIDEN_TWO(v, w)
#endif

// Loads in the order that a Cortex-A55 or A53 wants (docs/measurements/machines.md). `ldp` takes
// the lanes of a big-endian machine for those of one number. f16 has no such tile.
#if defined(MEGCC_IN_ORDER) && !defined(MEGCC_F16) && !defined(__AARCH64EB__)
#define MEGCC_ARM64_IN_ORDER
#endif

// clang-format off
#ifndef MEGCC_GEMM_A53_H
#define MEGCC_ARM64_C0_0 "v8"
#define MEGCC_ARM64_C0_1 "v9"
#define MEGCC_ARM64_C0_2 "v10"
#define MEGCC_ARM64_C0_3 "v11"
#define MEGCC_ARM64_C0_4 "v12"
#define MEGCC_ARM64_C0_5 "v13"
#define MEGCC_ARM64_C1_0 "v14"
#define MEGCC_ARM64_C1_1 "v15"
#define MEGCC_ARM64_C1_2 "v16"
#define MEGCC_ARM64_C1_3 "v17"
#define MEGCC_ARM64_C1_4 "v18"
#define MEGCC_ARM64_C1_5 "v19"
#define MEGCC_ARM64_C2_0 "v20"
#define MEGCC_ARM64_C2_1 "v21"
#define MEGCC_ARM64_C2_2 "v22"
#define MEGCC_ARM64_C2_3 "v23"
#define MEGCC_ARM64_C2_4 "v24"
#define MEGCC_ARM64_C2_5 "v25"
#define MEGCC_ARM64_C3_0 "v26"
#define MEGCC_ARM64_C3_1 "v27"
#define MEGCC_ARM64_C3_2 "v28"
#define MEGCC_ARM64_C3_3 "v29"
#define MEGCC_ARM64_C3_4 "v30"
#define MEGCC_ARM64_C3_5 "v31"
#endif
#define MEGCC_ARM64_C(r, j) MEGCC_ARM64_C##r##_##j

// For every row: the accumulator of vector j += b * lane l of the row.
#define MEGCC_ARM64_FMLA(c, b, a, l) "fmla " c MEGCC_ARM64_V ", " b MEGCC_ARM64_V ", " a MEGCC_ARM64_L "[" l "]\n"
#define MEGCC_ARM64_COL_1(j, b, l) MEGCC_ARM64_FMLA(MEGCC_ARM64_C0_##j, b, "v4", l)
// In a turn the one row of a tile may be in any of its registers, which is an argument of the macro.
#define MEGCC_ARM64_TURN_COL_1(j, b, l) MEGCC_ARM64_FMLA(MEGCC_ARM64_C0_##j, b, "\\a\\()", l)
#define MEGCC_ARM64_TURN_COL_2 MEGCC_ARM64_COL_2
#define MEGCC_ARM64_TURN_COL_4 MEGCC_ARM64_COL_4
#define MEGCC_ARM64_COL_2(j, b, l) \
  MEGCC_ARM64_COL_1(j, b, l) MEGCC_ARM64_FMLA(MEGCC_ARM64_C1_##j, b, "v5", l)
#define MEGCC_ARM64_COL_4(j, b, l) \
  MEGCC_ARM64_COL_2(j, b, l) MEGCC_ARM64_FMLA(MEGCC_ARM64_C2_##j, b, "v6", l) \
  MEGCC_ARM64_FMLA(MEGCC_ARM64_C3_##j, b, "v7", l)

// Vectors j0 and j1, which lie in the panel at `p`: the k of lanes l0 and l1, or one k. A core that
// executes in order waits for what it loads: there a k is loaded while the one before is multiplied,
// which takes a load more for every panel. `next` loads what follows, the first k of a panel.
#ifdef MEGCC_ARM64_IN_ORDER
#define MEGCC_ARM64_LOAD_K(b0, b1, p) "ldp " b0 ", " b1 ", [" p "], #32\n"
#define MEGCC_ARM64_TWO_K(rows, p, j0, j1, next)                                  \
  MEGCC_ARM64_LOAD_K("q2", "q3", p)                                               \
  MEGCC_ARM64_TURN_COL_##rows(j0, "v0", "\\l0") MEGCC_ARM64_TURN_COL_##rows(j1, "v1", "\\l0") \
  next                                                                            \
  MEGCC_ARM64_TURN_COL_##rows(j0, "v2", "\\l1") MEGCC_ARM64_TURN_COL_##rows(j1, "v3", "\\l1")
#else
#define MEGCC_ARM64_LOAD_K(b0, b1, p)
#define MEGCC_ARM64_TWO_K(rows, p, j0, j1, next)                                  \
  "ld1 {v0" MEGCC_ARM64_B "-v3" MEGCC_ARM64_B "}, [" p "], " MEGCC_ARM64_B_4 "\n" \
  MEGCC_ARM64_WIDEN_B("v0", "v1") MEGCC_ARM64_WIDEN_B("v2", "v3")                 \
  MEGCC_ARM64_TURN_COL_##rows(j0, "v0", "\\l0") MEGCC_ARM64_TURN_COL_##rows(j1, "v1", "\\l0") \
  MEGCC_ARM64_TURN_COL_##rows(j0, "v2", "\\l1") MEGCC_ARM64_TURN_COL_##rows(j1, "v3", "\\l1")
#endif
#define MEGCC_ARM64_FIRST_K(p) MEGCC_ARM64_LOAD_K("q0", "q1", p)
#define MEGCC_ARM64_AGAIN ".if \\l1 < 3\n" MEGCC_ARM64_FIRST_K("x2") ".endif\n"
#define MEGCC_ARM64_ONE_K(rows, p, j0, j1)                                    \
  "ld1 {v0" MEGCC_ARM64_B "-v1" MEGCC_ARM64_B "}, [" p "], " MEGCC_ARM64_B_2 "\n" \
  MEGCC_ARM64_WIDEN_B("v0", "v1")                                           \
  MEGCC_ARM64_COL_##rows(j0, "v0", "0") MEGCC_ARM64_COL_##rows(j1, "v1", "0")

// The same for all panels of a tile of 2, 4 or 6 vectors.
#define MEGCC_ARM64_TWO_K_2(rows) MEGCC_ARM64_TWO_K(rows, "x2", 0, 1, MEGCC_ARM64_AGAIN)
#define MEGCC_ARM64_TWO_K_4(rows)                              \
  MEGCC_ARM64_TWO_K(rows, "x2", 0, 1, MEGCC_ARM64_FIRST_K("x3")) \
  MEGCC_ARM64_TWO_K(rows, "x3", 2, 3, MEGCC_ARM64_AGAIN)
#define MEGCC_ARM64_TWO_K_6(rows)                              \
  MEGCC_ARM64_TWO_K(rows, "x2", 0, 1, MEGCC_ARM64_FIRST_K("x3")) \
  MEGCC_ARM64_TWO_K(rows, "x3", 2, 3, MEGCC_ARM64_FIRST_K("x4")) \
  MEGCC_ARM64_TWO_K(rows, "x4", 4, 5, MEGCC_ARM64_AGAIN)
#define MEGCC_ARM64_ONE_K_2(rows) MEGCC_ARM64_ONE_K(rows, "x2", 0, 1)
#define MEGCC_ARM64_ONE_K_4(rows) MEGCC_ARM64_ONE_K_2(rows) MEGCC_ARM64_ONE_K(rows, "x3", 2, 3)
#define MEGCC_ARM64_ONE_K_6(rows) MEGCC_ARM64_ONE_K_4(rows) MEGCC_ARM64_ONE_K(rows, "x4", 4, 5)

// Four k of all rows and vectors, and one.
#define MEGCC_ARM64_ROW_4(v, x) \
  "ld1 {" v MEGCC_ARM64_M "}, [" x "], " MEGCC_ARM64_VECTOR "\n" MEGCC_ARM64_WIDEN(v)
#define MEGCC_ARM64_ROW_1(v, x) \
  "ld1r {" v MEGCC_ARM64_M "}, [" x "], " MEGCC_ARM64_SIZE "\n" MEGCC_ARM64_WIDEN(v)
#define MEGCC_ARM64_LOAD_4_1 MEGCC_ARM64_ROW_4("v4", "x5")
#define MEGCC_ARM64_LOAD_4_2 MEGCC_ARM64_LOAD_4_1 MEGCC_ARM64_ROW_4("v5", "x6")
#define MEGCC_ARM64_LOAD_4_4 \
  MEGCC_ARM64_LOAD_4_2 MEGCC_ARM64_ROW_4("v6", "x7") MEGCC_ARM64_ROW_4("v7", "x8")
#define MEGCC_ARM64_LOAD_1_1 MEGCC_ARM64_ROW_1("v4", "x5")
#define MEGCC_ARM64_LOAD_1_2 MEGCC_ARM64_LOAD_1_1 MEGCC_ARM64_ROW_1("v5", "x6")
#define MEGCC_ARM64_LOAD_1_4 \
  MEGCC_ARM64_LOAD_1_2 MEGCC_ARM64_ROW_1("v6", "x7") MEGCC_ARM64_ROW_1("v7", "x8")
#define MEGCC_ARM64_STEP_4(rows)                      \
  MEGCC_ARM64_FIRST_K("x2") MEGCC_ARM64_LOAD_4_##rows \
  "megcc_two_k 0, 1\n" "megcc_two_k 2, 3\n"
#define MEGCC_ARM64_STEP_8(rows) \
  MEGCC_ARM64_STEP_4(rows) "megcc_two_k 4, 5\n" "megcc_two_k 6, 7\n"
#define MEGCC_ARM64_STEP_1(rows, vectors) \
  MEGCC_ARM64_LOAD_1_##rows MEGCC_ARM64_ONE_K_##vectors(rows)

// A row's accumulators begin with the bias; x14 is four vectors on.
#define MEGCC_ARM64_BIAS_OF(r, j0, j1, x) \
  "ld1 {" MEGCC_ARM64_C(r, j0) MEGCC_ARM64_M "-" MEGCC_ARM64_C(r, j1) MEGCC_ARM64_M "}, [" x "]\n"
#define MEGCC_ARM64_WIDEN_2(r, j0, j1) \
  MEGCC_ARM64_WIDEN_TWO(MEGCC_ARM64_C(r, j0), MEGCC_ARM64_C(r, j1))
#define MEGCC_ARM64_BIAS_2(r) \
  MEGCC_ARM64_BIAS_OF(r, 0, 1, "%[bias]") MEGCC_ARM64_WIDEN_2(r, 0, 1)
#define MEGCC_ARM64_BIAS_4(r) \
  MEGCC_ARM64_BIAS_OF(r, 0, 3, "%[bias]") MEGCC_ARM64_WIDEN_2(r, 0, 1) MEGCC_ARM64_WIDEN_2(r, 2, 3)
#define MEGCC_ARM64_BIAS_6(r) \
  MEGCC_ARM64_BIAS_4(r) MEGCC_ARM64_BIAS_OF(r, 4, 5, "x14") MEGCC_ARM64_WIDEN_2(r, 4, 5)

// The addresses of a run of every row.
#define MEGCC_ARM64_RUN_1 "ldr x5, [x9]\n" "add x5, x5, x11, lsl " MEGCC_ARM64_SHIFT "\n"
#define MEGCC_ARM64_RUN_2_ "add x5, x5, x11, lsl " MEGCC_ARM64_SHIFT "\n" "add x6, x6, x11, lsl " MEGCC_ARM64_SHIFT "\n"
#define MEGCC_ARM64_RUN_2 "ldp x5, x6, [x9]\n" MEGCC_ARM64_RUN_2_
#define MEGCC_ARM64_RUN_4 \
  "ldp x5, x6, [x9]\n" "ldp x7, x8, [x9, #16]\n" MEGCC_ARM64_RUN_2_ \
  "add x7, x7, x11, lsl " MEGCC_ARM64_SHIFT "\n" "add x8, x8, x11, lsl " MEGCC_ARM64_SHIFT "\n"

// Eight k a turn, from label 2 on; of f32 where an odd four of them is left, the first turn begins
// in the middle. One row by three panels has 16 k a turn, as the registers of other rows are free:
// a first turn of fewer loads the last of its registers.
#if MEGCC_VL == 4
#define MEGCC_ARM64_REST "3"
#define MEGCC_ARM64_TURN_FEW(rows)                                            \
  "add x14, x13, #4\n"                                                        \
  "lsr x14, x14, #3\n"                                                        \
  "cbz x14, 4f\n"                                                             \
  "tbnz x13, #2, 3f\n"                                                        \
  "2:\n" MEGCC_ARM64_STEP_4(rows)                                    \
  "3:\n" MEGCC_ARM64_STEP_4(rows)
#define MEGCC_ARM64_STEP_OF(a) \
  MEGCC_ARM64_FIRST_K("x2") "megcc_two_k 0, 1, " a "\n" "megcc_two_k 2, 3, " a "\n"
#define MEGCC_ARM64_ROW_2(v, w) \
  "ld1 {" v MEGCC_ARM64_M "-" w MEGCC_ARM64_M "}, [x5], " MEGCC_ARM64_VECTORS_2 "\n" \
  MEGCC_ARM64_WIDEN_TWO(v, w)
#define MEGCC_ARM64_TURN_1_6                                                  \
  "add x14, x13, #12\n"                                                       \
  "lsr x14, x14, #4\n"                                                        \
  "cbz x14, 4f\n"                                                             \
  "tbnz x13, #2, 21f\n"                                                       \
  "tbz x13, #3, 2f\n"                                                         \
  MEGCC_ARM64_ROW_2("v6", "v7") "b 32f\n"                                     \
  "21:\n"                                                                     \
  "tbnz x13, #3, 22f\n"                                                       \
  MEGCC_ARM64_ROW_4("v7", "x5") "b 33f\n"                                     \
  "22:\n"                                                                     \
  MEGCC_ARM64_ROW_4("v5", "x5") MEGCC_ARM64_ROW_2("v6", "v7") "b 31f\n"       \
  "2:\n"                                                                      \
  "ld1 {v4" MEGCC_ARM64_M "-v7" MEGCC_ARM64_M "}, [x5], " MEGCC_ARM64_VECTORS_4 "\n" \
  MEGCC_ARM64_WIDEN_TWO("v4", "v5") MEGCC_ARM64_WIDEN_TWO("v6", "v7")          \
  MEGCC_ARM64_STEP_OF("v4")                                                   \
  "31:\n" MEGCC_ARM64_STEP_OF("v5")                                           \
  "32:\n" MEGCC_ARM64_STEP_OF("v6")                                           \
  "33:\n" MEGCC_ARM64_STEP_OF("v7")
#else
#define MEGCC_ARM64_REST "7"
#define MEGCC_ARM64_TURN_FEW(rows)                                            \
  "lsr x14, x13, #3\n"                                                        \
  "cbz x14, 4f\n"                                                             \
  "2:\n" MEGCC_ARM64_STEP_8(rows)
#define MEGCC_ARM64_STEP_OF(a) \
  "megcc_two_k 0, 1, " a "\n" "megcc_two_k 2, 3, " a "\n" \
  "megcc_two_k 4, 5, " a "\n" "megcc_two_k 6, 7, " a "\n"
#define MEGCC_ARM64_TURN_1_6                                                  \
  "add x14, x13, #8\n"                                                        \
  "lsr x14, x14, #4\n"                                                        \
  "cbz x14, 4f\n"                                                             \
  "tbz x13, #3, 2f\n"                                                         \
  MEGCC_ARM64_ROW_4("v5", "x5") "b 31f\n"                                     \
  "2:\n"                                                                      \
  "ld1 {v4.8h-v5.8h}, [x5], " MEGCC_ARM64_VECTORS_2 "\n"                      \
  MEGCC_ARM64_STEP_OF("v4")                                                   \
  "31:\n" MEGCC_ARM64_STEP_OF("v5")
#endif
#define MEGCC_ARM64_TURN_1_2 MEGCC_ARM64_TURN_FEW(1)
#define MEGCC_ARM64_TURN_1_4 MEGCC_ARM64_TURN_FEW(1)
#define MEGCC_ARM64_TURN_2_2 MEGCC_ARM64_TURN_FEW(2)
#define MEGCC_ARM64_TURN_2_4 MEGCC_ARM64_TURN_FEW(2)
#define MEGCC_ARM64_TURN_2_6 MEGCC_ARM64_TURN_FEW(2)
#define MEGCC_ARM64_TURN_4_2 MEGCC_ARM64_TURN_FEW(4)
#define MEGCC_ARM64_TURN_4_4 MEGCC_ARM64_TURN_FEW(4)
#define MEGCC_ARM64_TURN_4_6 MEGCC_ARM64_TURN_FEW(4)

// What earlier pieces of the sums gave is added (bit 0 of `piece`), and the sums are kept for the
// next one (bit 1).
#if defined(MEGCC_F16) && MEGCC_VL == 8
#define MEGCC_TILE_PIECE 240
#define MEGCC_ARM64_MORE_OF(r, j, v) "megcc_more " MEGCC_ARM64_C(r, j) ", " v "\n"
#define MEGCC_ARM64_MORE_2_(r, j0, j1) \
  "ld1 {v0.8h-v1.8h}, [x14], #32\n" MEGCC_ARM64_MORE_OF(r, j0, "v0") MEGCC_ARM64_MORE_OF(r, j1, "v1")
#define MEGCC_ARM64_MORE_2(r) MEGCC_ARM64_MORE_2_(r, 0, 1)
#define MEGCC_ARM64_MORE_4(r) \
  "ld1 {v0.8h-v3.8h}, [x14], #64\n" MEGCC_ARM64_MORE_OF(r, 0, "v0") \
  MEGCC_ARM64_MORE_OF(r, 1, "v1") MEGCC_ARM64_MORE_OF(r, 2, "v2") MEGCC_ARM64_MORE_OF(r, 3, "v3")
#define MEGCC_ARM64_MORE_6(r) MEGCC_ARM64_MORE_4(r) MEGCC_ARM64_MORE_2_(r, 4, 5)
#define MEGCC_ARM64_KEEP_OF(r, j0, j1, bytes) \
  "st1 {" MEGCC_ARM64_C(r, j0) ".8h-" MEGCC_ARM64_C(r, j1) ".8h}, [x14], " bytes "\n"
#define MEGCC_ARM64_KEEP_2(r) MEGCC_ARM64_KEEP_OF(r, 0, 1, "#32")
#define MEGCC_ARM64_KEEP_4(r) MEGCC_ARM64_KEEP_OF(r, 0, 3, "#64")
#define MEGCC_ARM64_KEEP_6(r) MEGCC_ARM64_KEEP_4(r) MEGCC_ARM64_KEEP_OF(r, 4, 5, "#32")
#define MEGCC_ARM64_PIECE(rows, vectors)                                      \
  ".macro megcc_more c, v\nfadd \\c\\().8h, \\c\\().8h, \\v\\().8h\n.endm\n"       \
  "tbz %w[piece], #0, 7f\n"                                                   \
  "mov x14, %[kept]\n"                                                        \
  MEGCC_FOR_ROWS(rows)(MEGCC_ARM64_MORE_##vectors)                            \
  "7:\n"                                                                      \
  "tbz %w[piece], #1, 8f\n"                                                   \
  "mov x14, %[kept]\n"                                                        \
  MEGCC_FOR_ROWS(rows)(MEGCC_ARM64_KEEP_##vectors)                            \
  "8:\n.purgem megcc_more\n"
#define MEGCC_ARM64_PIECE_IN(kept_, piece_) , [kept] "r"(kept_), [piece] "r"(piece_)
#else
#define MEGCC_ARM64_PIECE(rows, vectors)
#define MEGCC_ARM64_PIECE_IN(kept_, piece_)
#endif

// The whole tile. The numbers are offsets in megcc_gemm_t. A macro of the assembler keeps the string below
// what C99 requires compilers to take.
#define MEGCC_ARM64_TEXT(rows, vectors)                                       \
  MEGCC_ARM64_BEGIN ".macro megcc_two_k l0, l1, a=v4\n"                                               \
  MEGCC_ARM64_TWO_K_##vectors(rows)                                           \
  ".endm\n"                                                                   \
  "mov x9, %[a]\n"                                                            \
  "mov x2, %[b]\n"                                                            \
  "ldp x10, x11, [%[g], #8]\n"                                                \
  "ldp x12, x13, [%[g], #24]\n"                                               \
  "ldr x4, [%[g], #40]\n"                                                     \
  "add x14, %[bias], " MEGCC_ARM64_VECTORS_4 "\n"                                                   \
  "add x3, x2, x4, lsl " MEGCC_ARM64_B_SHIFT "\n"                                                  \
  "add x4, x3, x4, lsl " MEGCC_ARM64_B_SHIFT "\n"                                                  \
  MEGCC_FOR_ROWS(rows)(MEGCC_ARM64_BIAS_##vectors)                            \
  "cbz x12, 6f\n"                                                             \
  "1:\n"                                                                      \
  MEGCC_ARM64_RUN_##rows                                                      \
  "add x9, x9, x10, lsl #3\n"                                                 \
  MEGCC_ARM64_TURN_##rows##_##vectors                                                      \
  "subs x14, x14, #1\n"                                                       \
  "b.ne 2b\n"                                                                 \
  "4:\n"                                                                      \
  "ands x14, x13, #" MEGCC_ARM64_REST "\n"                                     \
  "b.eq 6f\n"                                                                 \
  "5:\n" MEGCC_ARM64_STEP_1(rows, vectors)                                    \
  "subs x14, x14, #1\n"                                                       \
  "b.ne 5b\n"                                                                 \
  "6:\n"                                                                      \
  "subs x12, x12, #1\n"                                                       \
  "b.gt 1b\n"                                                                 \
  MEGCC_ARM64_PIECE(rows, vectors)                                            \
  MEGCC_ARM64_END ".purgem megcc_two_k\n"

#define MEGCC_ARM64_OUT_2(r) "=w"(s##r##_0), "=w"(s##r##_1)
#define MEGCC_ARM64_OUT_4(r) MEGCC_ARM64_OUT_2(r), "=w"(s##r##_2), "=w"(s##r##_3)
#define MEGCC_ARM64_OUT_6(r) MEGCC_ARM64_OUT_4(r), "=w"(s##r##_4), "=w"(s##r##_5)
#define MEGCC_ARM64_OUTS_1(out) out(0)
#define MEGCC_ARM64_OUTS_2(out) out(0), out(1)
#define MEGCC_ARM64_OUTS_4(out) out(0), out(1), out(2), out(3)

#define MEGCC_ARM64_ASM(rows, vectors, g_, a_, b_, bias_, kept_, piece_)      \
  __asm__ volatile(MEGCC_ARM64_TEXT(rows, vectors)                            \
      : MEGCC_ARM64_OUTS_##rows(MEGCC_ARM64_OUT_##vectors)                    \
      : [g] "r"(g_), [a] "r"(a_), [b] "r"(b_), [bias] "r"(bias_)              \
        MEGCC_ARM64_PIECE_IN(kept_, piece_)                                   \
      : "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13", "x14", \
        "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "cc", "memory")
// clang-format on

// Declares c0_0 ... with the sums of a tile. They leave their registers at once: a variable that
// is bound to one holds its value at the assembly only.
#define MEGCC_ARM64_SUM(r, j) register megcc_vf s##r##_##j __asm__(MEGCC_ARM64_C(r, j));
#define MEGCC_ARM64_SUMS(r) MEGCC_EACH_COL(MEGCC_ARM64_SUM, r)
#define MEGCC_ARM64_COPY(r, j) const megcc_vf c##r##_##j = s##r##_##j;
#define MEGCC_ARM64_COPIES(r) MEGCC_EACH_COL(MEGCC_ARM64_COPY, r)
#ifdef MEGCC_TILE_PIECE
#define MEGCC_ARM64_VARIABLE(r, j) megcc_vf c##r##_##j;
#define MEGCC_ARM64_VARIABLES(r) MEGCC_EACH_COL(MEGCC_ARM64_VARIABLE, r)
#define MEGCC_ARM64_TAKE(r, j) c##r##_##j = s##r##_##j;
#define MEGCC_ARM64_TAKES(r) MEGCC_EACH_COL(MEGCC_ARM64_TAKE, r)
#define MEGCC_ARM64_TILE_SUMS(rows, vectors, g, a_, b_, bias_)                           \
  MEGCC_EACH_ROW(MEGCC_ARM64_VARIABLES)                                                  \
  megcc_gemm_begin_t at_piece = megcc_gemm_first_piece(&piece, g, a_, b_, bias_);        \
  for (;;) {                                                                             \
    MEGCC_EACH_ROW(MEGCC_ARM64_SUMS)                                                     \
    MEGCC_ARM64_ASM(rows, vectors, &piece, at_piece.a, at_piece.b, at_piece.start, kept, \
                    at_piece.how);                                                       \
    MEGCC_EACH_ROW(MEGCC_ARM64_TAKES)                                                    \
    if ((at_piece.how & 2) == 0) break;                                                  \
    megcc_gemm_next_piece(&piece, g, &at_piece);                                         \
  }
#else
#define MEGCC_ARM64_TILE_SUMS(rows, vectors, g, a, b, bias) \
  MEGCC_EACH_ROW(MEGCC_ARM64_SUMS)                          \
  MEGCC_ARM64_ASM(rows, vectors, g, a, b, bias, 0, 0);      \
  MEGCC_EACH_ROW(MEGCC_ARM64_COPIES)
#endif
#ifndef MEGCC_GEMM_A53_H
#define MEGCC_TILE_SUMS_(...) MEGCC_ARM64_TILE_SUMS(__VA_ARGS__)
#define MEGCC_TILE_SUMS(rows, vectors, g, a, b, bias) MEGCC_TILE_SUMS_(rows, vectors, g, a, b, bias)
#endif

#if !defined(MEGCC_SIMD_HALF_H)
// Stores y0 ..., the finished row r of a tile, to dst: four vectors and what remains by one
// instruction each.
#define MEGCC_ARM64_BIND(r, j) register megcc_vf o##j __asm__(MEGCC_ARM64_C(r, j)) = y##j;
#define MEGCC_ARM64_LIST(r, j0, j1) \
  "st1 {" MEGCC_ARM64_C(r, j0) MEGCC_ARM64_V "-" MEGCC_ARM64_C(r, j1) MEGCC_ARM64_V "}, "
#define MEGCC_ARM64_STORE_2(r) \
  __asm__ volatile(MEGCC_ARM64_LIST(r, 0, 1) "[%0]" : : "r"(dst), "w"(o0), "w"(o1) : "memory")
#define MEGCC_ARM64_STORE_4(r)                                    \
  __asm__ volatile(MEGCC_ARM64_LIST(r, 0, 3) "[%0]"               \
                   :                                              \
                   : "r"(dst), "w"(o0), "w"(o1), "w"(o2), "w"(o3) \
                   : "memory")
#define MEGCC_ARM64_STORE_6(r)                                                              \
  __asm__ volatile(MEGCC_ARM64_LIST(r, 0, 3) "[%0]\n" MEGCC_ARM64_LIST(r, 4, 5) "[%1]"      \
                   :                                                                        \
                   : "r"(dst), "r"(dst + 4 * MEGCC_VL), "w"(o0), "w"(o1), "w"(o2), "w"(o3), \
                     "w"(o4), "w"(o5)                                                       \
                   : "memory")
#define MEGCC_TILE_STORE_ROW_(r, vectors) \
  MEGCC_EACH_COL(MEGCC_ARM64_BIND, r)     \
  MEGCC_ARM64_STORE_##vectors(r);
#define MEGCC_TILE_STORE_ROW(r, vectors) \
  MEGCC_TILE_STORE_ROW_(r, vectors)      \
  dst += ld;
#endif

#endif  // MEGCC_GEMM_ARM64_H
