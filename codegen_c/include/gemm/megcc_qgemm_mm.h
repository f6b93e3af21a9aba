// The sums of a tile of megcc_qgemm.h by smmla, as one piece of assembly (megcc_qgemm_dot.h says
// why).
//
// smmla multiplies two rows by two columns, eight k of each. The widest tile is 4 rows by 24
// columns: 24 accumulators of 2 x 2 sums, 16 k of every row, whose halves are put together for two
// rows at a time, and v0-v3 for eight k of a panel, which one instruction loads. 16 k are 48 smmla,
// 4 loads of rows with 4 permutations, and 6 loads of panels. A row alone is both rows of its
// pairs. Unsigned bytes have an instruction of their own, usmmla.
//
//   v0-v3   eight k of a panel           x2-x4   panels     x12      runs left
//   v4-v7   16 k of two pairs of rows    x5-x8   rows       x13      groups of a run
//   v8-v31  accumulators, 12 per pair    x9-x11  the table of rows, its stride, what is skipped
#ifndef MEGCC_QGEMM_MM_H
#define MEGCC_QGEMM_MM_H

#define MEGCC_QGEMM_PANEL NR  // columns
#define MEGCC_QGEMM_KR 8      // bytes of a group: those that smmla multiplies per column
#define MEGCC_QGEMM_CHUNK 8   // and groups are not mixed in larger ones
#define MEGCC_QGEMM_FLIP 0    // unsigned bytes are not flipped
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
#define MEGCC_MM_P0_0 "v8"
#define MEGCC_MM_P0_1 "v9"
#define MEGCC_MM_P0_2 "v10"
#define MEGCC_MM_P0_3 "v11"
#define MEGCC_MM_P0_4 "v12"
#define MEGCC_MM_P0_5 "v13"
#define MEGCC_MM_P0_6 "v14"
#define MEGCC_MM_P0_7 "v15"
#define MEGCC_MM_P0_8 "v16"
#define MEGCC_MM_P0_9 "v17"
#define MEGCC_MM_P0_10 "v18"
#define MEGCC_MM_P0_11 "v19"
#define MEGCC_MM_P1_0 "v20"
#define MEGCC_MM_P1_1 "v21"
#define MEGCC_MM_P1_2 "v22"
#define MEGCC_MM_P1_3 "v23"
#define MEGCC_MM_P1_4 "v24"
#define MEGCC_MM_P1_5 "v25"
#define MEGCC_MM_P1_6 "v26"
#define MEGCC_MM_P1_7 "v27"
#define MEGCC_MM_P1_8 "v28"
#define MEGCC_MM_P1_9 "v29"
#define MEGCC_MM_P1_10 "v30"
#define MEGCC_MM_P1_11 "v31"
#define MEGCC_MM_P(p, q) MEGCC_MM_P##p##_##q

#define MEGCC_MM_OP_i8 "smmla "
#define MEGCC_MM_OP_u8 "usmmla "
#define MEGCC_MM_OP_(x) MEGCC_MM_OP_##x
#define MEGCC_MM_OP(x) MEGCC_MM_OP_(x)
#define MEGCC_MM_MULTIPLY(c, a, b) MEGCC_MM_OP(X) c ".4s," a "," b ".16b\n"

// Pairs of rows of a tile, by its rows.
#define MEGCC_MM_PAIRS_1(M, ...) M(0, __VA_ARGS__)
#define MEGCC_MM_PAIRS_4(M, ...) M(0, __VA_ARGS__) M(1, __VA_ARGS__)

// A pair of rows, its k in the register that is an argument of the macro, by the four pairs of
// columns of a panel.
#define MEGCC_MM_PANEL_(p, q0, q1, q2, q3)                  \
  MEGCC_MM_MULTIPLY(MEGCC_MM_P(p, q0), "\\a" #p, "v0") \
  MEGCC_MM_MULTIPLY(MEGCC_MM_P(p, q1), "\\a" #p, "v1") \
  MEGCC_MM_MULTIPLY(MEGCC_MM_P(p, q2), "\\a" #p, "v2") \
  MEGCC_MM_MULTIPLY(MEGCC_MM_P(p, q3), "\\a" #p, "v3")
#define MEGCC_MM_PANEL(rows, at, q0, q1, q2, q3) \
  "ld1 {v0.16b-v3.16b}, [" at "], #64\n" MEGCC_MM_PAIRS_##rows(MEGCC_MM_PANEL_, q0, q1, q2, q3)
#define MEGCC_MM_GROUP_2(rows) MEGCC_MM_PANEL(rows, "x2", 0, 1, 2, 3)
#define MEGCC_MM_GROUP_4(rows) MEGCC_MM_GROUP_2(rows) MEGCC_MM_PANEL(rows, "x3", 4, 5, 6, 7)
#define MEGCC_MM_GROUP_6(rows) MEGCC_MM_GROUP_4(rows) MEGCC_MM_PANEL(rows, "x4", 8, 9, 10, 11)

// 16 bytes of every row: the first halves of a pair in one register, the second in another.
#define MEGCC_MM_ROWS_1 \
  "ld1 {v0.16b}, [x5], #16\n" "dup v4.2d, v0.d[0]\n" "dup v5.2d, v0.d[1]\n"
#define MEGCC_MM_ROWS_4 \
  "ld1 {v0.16b}, [x5], #16\n" "ld1 {v1.16b}, [x6], #16\n" "ld1 {v2.16b}, [x7], #16\n" \
  "ld1 {v3.16b}, [x8], #16\n" "zip1 v4.2d, v0.2d, v1.2d\n" "zip2 v5.2d, v0.2d, v1.2d\n" \
  "zip1 v6.2d, v2.2d, v3.2d\n" "zip2 v7.2d, v2.2d, v3.2d\n"

// The accumulators begin with the bias, once for each row of a pair.
#define MEGCC_MM_BIAS_1(q) "ld1r {" MEGCC_MM_P(0, q) ".2d}, [x14], #8\n"
#define MEGCC_MM_BIAS_4(q) \
  MEGCC_MM_BIAS_1(q) "mov " MEGCC_MM_P(1, q) ".16b, " MEGCC_MM_P(0, q) ".16b\n"
#define MEGCC_MM_BIASES_2(M) M(0) M(1) M(2) M(3)
#define MEGCC_MM_BIASES_4(M) MEGCC_MM_BIASES_2(M) M(4) M(5) M(6) M(7)
#define MEGCC_MM_BIASES_6(M) MEGCC_MM_BIASES_4(M) M(8) M(9) M(10) M(11)

// The addresses of a run of every row.
#define MEGCC_MM_RUN_1 "ldr x5, [x9]\n" "add x5, x5, x11\n"
#define MEGCC_MM_RUN_4 \
  "ldp x5, x6, [x9]\n" "ldp x7, x8, [x9, #16]\n" "add x5, x5, x11\n" "add x6, x6, x11\n" \
  "add x7, x7, x11\n" "add x8, x8, x11\n"

// The whole tile. The numbers are offsets in megcc_qgemm_t. A macro of the assembler keeps the
// string below what C99 requires compilers to take.
#define MEGCC_MM_TEXT(rows, vectors)             \
  ".macro megcc_group a0, a1\n"                  \
  MEGCC_MM_GROUP_##vectors(rows)                 \
  ".endm\n"                                      \
  "mov x9, %[a]\n"                               \
  "mov x2, %[b]\n"                               \
  "ldp x10, x11, [%[g], #8]\n"                   \
  "ldp x12, x13, [%[g], #24]\n"                  \
  "ldr x4, [%[g], #40]\n"                        \
  "mov x14, %[bias]\n"                           \
  "add x3, x2, x4\n"                             \
  "add x4, x3, x4\n"                             \
  MEGCC_MM_BIASES_##vectors(MEGCC_MM_BIAS_##rows) \
  "1:\n"                                         \
  MEGCC_MM_RUN_##rows                            \
  "add x9, x9, x10, lsl #3\n"                    \
  "lsr x14, x13, #1\n"                           \
  "cbz x14, 3f\n"                                \
  "2:\n"                                         \
  MEGCC_MM_ROWS_##rows                           \
  "megcc_group v4.16b, v6.16b\n"                         \
  "megcc_group v5.16b, v7.16b\n"                         \
  "subs x14, x14, #1\n"                          \
  "b.ne 2b\n"                                    \
  "3:\n"                                         \
  "tbz x13, #0, 4f\n"                            \
  MEGCC_MM_ROWS_##rows                           \
  "megcc_group v4.16b, v6.16b\n"                         \
  "4:\n"                                         \
  "subs x12, x12, #1\n"                          \
  "b.gt 1b\n"                                    \
  ".purgem megcc_group\n"

#define MEGCC_MM_OUT_2(p) "=w"(s##p##_0), "=w"(s##p##_1), "=w"(s##p##_2), "=w"(s##p##_3)
#define MEGCC_MM_OUT_4(p) \
  MEGCC_MM_OUT_2(p), "=w"(s##p##_4), "=w"(s##p##_5), "=w"(s##p##_6), "=w"(s##p##_7)
#define MEGCC_MM_OUT_6(p) \
  MEGCC_MM_OUT_4(p), "=w"(s##p##_8), "=w"(s##p##_9), "=w"(s##p##_10), "=w"(s##p##_11)
#define MEGCC_MM_OUTS_1(out) out(0)
#define MEGCC_MM_OUTS_4(out) out(0), out(1)

#define MEGCC_MM_ASM(rows, vectors, g_, a_, b_, bias_)                        \
  __asm__ volatile(MEGCC_MM_TEXT(rows, vectors)                               \
      : MEGCC_MM_OUTS_##rows(MEGCC_MM_OUT_##vectors)                          \
      : [g] "r"(g_), [a] "r"(a_), [b] "r"(b_), [bias] "r"(bias_)              \
      : "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13", "x14", \
        "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "cc", "memory")

// Vector j of two rows lies in two accumulators. The sums leave their registers at once: a variable
// that is bound to one holds its value at the assembly only.
#define MEGCC_MM_SUM(p, q) register int32x4_t s##p##_##q __asm__(MEGCC_MM_P(p, q));
#define MEGCC_MM_EACH_2(M, p) M(p, 0) M(p, 1) M(p, 2) M(p, 3)
#define MEGCC_MM_EACH_4(M, p) MEGCC_MM_EACH_2(M, p) M(p, 4) M(p, 5) M(p, 6) M(p, 7)
#define MEGCC_MM_EACH_6(M, p) MEGCC_MM_EACH_4(M, p) M(p, 8) M(p, 9) M(p, 10) M(p, 11)
#define MEGCC_MM_SUMS(p, vectors) MEGCC_MM_EACH_##vectors(MEGCC_MM_SUM, p)
#define MEGCC_MM_HALF(zip, a, b) \
  vreinterpretq_s32_s64(zip(vreinterpretq_s64_s32(a), vreinterpretq_s64_s32(b)))
#define MEGCC_MM_ROW(zip, r, p, j, q0, q1) \
  const int32x4_t c##r##_##j = MEGCC_MM_HALF(zip, s##p##_##q0, s##p##_##q1);
#define MEGCC_MM_ROW_2(zip, r, p) \
  MEGCC_MM_ROW(zip, r, p, 0, 0, 1) MEGCC_MM_ROW(zip, r, p, 1, 2, 3)
#define MEGCC_MM_ROW_4(zip, r, p) \
  MEGCC_MM_ROW_2(zip, r, p) MEGCC_MM_ROW(zip, r, p, 2, 4, 5) MEGCC_MM_ROW(zip, r, p, 3, 6, 7)
#define MEGCC_MM_ROW_6(zip, r, p) \
  MEGCC_MM_ROW_4(zip, r, p) MEGCC_MM_ROW(zip, r, p, 4, 8, 9) MEGCC_MM_ROW(zip, r, p, 5, 10, 11)
#define MEGCC_MM_COPIES_1(row) row(vzip1q_s64, 0, 0)
#define MEGCC_MM_COPIES_4(row) \
  row(vzip1q_s64, 0, 0) row(vzip2q_s64, 1, 0) row(vzip1q_s64, 2, 1) row(vzip2q_s64, 3, 1)
#define MEGCC_TILE_SUMS_(rows, vectors, g, a, b, bias) \
  MEGCC_MM_PAIRS_##rows(MEGCC_MM_SUMS, vectors)        \
  MEGCC_MM_ASM(rows, vectors, g, a, b, bias);          \
  MEGCC_MM_COPIES_##rows(MEGCC_MM_ROW_##vectors)
// clang-format on
#define MEGCC_TILE_SUMS(rows, vectors, g, a, b, bias) MEGCC_TILE_SUMS_(rows, vectors, g, a, b, bias)

#endif  // MEGCC_QGEMM_MM_H
