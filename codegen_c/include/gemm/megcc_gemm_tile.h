// One register tile of megcc_gemm.h: MEGCC_TILE_ROWS rows by MEGCC_TILE_VECTORS vectors. Included
// once per tile size (no include guard). Accumulators, rows and columns are named one by one,
// because GCC keeps arrays of vectors in memory.
//
// NEON reads four k of every row with one load and multiplies by lane (megcc_gemm_arm64.h,
// megcc_gemm_armv7.h); the other machines broadcast one k of a row at a time. Broadcasts of f16
// cost x86 more than what is done with them, so MEGCC_TILE_CHUNK k of every row become floats
// first.

#include "gemm/megcc_tile_each.h"

// Vector j of a tile lies in panel j * VL / NR, at lane j * VL % NR.
#define MEGCC_TILE_PANEL(j) ((j)*MEGCC_VL / NR)
#define MEGCC_TILE_B(j) (b0 + MEGCC_TILE_PANEL(j) * panel + (j)*MEGCC_VL % NR)

#define MEGCC_TILE_BIAS(_, j) \
  const megcc_vf bias##j = BIAS ? megcc_vf_load(bias + (j)*MEGCC_VL) : megcc_vf_zero();
#define MEGCC_TILE_ACC(r, j) megcc_vf c##r##_##j = bias##j;
#define MEGCC_TILE_ACCS(r) MEGCC_EACH_COL(MEGCC_TILE_ACC, r)
#define MEGCC_TILE_PTR(r) const megcc_elem_t *p##r = a[r] + g->a_skip;
#define MEGCC_TILE_LOAD_B(_, j) const megcc_vf v##j = MEGCC_TILE_WIDE_B(MEGCC_TILE_B(j));
#define MEGCC_TILE_FMA(r, j) c##r##_##j = megcc_vf_fma(c##r##_##j, x##r, v##j);
#ifdef MEGCC_TILE_CHUNK
#define MEGCC_TILE_WIDEN(r)                                            \
  megcc_tile_widen(p##r, wide + (r)*MEGCC_TILE_CHUNK, (int32_t)chunk); \
  p##r += chunk;
#define MEGCC_TILE_STEP(r)                                                 \
  {                                                                        \
    const megcc_vf x##r = megcc_vf_dup(wide[(r)*MEGCC_TILE_CHUNK + at_k]); \
    MEGCC_EACH_COL(MEGCC_TILE_FMA, r)                                      \
  }
#else
#define MEGCC_TILE_STEP(r)                       \
  {                                              \
    const megcc_vf x##r = megcc_vf_spread(p##r); \
    ++p##r;                                      \
    MEGCC_EACH_COL(MEGCC_TILE_FMA, r)            \
  }
#endif
#define MEGCC_TILE_FINISH(r, j) \
  megcc_vf y##j = c##r##_##j;   \
  MEGCC_EPILOGUE_VF(y##j, megcc_vf_load(res + (j)*MEGCC_VL), act_a, act_b);
#define MEGCC_TILE_STORE(_, j) megcc_vf_store(dst + (j)*MEGCC_VL, y##j);
#ifndef MEGCC_TILE_STORE_ROW
#define MEGCC_TILE_STORE_ROW(_, vectors) \
  MEGCC_EACH_COL(MEGCC_TILE_STORE, 0)    \
  dst += ld;
#endif
#ifndef MEGCC_TILE_BEFORE  // what is made ready once for all tiles; the activation's parameters
#define MEGCC_TILE_BEFORE(rows, g, bias) \
  const megcc_vf act_a = megcc_vf_dup((g)->act_a), act_b = megcc_vf_dup((g)->act_b);
#define MEGCC_TILE_AFTER(rows)
#endif
#define MEGCC_TILE_STORES(r)                    \
  {                                             \
    MEGCC_EACH_COL(MEGCC_TILE_FINISH, r)        \
    MEGCC_TILE_STORE_ROW(r, MEGCC_TILE_VECTORS) \
    if (RESIDUAL) res += ld;                    \
  }

// `tiles` of them, one below the other; `at` moves on.
MEGCC_HOT static void MEGCC_GEMM_TILE(MEGCC_TILE_ROWS, MEGCC_TILE_VECTORS)(const megcc_gemm_t *g,
                                                                           megcc_gemm_at_t *at,
                                                                           int32_t tiles) {
  const megcc_elem_t *const *rows = at->a;
  const void *const columns = at->b;
  const MEGCC_TILE_B_T *const b = columns;
  const megcc_elem_t *const bias = at->bias, *res = at->residual;
  megcc_elem_t *dst = at->dst;
  const size_t ld = at->ld;
  MEGCC_TILE_BEFORE(MEGCC_TILE_ROWS, g, bias)
#ifdef MEGCC_TILE_PIECE
  megcc_elem_t kept[MEGCC_TILE_ROWS * MEGCC_TILE_VECTORS * MEGCC_VL];
  megcc_gemm_piece_t piece = megcc_gemm_pieces(g);
#endif
  MEGCC_ROLLED
  for (; tiles > 0; --tiles) {
#ifdef MEGCC_TILE_SUMS
    MEGCC_TILE_SUMS(MEGCC_TILE_ROWS, MEGCC_TILE_VECTORS, g, rows, b, bias)
#else
    const megcc_elem_t *const *a = rows;
    const MEGCC_TILE_B_T *b0 = b;
    const size_t panel = g->panel;
    MEGCC_EACH_COL(MEGCC_TILE_BIAS, 0)
    MEGCC_EACH_ROW(MEGCC_TILE_ACCS)
    (void)panel;
    for (size_t s = g->segments; s != 0; --s) {
      size_t k = g->length;
      MEGCC_EACH_ROW(MEGCC_TILE_PTR)
#ifdef MEGCC_TILE_CHUNK
      while (k != 0) {
        float wide[MEGCC_TILE_ROWS * MEGCC_TILE_CHUNK];
        const size_t chunk = k < MEGCC_TILE_CHUNK ? k : MEGCC_TILE_CHUNK;
        MEGCC_EACH_ROW(MEGCC_TILE_WIDEN)
        for (size_t at_k = 0; at_k < chunk; ++at_k) {
          MEGCC_EACH_COL(MEGCC_TILE_LOAD_B, 0)
          MEGCC_EACH_ROW(MEGCC_TILE_STEP)
          b0 += NR;
        }
        k -= chunk;
      }
#else
      for (; k != 0; --k) {
        MEGCC_EACH_COL(MEGCC_TILE_LOAD_B, 0)
        MEGCC_EACH_ROW(MEGCC_TILE_STEP)
        b0 += NR;
      }
#endif
      a += g->a_stride;
    }
#endif
    MEGCC_TILE_AFTER(MEGCC_TILE_ROWS)
    (void)bias, (void)act_a, (void)act_b;
    MEGCC_EACH_ROW(MEGCC_TILE_STORES)
    rows += MEGCC_TILE_ROWS;
  }
  at->a = rows;
  at->residual = res;
  at->dst = dst;
}

#undef MEGCC_TILE_ROWS
