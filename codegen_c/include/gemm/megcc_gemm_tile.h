// One register tile of megcc_gemm.h: MEGCC_TILE_ROWS rows by MEGCC_TILE_VECTORS vectors. Included
// once per tile size (no include guard). Accumulators, rows and columns are named one by one,
// because GCC keeps arrays of vectors in memory.
//
// NEON (MEGCC_GEMM_LANES) reads four k of every row with one load and multiplies by lane; the other
// machines broadcast one k of a row at a time.

#define MEGCC_ROWS_1(M) M(0)
#define MEGCC_ROWS_2(M) M(0) M(1)
#define MEGCC_ROWS_4(M) M(0) M(1) M(2) M(3)
#define MEGCC_ROWS_6(M) MEGCC_ROWS_4(M) M(4) M(5)
#define MEGCC_ROWS_8(M) MEGCC_ROWS_6(M) M(6) M(7)
#define MEGCC_ROWS_12(M) MEGCC_ROWS_8(M) M(8) M(9) M(10) M(11)
#define MEGCC_COLS_1(M, r) M(r, 0)
#define MEGCC_COLS_2(M, r) M(r, 0) M(r, 1)
#define MEGCC_COLS_4(M, r) M(r, 0) M(r, 1) M(r, 2) M(r, 3)
#define MEGCC_FOR_COLS_(n) MEGCC_COLS_##n
#define MEGCC_FOR_COLS(n) MEGCC_FOR_COLS_(n)
#define MEGCC_FOR_ROWS_(n) MEGCC_ROWS_##n
#define MEGCC_FOR_ROWS(n) MEGCC_FOR_ROWS_(n)
#define MEGCC_EACH_ROW MEGCC_FOR_ROWS(MEGCC_TILE_ROWS)
#define MEGCC_LANES_1(M, l) M(0, l)
#define MEGCC_LANES_2(M, l) M(0, l) M(1, l)
#define MEGCC_LANES_4(M, l) M(0, l) M(1, l) M(2, l) M(3, l)
#define MEGCC_LANES_6(M, l) MEGCC_LANES_4(M, l) M(4, l) M(5, l)
#define MEGCC_FOR_LANES_(n) MEGCC_LANES_##n
#define MEGCC_FOR_LANES(n) MEGCC_FOR_LANES_(n)
#define MEGCC_EACH_ROW_LANE MEGCC_FOR_LANES(MEGCC_TILE_ROWS)
#define MEGCC_EACH_COL MEGCC_FOR_COLS(MEGCC_TILE_VECTORS)

// Vector j of a tile lies in panel j * VL / NR, at lane j * VL % NR.
#define MEGCC_TILE_B(j) (((j)*MEGCC_VL / NR ? b1 : b0) + (j)*MEGCC_VL % NR)

#define MEGCC_TILE_BIAS(_, j) \
  const megcc_vf bias##j = BIAS ? megcc_vf_load(at->bias + (j)*MEGCC_VL) : megcc_vf_zero();
#define MEGCC_TILE_ACC(r, j) megcc_vf c##r##_##j = bias##j;
#define MEGCC_TILE_ACCS(r) MEGCC_EACH_COL(MEGCC_TILE_ACC, r)
#define MEGCC_TILE_PTR(r) const float *p##r = a[r] + g->a_skip;
#define MEGCC_TILE_LOAD_B(_, j) const megcc_vf v##j = megcc_vf_load(MEGCC_TILE_B(j));
#define MEGCC_TILE_FMA(r, j) c##r##_##j = megcc_vf_fma(c##r##_##j, x##r, v##j);
#define MEGCC_TILE_STEP(r)                     \
  {                                            \
    const megcc_vf x##r = megcc_vf_dup(*p##r); \
    ++p##r;                                    \
    MEGCC_EACH_COL(MEGCC_TILE_FMA, r)          \
  }
#define MEGCC_TILE_STORE(r, j)                                             \
  {                                                                        \
    megcc_vf y = c##r##_##j;                                               \
    MEGCC_EPILOGUE_VF(y, megcc_vf_load(res + (j)*MEGCC_VL), act_a, act_b); \
    megcc_vf_store(dst + (j)*MEGCC_VL, y);                                 \
  }
#define MEGCC_TILE_STORES(r)          \
  MEGCC_EACH_COL(MEGCC_TILE_STORE, r) \
  dst += at->ld;                      \
  if (RESIDUAL) res += at->ld;

#if defined(MEGCC_GEMM_LANES)
#define MEGCC_TILE_LOAD_A(r)                \
  const float32x4_t x##r = vld1q_f32(p##r); \
  p##r += 4;
#if defined(__aarch64__)
// The instruction by name: GCC turns vfmaq_laneq_f32 into a broadcast that it then shares between
// columns, which costs an instruction and a register each.
#define MEGCC_TILE_FMA_LANE(r, j, lane) \
  __asm__("fmla %0.4s, %1.4s, %2.s[" #lane "]" : "+w"(c##r##_##j) : "w"(v##j), "w"(x##r));
#else
#define MEGCC_TILE_FMA_LANE(r, j, lane)         \
  c##r##_##j = vmlaq_lane_f32(c##r##_##j, v##j, \
                              (lane) < 2 ? vget_low_f32(x##r) : vget_high_f32(x##r), (lane)&1);
#endif
#define MEGCC_TILE_PAIR_0(r, lane) MEGCC_TILE_FMA_LANE(r, 0, lane) MEGCC_TILE_FMA_LANE(r, 1, lane)
#define MEGCC_TILE_PAIR_2(r, lane) MEGCC_TILE_FMA_LANE(r, 2, lane) MEGCC_TILE_FMA_LANE(r, 3, lane)
#if defined(__aarch64__)
#define MEGCC_TILE_NEXT_B (b0 += 4 * NR, b1 += 4 * NR)
// 6 x 16 leaves two registers for b: its vectors come in pairs, and the empty asm keeps the
// compiler from loading the next pair early, which would spill accumulators.
#define MEGCC_TILE_HALF(j0, j1, lane)                                 \
  {                                                                   \
    const float *b = MEGCC_TILE_B(j0) + (lane)*NR;                    \
    const float32x4_t v##j0 = vld1q_f32(b), v##j1 = vld1q_f32(b + 4); \
    MEGCC_EACH_ROW_LANE(MEGCC_TILE_PAIR_##j0, lane)                   \
  }                                                                   \
  __asm__ volatile("" ::: "memory");
#else
#define MEGCC_TILE_NEXT_B ((void)0)
// Armv7 has no load with an offset, but one that moves its pointer on.
#define MEGCC_TILE_HALF(j0, j1, lane)               \
  {                                                 \
    const float32x4_t v##j0 = vld1q_f32(b0);        \
    b0 += 4;                                        \
    const float32x4_t v##j1 = vld1q_f32(b0);        \
    b0 += NR - 4;                                   \
    MEGCC_EACH_ROW_LANE(MEGCC_TILE_PAIR_##j0, lane) \
  }                                                 \
  __asm__ volatile("" ::: "memory");
#endif
#if MEGCC_TILE_VECTORS == 4
#define MEGCC_TILE_LANE(lane) MEGCC_TILE_HALF(0, 1, lane) MEGCC_TILE_HALF(2, 3, lane)
#else
#define MEGCC_TILE_LANE(lane) MEGCC_TILE_HALF(0, 1, lane)
#endif
#endif

MEGCC_NOINLINE static void MEGCC_GEMM_TILE(MEGCC_TILE_ROWS,
                                           MEGCC_TILE_VECTORS)(const megcc_gemm_t *g,
                                                               const megcc_gemm_at_t *at) {
  const float *const *a = at->a;
  const float *b0 = at->b;
#if MEGCC_TILE_VECTORS * MEGCC_VL > NR
  const float *b1 = b0 + g->panel;
#else
  const float *b1 = b0;
#endif
  MEGCC_EACH_COL(MEGCC_TILE_BIAS, 0)
  MEGCC_EACH_ROW(MEGCC_TILE_ACCS)
  for (size_t s = g->segments; s != 0; --s) {
    size_t k = g->length;
    MEGCC_EACH_ROW(MEGCC_TILE_PTR)
#if defined(MEGCC_GEMM_ARMV7_H) && MEGCC_TILE_ROWS == 4 && MEGCC_TILE_VECTORS == 2
    if (k >= 4) {
      size_t quads = k / 4;
      MEGCC_ARMV7_TILE_4X2(quads, NR * 4);
      k %= 4;
    }
#elif defined(MEGCC_TILE_LOAD_A)
    for (; k >= 4; k -= 4) {
      MEGCC_EACH_ROW(MEGCC_TILE_LOAD_A)
      MEGCC_TILE_LANE(0)
      MEGCC_TILE_LANE(1)
      MEGCC_TILE_LANE(2)
      MEGCC_TILE_LANE(3)
      MEGCC_TILE_NEXT_B;
    }
#endif
    for (; k != 0; --k) {
      MEGCC_EACH_COL(MEGCC_TILE_LOAD_B, 0)
      MEGCC_EACH_ROW(MEGCC_TILE_STEP)
      b0 += NR, b1 += NR;
    }
    a += g->a_stride;
  }
  {
    const megcc_vf act_a = megcc_vf_dup(g->act_a), act_b = megcc_vf_dup(g->act_b);
    const float *res = at->residual;
    float *dst = at->dst;
    (void)res, (void)act_a, (void)act_b;
    MEGCC_EACH_ROW(MEGCC_TILE_STORES)
  }
}

#undef MEGCC_EACH_ROW
#undef MEGCC_EACH_ROW_LANE
#undef MEGCC_TILE_LANE
#undef MEGCC_EACH_COL
#undef MEGCC_FOR_ROWS
#undef MEGCC_FOR_ROWS_
#undef MEGCC_FOR_COLS
#undef MEGCC_FOR_COLS_
#undef MEGCC_TILE_ROWS
#undef MEGCC_TILE_VECTORS
