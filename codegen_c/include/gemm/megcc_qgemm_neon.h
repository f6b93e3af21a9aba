// The sums of a tile of megcc_qgemm.h by smull, smlal2 and sadalp, which every Arm64 has: two
// products fit into 16 bits where no weight is -128 (NARROW). Otherwise each is added by itself.
//
// The tile is 2 rows by 8 columns, one panel. Each of its 16 accumulators holds four partial sums
// of an output, so nothing is broadcast; one of them begins with the bias, and they are added up at
// the end. 16 k are 16 x 3 instructions, 2 loads of rows and 2 of panels, of four columns each.
//
//   v0-v1   16 k of each row             x2      panel           x12  runs left
//   v2-v5   16 k of four columns         x5-x6   rows            x13  groups of a run
//   v6-v13  products                     x9-x11  the table of rows, its stride, what is skipped
//   v14     0x80, for unsigned bytes     v16-v31 accumulators, eight per row
#ifndef MEGCC_QGEMM_NEON_H
#define MEGCC_QGEMM_NEON_H

#define MEGCC_QGEMM_PANEL NR  // columns
#define MEGCC_QGEMM_KR 8      // bytes of a group: half a vector
#define MEGCC_QGEMM_CHUNK 16  // a whole one, as long as there are as many
#define MEGCC_QGEMM_FLIP 1    // unsigned bytes are flipped
#ifdef MEGCC_QGEMM_ONE_ROW    // a kernel that has no others
#define MEGCC_QGEMM_ROWS 1
#else
#define MEGCC_QGEMM_ROWS 2
#endif
#define MEGCC_QGEMM_NARROW 2

#ifndef NARROW
#define NARROW 1
#endif

// clang-format off
#define MEGCC_NEON_ROWS_1(M) M(0)
#define MEGCC_NEON_ROWS_2(M) M(0) M(1)

// Products of row r by four columns. Those of a column wait for each other, so all columns take one
// step at a time.
#define MEGCC_NEON_T0 "v6", "v7", "v8", "v9"
#define MEGCC_NEON_T1 "v10", "v11", "v12", "v13"
#define MEGCC_NEON_A0 "v0"
#define MEGCC_NEON_A1 "v1"
#define MEGCC_NEON_C0_0 "v16", "v17", "v18", "v19"
#define MEGCC_NEON_C0_1 "v20", "v21", "v22", "v23"
#define MEGCC_NEON_C1_0 "v24", "v25", "v26", "v27"
#define MEGCC_NEON_C1_1 "v28", "v29", "v30", "v31"
#define MEGCC_NEON_MULTIPLY_(op, n, a, t0, t1, t2, t3)                      \
  op " " t0 ".8h," a "." n ",v2." n "\n" op " " t1 ".8h," a "." n ",v3." n "\n" \
  op " " t2 ".8h," a "." n ",v4." n "\n" op " " t3 ".8h," a "." n ",v5." n "\n"
#define MEGCC_NEON_MULTIPLY(...) MEGCC_NEON_MULTIPLY_(__VA_ARGS__)
#define MEGCC_NEON_ADD_(c0, c1, c2, c3, t0, t1, t2, t3)           \
  "sadalp " c0 ".4s," t0 ".8h\n" "sadalp " c1 ".4s," t1 ".8h\n" \
  "sadalp " c2 ".4s," t2 ".8h\n" "sadalp " c3 ".4s," t3 ".8h\n"
#define MEGCC_NEON_ADD(...) MEGCC_NEON_ADD_(__VA_ARGS__)
#define MEGCC_NEON_LOW(r) MEGCC_NEON_MULTIPLY("smull", "8b", MEGCC_NEON_A##r, MEGCC_NEON_T##r)
#if NARROW
#define MEGCC_NEON_HIGH(r) MEGCC_NEON_MULTIPLY("smlal2", "16b", MEGCC_NEON_A##r, MEGCC_NEON_T##r)
#define MEGCC_NEON_ONE_BY_ONE(M)
#else
#define MEGCC_NEON_HIGH(r) MEGCC_NEON_MULTIPLY("smull2", "16b", MEGCC_NEON_A##r, MEGCC_NEON_T##r)
#define MEGCC_NEON_ONE_BY_ONE(M) M
#endif
#define MEGCC_NEON_ADD_0(r) MEGCC_NEON_ADD(MEGCC_NEON_C##r##_0, MEGCC_NEON_T##r)
#define MEGCC_NEON_ADD_1(r) MEGCC_NEON_ADD(MEGCC_NEON_C##r##_1, MEGCC_NEON_T##r)

// Four columns from column 4 * `half` on: 16 k of each, or eight.
#define MEGCC_NEON_CHUNK(rows, half)                                              \
  "ld1 {v2.16b-v5.16b}, [x2], #64\n"                                              \
  MEGCC_NEON_ROWS_##rows(MEGCC_NEON_LOW)                                          \
  MEGCC_NEON_ONE_BY_ONE(MEGCC_NEON_ROWS_##rows(MEGCC_NEON_ADD_##half))            \
  MEGCC_NEON_ROWS_##rows(MEGCC_NEON_HIGH) MEGCC_NEON_ROWS_##rows(MEGCC_NEON_ADD_##half)
#define MEGCC_NEON_GROUP(rows, half)   \
  "ld1 {v2.8b-v5.8b}, [x2], #32\n"     \
  MEGCC_NEON_ROWS_##rows(MEGCC_NEON_LOW) MEGCC_NEON_ROWS_##rows(MEGCC_NEON_ADD_##half)

// 16 bytes of every row, signed.
#define MEGCC_NEON_LOAD_1 "ld1 {v0.16b}, [x5], #16\n"
#define MEGCC_NEON_LOAD_2 MEGCC_NEON_LOAD_1 "ld1 {v1.16b}, [x6], #16\n"
#define MEGCC_NEON_FLIP_1_i8
#define MEGCC_NEON_FLIP_2_i8
#define MEGCC_NEON_FLIP_1_u8 "eor v0.16b, v0.16b, v14.16b\n"
#define MEGCC_NEON_FLIP_2_u8 MEGCC_NEON_FLIP_1_u8 "eor v1.16b, v1.16b, v14.16b\n"
#define MEGCC_NEON_FLIP_(rows, x) MEGCC_NEON_FLIP_##rows##_##x
#define MEGCC_NEON_FLIP(rows, x) MEGCC_NEON_FLIP_(rows, x)
#define MEGCC_NEON_ROWS(rows) MEGCC_NEON_LOAD_##rows MEGCC_NEON_FLIP(rows, X)

#define MEGCC_NEON_BIAS_1                                    \
  "ldp s16, s17, [%[bias]]\n" "ldp s18, s19, [%[bias], #8]\n" \
  "ldp s20, s21, [%[bias], #16]\n" "ldp s22, s23, [%[bias], #24]\n"
#define MEGCC_NEON_BIAS_2                                    \
  MEGCC_NEON_BIAS_1                                          \
  "ldp s24, s25, [%[bias]]\n" "ldp s26, s27, [%[bias], #8]\n" \
  "ldp s28, s29, [%[bias], #16]\n" "ldp s30, s31, [%[bias], #24]\n"

// The addresses of a run of every row.
#define MEGCC_NEON_RUN_1 "ldr x5, [x9]\n" "add x5, x5, x11\n"
#define MEGCC_NEON_RUN_2 "ldp x5, x6, [x9]\n" "add x5, x5, x11\n" "add x6, x6, x11\n"

// The four sums of four accumulators.
#define MEGCC_NEON_SUM_(c0, c1, c2, c3)                                                      \
  "addp " c0 ".4s," c0 ".4s," c1 ".4s\n" "addp " c2 ".4s," c2 ".4s," c3 ".4s\n" \
  "addp " c0 ".4s," c0 ".4s," c2 ".4s\n"
#define MEGCC_NEON_SUM(...) MEGCC_NEON_SUM_(__VA_ARGS__)
#define MEGCC_NEON_SUMS(r) MEGCC_NEON_SUM(MEGCC_NEON_C##r##_0) MEGCC_NEON_SUM(MEGCC_NEON_C##r##_1)

// The whole tile. The numbers are offsets in megcc_qgemm_t.
#define MEGCC_NEON_TEXT(rows)                                   \
  "mov x9, %[a]\n"                                              \
  "mov x2, %[b]\n"                                              \
  "ldp x10, x11, [%[g], #8]\n"                                  \
  "ldp x12, x13, [%[g], #24]\n"                                 \
  "movi v14.16b, #0x80\n"                                       \
  MEGCC_NEON_BIAS_##rows                                        \
  "1:\n"                                                        \
  MEGCC_NEON_RUN_##rows                                         \
  "add x9, x9, x10, lsl #3\n"                                   \
  "lsr x14, x13, #1\n"                                          \
  "cbz x14, 3f\n"                                               \
  "2:\n"                                                        \
  MEGCC_NEON_ROWS(rows)                                         \
  MEGCC_NEON_CHUNK(rows, 0)                                     \
  MEGCC_NEON_CHUNK(rows, 1)                                     \
  "subs x14, x14, #1\n"                                         \
  "b.ne 2b\n"                                                   \
  "3:\n"                                                        \
  "tbz x13, #0, 4f\n"                                           \
  MEGCC_NEON_ROWS(rows)                                         \
  MEGCC_NEON_GROUP(rows, 0)                                     \
  MEGCC_NEON_GROUP(rows, 1)                                     \
  "4:\n"                                                        \
  "subs x12, x12, #1\n"                                         \
  "b.gt 1b\n"                                                   \
  MEGCC_NEON_ROWS_##rows(MEGCC_NEON_SUMS)

#define MEGCC_NEON_OUTS_1 "=w"(s0_0), "=w"(s0_1)
#define MEGCC_NEON_OUTS_2 MEGCC_NEON_OUTS_1, "=w"(s1_0), "=w"(s1_1)
#define MEGCC_NEON_CLOBBERS_1 "v17", "v18", "v19", "v21", "v22", "v23"
#define MEGCC_NEON_CLOBBERS_2 \
  MEGCC_NEON_CLOBBERS_1, "v25", "v26", "v27", "v29", "v30", "v31"
#define MEGCC_NEON_ASM(rows, g_, a_, b_, bias_)                               \
  __asm__ volatile(MEGCC_NEON_TEXT(rows)                                      \
      : MEGCC_NEON_OUTS_##rows                                                \
      : [g] "r"(g_), [a] "r"(a_), [b] "r"(b_), [bias] "r"(bias_)              \
      : "x2", "x5", "x6", "x9", "x10", "x11", "x12", "x13", "x14", "v0", "v1", "v2", "v3", "v4", \
        "v5", "v6", "v7", "v8", "v9", "v10", "v11", "v12", "v13", "v14",      \
        MEGCC_NEON_CLOBBERS_##rows, "cc", "memory")
// clang-format on

// The sums leave their registers at once: a variable that is bound to one holds its value at the
// assembly only.
#define MEGCC_NEON_BOUND_0                \
  register int32x4_t s0_0 __asm__("v16"); \
  register int32x4_t s0_1 __asm__("v20");
#define MEGCC_NEON_BOUND_1                \
  register int32x4_t s1_0 __asm__("v24"); \
  register int32x4_t s1_1 __asm__("v28");
#define MEGCC_NEON_BIND(r) MEGCC_NEON_BOUND_##r
#define MEGCC_NEON_COPY(r) const int32x4_t c##r##_0 = s##r##_0, c##r##_1 = s##r##_1;
#define MEGCC_TILE_SUMS_(rows, vectors, g, a, b, bias) \
  MEGCC_EACH_ROW(MEGCC_NEON_BIND)                      \
  MEGCC_NEON_ASM(rows, g, a, b, bias);                 \
  MEGCC_EACH_ROW(MEGCC_NEON_COPY)
#define MEGCC_TILE_SUMS(rows, vectors, g, a, b, bias) MEGCC_TILE_SUMS_(rows, vectors, g, a, b, bias)

#endif  // MEGCC_QGEMM_NEON_H
