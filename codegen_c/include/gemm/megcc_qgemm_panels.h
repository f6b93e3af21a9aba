// Blocks of megcc_qgemm_lanes.h: tiles of one panel down a block's rows.
#ifndef MEGCC_QGEMM_PANELS_H
#define MEGCC_QGEMM_PANELS_H

#include "gemm/megcc_qgemm_terms.h"

#define MEGCC_QGEMM_COLUMNS MEGCC_QGEMM_PANEL
#define MEGCC_QGEMM_VECTORS (MEGCC_QGEMM_PANEL / MEGCC_Q8_LANES)

#define MEGCC_QGEMM_TERM(g, r) (TERMS ? (g)->terms + (r) : NULL)

// One tile: rows whose addresses begin at `a`, the panel at `b`. `how` is of the panel's columns.
MEGCC_INLINE void megcc_qgemm_tile(const megcc_qgemm_t *g, const uint8_t *const *a, const int8_t *b,
                                   const int32_t *bias, const int32_t *terms,
                                   const megcc_rescale *how, MEGCC_CTYPE(Y) * dst, size_t ld,
                                   int32_t rows) {
  megcc_q8s sums[4 * MEGCC_QGEMM_VECTORS];
  megcc_q8r rescale = megcc_q8_rescale(how);
  if (rows == 4) {
    megcc_qgemm_sums(g, a, b, bias, sums, 4);
  } else {
    megcc_qgemm_sums(g, a, b, bias, sums, 1);
  }
  for (int32_t v = 0; v < MEGCC_QGEMM_VECTORS; ++v) {
    megcc_q8_channels(&rescale, how, v * MEGCC_Q8_LANES);
    for (int32_t r = 0; r < rows; ++r) {
      megcc_q8s s = sums[r * MEGCC_QGEMM_VECTORS + v];
      if (TERMS) s = megcc_q8_plus(s, terms[r]);
      megcc_q8_store(&rescale, s, dst + (size_t)r * ld + v * MEGCC_Q8_LANES);
    }
  }
}

// Tiles of one panel down `rows` rows.
MEGCC_HOT static void megcc_qgemm_panel(const megcc_qgemm_t *g, const int8_t *b,
                                        const int32_t *bias, const megcc_rescale *how,
                                        MEGCC_CTYPE(Y) * dst, int32_t rows) {
  int32_t r = 0;
  for (; r + 4 <= rows; r += 4) {
    megcc_qgemm_tile(g, g->a + r, b, bias, MEGCC_QGEMM_TERM(g, r), how, dst + (size_t)r * g->ld,
                     g->ld, 4);
  }
  for (; r < rows; ++r) {
    megcc_qgemm_tile(g, g->a + r, b, bias, MEGCC_QGEMM_TERM(g, r), how, dst + (size_t)r * g->ld,
                     g->ld, 1);
  }
}

// The last panel, of `cols` columns, row by row in a buffer: nothing past the operands is touched.
MEGCC_COLD static void megcc_qgemm_edge(const megcc_qgemm_t *g, const int8_t *b, int32_t c,
                                        int32_t cols, int32_t rows) {
  int32_t bias[MEGCC_QGEMM_PANEL] = {0};
  float scale[MEGCC_QGEMM_PANEL] = {0}, offset[MEGCC_QGEMM_PANEL] = {0};
  MEGCC_CTYPE(Y) tile[4 * MEGCC_QGEMM_PANEL];
  megcc_rescale how = g->rescale;
  for (int32_t l = 0; l < cols; ++l) {
    bias[l] = g->bias[c + l];
    if (OUT && SCALES) scale[l] = how.scale[c + l];
    if (OFFSET) offset[l] = how.offset[c + l];
  }
  if (SCALES) how.scale = scale;
  how.offset = offset;
  for (int32_t r = 0; r < rows;) {
    const int32_t n = rows - r < 4 ? 1 : 4;
    megcc_qgemm_tile(g, g->a + r, b, bias, MEGCC_QGEMM_TERM(g, r), &how, tile, MEGCC_QGEMM_PANEL,
                     n);
    for (int32_t i = 0; i < n; ++i, ++r) {
      MEGCC_CTYPE(Y) *to = g->dst + (size_t)r * g->ld + c;
      for (int32_t l = 0; l < cols; ++l) to[l] = tile[i * MEGCC_QGEMM_PANEL + l];
    }
  }
}

// The block of `rows` rows and columns [c0, c1); c0 is a multiple of MEGCC_QGEMM_UNIT. Panels
// outside, rows inside: a panel is read once per block while the block's rows stay in the cache.
MEGCC_INLINE void megcc_qgemm_block(const megcc_qgemm_t *g, int32_t rows, int32_t c0, int32_t c1) {
  for (int32_t c = c0; c < c1; c += MEGCC_QGEMM_PANEL) {
    const int8_t *b = g->b + (size_t)(c / MEGCC_QGEMM_PANEL) * g->panel;
    megcc_rescale how = g->rescale;
    if (c1 - c < MEGCC_QGEMM_PANEL) {
      megcc_qgemm_edge(g, b, c, c1 - c, rows);
      return;
    }
    if (OUT && SCALES) how.scale += c;
    if (OFFSET) how.offset += c;
    megcc_qgemm_panel(g, b, g->bias + c, &how, g->dst + c, rows);
  }
}

// Nothing to prepare: each tile makes its vectors from g->rescale.
MEGCC_INLINE void megcc_qgemm_prepare(const megcc_qgemm_t *g) { (void)g; }

#endif  // MEGCC_QGEMM_PANELS_H
