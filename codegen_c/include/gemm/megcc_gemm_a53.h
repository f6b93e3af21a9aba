// Tiles of megcc_gemm.h for a Cortex-A53: 8 rows by 8 columns of f32. The model of this core and
// the shares of its peak: docs/measurements/machines.md.
//
// This core completes instructions in order, and a multiply-add takes longer than a load: every
// load among multiply-adds waits for those before it. So all that 64 of them read is loaded at
// once, which takes all 32 registers: v0-v7 four k of the panel, v8-v15 four k of every row,
// v16-v31 the sums. `ld1` of four registers goes first and last, as it takes longest: what waits
// for it waits less. The loop's branch stands behind the first load, where nothing else could
// issue.
//
// Rows that fill no such tile have those of megcc_gemm_arm64.h.
#ifndef MEGCC_GEMM_A53_H
#define MEGCC_GEMM_A53_H

// clang-format off
#define MEGCC_ARM64_C0_0 "v16"
#define MEGCC_ARM64_C0_1 "v17"
#define MEGCC_ARM64_C1_0 "v18"
#define MEGCC_ARM64_C1_1 "v19"
#define MEGCC_ARM64_C2_0 "v20"
#define MEGCC_ARM64_C2_1 "v21"
#define MEGCC_ARM64_C3_0 "v22"
#define MEGCC_ARM64_C3_1 "v23"
#define MEGCC_ARM64_C4_0 "v24"
#define MEGCC_ARM64_C4_1 "v25"
#define MEGCC_ARM64_C5_0 "v26"
#define MEGCC_ARM64_C5_1 "v27"
#define MEGCC_ARM64_C6_0 "v28"
#define MEGCC_ARM64_C6_1 "v29"
#define MEGCC_ARM64_C7_0 "v30"
#define MEGCC_ARM64_C7_1 "v31"
#include "gemm/megcc_gemm_arm64.h"

// For every row: the sums of one vector of columns += b * lane k of the row.
#define MEGCC_A53_FMLA(c, b, a) "fmla " c ".4s, " b "\\().4s, " a ".s[\\k]\n"
#define MEGCC_A53_COLUMN(j, b)                                                           \
  MEGCC_A53_FMLA(MEGCC_ARM64_C0_##j, b, "v8") MEGCC_A53_FMLA(MEGCC_ARM64_C1_##j, b, "v9")    \
  MEGCC_A53_FMLA(MEGCC_ARM64_C2_##j, b, "v10") MEGCC_A53_FMLA(MEGCC_ARM64_C3_##j, b, "v11") \
  MEGCC_A53_FMLA(MEGCC_ARM64_C4_##j, b, "v12") MEGCC_A53_FMLA(MEGCC_ARM64_C5_##j, b, "v13") \
  MEGCC_A53_FMLA(MEGCC_ARM64_C6_##j, b, "v14") MEGCC_A53_FMLA(MEGCC_ARM64_C7_##j, b, "v15")

// Macros of the assembler: one k; four k with all their loads but the first, which take `done` off
// the fours that are left. x14 is the rows' index, in bytes below their ends.
#define MEGCC_A53_MACROS                                                  \
  ".macro megcc_k k, b0, b1\n"                                            \
  MEGCC_A53_COLUMN(0, "\\b0") MEGCC_A53_COLUMN(1, "\\b1")                 \
  ".endm\n"                                                               \
  ".macro megcc_four_k done\n"                                            \
  "ldr q8, [x4, x14]\n" "add x3, x2, #64\n"                               \
  "ldr q9, [x5, x14]\n" "add x2, x2, #128\n"                              \
  "ldr q10, [x6, x14]\n" "subs x11, x11, #\\done\n"                       \
  "ldr q11, [x7, x14]\n" "ldr q12, [x8, x14]\n" "ldr q13, [x15, x14]\n"   \
  "ldr q14, [x16, x14]\n" "ldr q15, [x17, x14]\n"                         \
  "add x14, x14, #16\n"                                                   \
  "ld1 {v4.4s-v7.4s}, [x3]\n"                                             \
  "megcc_k 0, v0, v1\n" "megcc_k 1, v2, v3\n"                             \
  "megcc_k 2, v4, v5\n" "megcc_k 3, v6, v7\n"                             \
  ".endm\n"
#define MEGCC_A53_FIRST "ld1 {v0.4s-v3.4s}, [x2]\n"

// Three times four k a turn, while another four are there to load; then the fours that are left,
// then single ones. The numbers are offsets in megcc_gemm_t.
#define MEGCC_A53_TEXT                                                    \
  MEGCC_A53_MACROS                                                        \
  "mov x9, %[a]\n"                                                        \
  "mov x2, %[b]\n"                                                        \
  "ldr x10, [%[g], #8]\n"                                                 \
  "ldp x12, x13, [%[g], #24]\n"                                           \
  MEGCC_ROWS_8(MEGCC_ARM64_BIAS_2)                                        \
  "cbz x12, 6f\n"                                                         \
  "1:\n"                                                                  \
  "ldr x11, [%[g], #16]\n"                                                \
  "and x14, x13, #-4\n"                                                   \
  "ldp x4, x5, [x9]\n" "ldp x6, x7, [x9, #16]\n"                          \
  "ldp x8, x15, [x9, #32]\n" "ldp x16, x17, [x9, #48]\n"                  \
  "add x9, x9, x10, lsl #3\n"                                             \
  "add x11, x11, x14\n"                                                   \
  "neg x14, x14, lsl #2\n"                                                \
  "add x4, x4, x11, lsl #2\n" "add x5, x5, x11, lsl #2\n"                 \
  "add x6, x6, x11, lsl #2\n" "add x7, x7, x11, lsl #2\n"                 \
  "add x8, x8, x11, lsl #2\n" "add x15, x15, x11, lsl #2\n"               \
  "add x16, x16, x11, lsl #2\n" "add x17, x17, x11, lsl #2\n"             \
  "lsr x11, x13, #2\n"                                                    \
  "cbz x11, 4f\n"                                                         \
  MEGCC_A53_FIRST                                                         \
  "subs x11, x11, #4\n"                                                   \
  "b.lt 3f\n"                                                             \
  "2:\n"                                                                  \
  "megcc_four_k 3\n" MEGCC_A53_FIRST "megcc_four_k 0\n" MEGCC_A53_FIRST   \
  "megcc_four_k 0\n" MEGCC_A53_FIRST                                      \
  "b.ge 2b\n"                                                             \
  "3:\n"                                                                  \
  "add x11, x11, #4\n"                                                    \
  "7:\n"                                                                  \
  "megcc_four_k 1\n"                                                      \
  "b.eq 4f\n" MEGCC_A53_FIRST                                             \
  "b 7b\n"                                                                \
  "4:\n"                                                                  \
  "ands x11, x13, #3\n"                                                   \
  "b.eq 6f\n"                                                             \
  "5:\n"                                                                  \
  "ld1 {v0.4s-v1.4s}, [x2], #32\n"                                        \
  "ld1r {v8.4s}, [x4], #4\n" "ld1r {v9.4s}, [x5], #4\n"                   \
  "ld1r {v10.4s}, [x6], #4\n" "ld1r {v11.4s}, [x7], #4\n"                 \
  "ld1r {v12.4s}, [x8], #4\n" "ld1r {v13.4s}, [x15], #4\n"                \
  "ld1r {v14.4s}, [x16], #4\n" "ld1r {v15.4s}, [x17], #4\n"               \
  "megcc_k 0, v0, v1\n"                                                   \
  "subs x11, x11, #1\n"                                                   \
  "b.ne 5b\n"                                                             \
  "6:\n"                                                                  \
  "subs x12, x12, #1\n"                                                   \
  "b.gt 1b\n"                                                             \
  ".purgem megcc_four_k\n"                                                \
  ".purgem megcc_k\n"

#define MEGCC_A53_OUT(r) "=w"(s##r##_0), "=w"(s##r##_1)
#define MEGCC_A53_ASM(g_, a_, b_, bias_)                                                      \
  __asm__ volatile(MEGCC_A53_TEXT                                                             \
      : MEGCC_A53_OUT(0), MEGCC_A53_OUT(1), MEGCC_A53_OUT(2), MEGCC_A53_OUT(3),               \
        MEGCC_A53_OUT(4), MEGCC_A53_OUT(5), MEGCC_A53_OUT(6), MEGCC_A53_OUT(7)                \
      : [g] "r"(g_), [a] "r"(a_), [b] "r"(b_), [bias] "r"(bias_)                              \
      : "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13", "x14",    \
        "x15", "x16", "x17", "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9",      \
        "v10", "v11", "v12", "v13", "v14", "v15", "cc", "memory")
// clang-format on

#define MEGCC_TILE_SUMS_1(g, a, b, bias) MEGCC_ARM64_TILE_SUMS(1, 2, g, a, b, bias)
#define MEGCC_TILE_SUMS_4(g, a, b, bias) MEGCC_ARM64_TILE_SUMS(4, 2, g, a, b, bias)
#define MEGCC_TILE_SUMS_8(g, a, b, bias) \
  MEGCC_EACH_ROW(MEGCC_ARM64_SUMS)       \
  MEGCC_A53_ASM(g, a, b, bias);          \
  MEGCC_EACH_ROW(MEGCC_ARM64_COPIES)
#define MEGCC_TILE_SUMS_OF(rows) MEGCC_TILE_SUMS_##rows
#define MEGCC_TILE_SUMS_FOR(rows) MEGCC_TILE_SUMS_OF(rows)
#define MEGCC_TILE_SUMS(rows, vectors, g, a, b, bias) MEGCC_TILE_SUMS_FOR(rows)(g, a, b, bias)

#endif  // MEGCC_GEMM_A53_H
