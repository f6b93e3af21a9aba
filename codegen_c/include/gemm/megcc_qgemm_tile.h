// One register tile of megcc_qgemm.h: MEGCC_TILE_ROWS rows by MEGCC_TILE_VECTORS vectors of four
// columns. Included once per tile size (no include guard). MEGCC_TILE_SUMS declares c0_0 ... with
// the sums; they are named one by one, because GCC keeps arrays of vectors in memory.

#include "gemm/megcc_tile_each.h"

#if OUT == MEGCC_QUANT_SUMS
#define MEGCC_TILE_SCALES(_, j)
#define MEGCC_TILE_SCALE(r, j)
#define MEGCC_TILE_STORE(r, j) vst1q_s32(dst + 4 * (j), d##r##_##j);
#define MEGCC_TILE_STORE_ROW(r, vectors) MEGCC_EACH_COL(MEGCC_TILE_STORE, r)
#else
#define MEGCC_TILE_SCALES(_, j)                                                           \
  const float32x4_t scale##j = SCALES ? vld1q_f32(scale + 4 * (j)) : vdupq_n_f32(*scale); \
  const float32x4_t offset##j = OFFSET ? vld1q_f32(offset + 4 * (j)) : scale##j;
#define MEGCC_TILE_SCALE(r, j) \
  const float32x4_t v##r##_##j = megcc_scaled(d##r##_##j, scale##j, offset##j);
#if OUT == MEGCC_QUANT_REAL
#define MEGCC_TILE_STORE(r, j) vst1q_f32(dst + 4 * (j), megcc_act_vf(v##r##_##j, act_a, act_b));
#define MEGCC_TILE_STORE_ROW(r, vectors) MEGCC_EACH_COL(MEGCC_TILE_STORE, r)
#else
#define MEGCC_TILE_BYTES_8(r, i, j) \
  vst1_u8(to + 4 * (i), megcc_stored_8(&n, v##r##_##i, v##r##_##j));
#define MEGCC_TILE_BYTES_2(r) MEGCC_TILE_BYTES_8(r, 0, 1)
#define MEGCC_TILE_BYTES_4(r) \
  vst1q_u8(to, megcc_stored_16(&n, v##r##_0, v##r##_1, v##r##_2, v##r##_3));
#define MEGCC_TILE_BYTES_6(r) MEGCC_TILE_BYTES_4(r) MEGCC_TILE_BYTES_8(r, 4, 5)
#define MEGCC_TILE_STORE_ROW_(r, vectors) MEGCC_TILE_BYTES_##vectors(r)
#define MEGCC_TILE_STORE_ROW(r, vectors) \
  {                                      \
    uint8_t *const to = (uint8_t *)dst;  \
    MEGCC_TILE_STORE_ROW_(r, vectors)    \
  }
#endif
#endif
#if TERMS
#define MEGCC_TILE_ADD(r, j) const int32x4_t d##r##_##j = vaddq_s32(c##r##_##j, term##r);
#define MEGCC_TILE_ADDS(r)                            \
  const int32x4_t term##r = vld1q_dup_s32(terms + r); \
  MEGCC_EACH_COL(MEGCC_TILE_ADD, r)
#else
#define MEGCC_TILE_ADD(r, j) const int32x4_t d##r##_##j = c##r##_##j;
#define MEGCC_TILE_ADDS(r) MEGCC_EACH_COL(MEGCC_TILE_ADD, r)
#endif
#define MEGCC_TILE_SCALED(r) MEGCC_EACH_COL(MEGCC_TILE_SCALE, r)
#define MEGCC_TILE_STORES(r)                  \
  MEGCC_TILE_STORE_ROW(r, MEGCC_TILE_VECTORS) \
  dst += ld;

// `tiles` of them, one below the other; `at` moves on.
MEGCC_HOT static void MEGCC_QGEMM_TILE(MEGCC_TILE_ROWS, MEGCC_TILE_VECTORS)(const megcc_qgemm_t *g,
                                                                            megcc_qgemm_at_t *at,
                                                                            int32_t tiles) {
  const uint8_t *const *rows = at->a;
  const int8_t *const b = at->b;
  const int32_t *const bias = at->bias, *terms = at->terms;
  const float *const scale = at->scale, *const offset = at->offset;
  MEGCC_CTYPE(Y) *dst = at->dst;
  const size_t ld = at->ld;
  (void)scale, (void)offset, (void)terms;
  __asm__("" : "+r"(tiles));  // gcc would unroll the loop, as it finds how few there can be
  for (; tiles > 0; --tiles, rows += MEGCC_TILE_ROWS) {
    MEGCC_TILE_SUMS(MEGCC_TILE_ROWS, MEGCC_TILE_VECTORS, g, rows, b, bias)
    MEGCC_EACH_ROW(MEGCC_TILE_ADDS)
#if OUT == MEGCC_QUANT_REAL
    const float32x4_t act_a = vdupq_n_f32(g->rescale.act_a), act_b = vdupq_n_f32(g->rescale.act_b);
    (void)act_a, (void)act_b;
#elif OUT == MEGCC_QUANT_STORED
    const megcc_narrow n = g->narrow;
#endif
    MEGCC_EACH_COL(MEGCC_TILE_SCALES, 0)
    MEGCC_EACH_ROW(MEGCC_TILE_SCALED)
    MEGCC_EACH_ROW(MEGCC_TILE_STORES)
    if (TERMS) terms += MEGCC_TILE_ROWS;
  }
  at->a = rows;
  at->terms = terms;
  at->dst = dst;
}

#undef MEGCC_TILE_ROWS
