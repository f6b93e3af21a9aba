// The body of the matmul_wq kernels whose rows become int8: every block of a row has a scale of its
// own, its products with the integers of the weights are summed exactly, and the sum is multiplied
// by both scales.
//
// A range of panels rounds the rows itself, once for MEGCC_WQ8_ROWS of them, into the workspace, so
// that ranges share nothing: of 576 by 1536 numbers that is a hundredth of the work. One row, and
// what tiles leave, multiplies packed weights. Tiles of MEGCC_WQ8_TILE rows read the weights of a
// panel as bytes, or in 16 bits, which the workspace has before the rows.
//
// A header of a machine stands before this one (megcc_wq_int8_rows.h).
#ifndef MEGCC_MATMUL_WQ_INT8_H
#define MEGCC_MATMUL_WQ_INT8_H

#include "gemm/megcc_wq_int8_rows.h"

#ifndef MEGCC_WQ8_ROWS
#define MEGCC_WQ8_ROWS 96  // at most so many are int8 at a time
#endif
#define MEGCC_WQ8_LEAST 1e-30f  // a block with less is zeros

typedef struct {
  const megcc_elem_t *lhs, *bias, *residual;
  megcc_elem_t *dst;
  megcc_vf act_a, act_b;
  int32_t n, k, block, blocks, steps;  // steps of all blocks
} megcc_wq8_t;

MEGCC_INLINE int32_t megcc_wq8_steps(int32_t k) {
  return (k + MEGCC_WQ8_STEP - 1) / MEGCC_WQ8_STEP;
}

// Where `count` rows side by side are in `p`, and the end of them.
MEGCC_INLINE megcc_wq8_rows_t megcc_wq8_rows(const megcc_wq8_t *g, const char *p, int32_t count) {
  megcc_wq8_rows_t rows;
  const ptrdiff_t numbers = (ptrdiff_t)g->blocks * count * 4;
  rows.scale = (const float *)(const void *)p;
  rows.sum = (const int32_t *)(const void *)(p + numbers);
  rows.x = (const int8_t *)(p + 2 * numbers);
  return rows;
}
MEGCC_INLINE size_t megcc_wq8_row_bytes(const megcc_wq8_t *g) {
  return (size_t)g->blocks * 8 + (size_t)g->steps * MEGCC_WQ8_STEP;
}

// The largest magnitude of n elements; a NaN is larger than all.
MEGCC_INLINE float megcc_wq8_largest(const megcc_elem_t *a, int32_t n) {
  megcc_vf most = megcc_vf_dup(0.0f), other = most;
  for (; n >= 4 * MEGCC_VL; n -= 4 * MEGCC_VL, a += 4 * MEGCC_VL) {
    most = megcc_vf_nanmax(most, megcc_vf_abs(megcc_vf_load(a)));
    other = megcc_vf_nanmax(other, megcc_vf_abs(megcc_vf_load(a + MEGCC_VL)));
    most = megcc_vf_nanmax(most, megcc_vf_abs(megcc_vf_load(a + 2 * MEGCC_VL)));
    other = megcc_vf_nanmax(other, megcc_vf_abs(megcc_vf_load(a + 3 * MEGCC_VL)));
  }
  most = megcc_vf_nanmax(most, other);
  for (; n >= MEGCC_VL; n -= MEGCC_VL, a += MEGCC_VL) {
    most = megcc_vf_nanmax(most, megcc_vf_abs(megcc_vf_load(a)));
  }
  if (n > 0) most = megcc_vf_nanmax(most, megcc_vf_abs(megcc_vf_load_n(a, n)));
  return megcc_vf_hmax(most);
}

// A row as int8, number `r` of `count` side by side at `p`. A block that has numbers that are not
// finite is NaN.
MEGCC_INLINE void megcc_wq8_row(const megcc_wq8_t *g, const megcc_elem_t *a, char *p, int32_t r,
                                int32_t count) {
  megcc_elem_t some[MEGCC_WQ8_STEP] = {0};
  const int32_t unit = count == 1 ? MEGCC_WQ8_STEP : MEGCC_WQ8_UNIT;
  const int32_t next = MEGCC_WQ8_STEP * count, half = 8 * (unit == 8 ? count : 1);
  const ptrdiff_t numbers = (ptrdiff_t)g->blocks * count * 4;
  float *scale = (float *)(void *)p + r;
  int32_t *sums = (int32_t *)(void *)(p + numbers) + r;
  int8_t *x = (int8_t *)p + 2 * numbers + (ptrdiff_t)r * unit;
  for (int32_t left = g->k; left > 0; left -= g->block, scale += count, sums += count) {
    const int32_t length = left < g->block ? left : g->block;
    const float most = megcc_wq8_largest(a, length);
    const int finite = most <= 3.4028234e38f;
    const megcc_vf inverse = megcc_vf_dup(finite && most >= MEGCC_WQ8_LEAST ? 127.0f / most : 0.0f);
    int32_t sum = 0;
    int32_t i = 0;
    for (; length - i >= MEGCC_WQ8_STEP; i += MEGCC_WQ8_STEP, x += next) {
      sum += megcc_wq8_sixteen(x, half, finite ? a + i : some, inverse);
    }
    if (i < length) {
      for (int32_t j = 0; finite && j < length - i; ++j) some[j] = a[i + j];
      sum += megcc_wq8_sixteen(x, half, some, inverse);
      x += next;
    }
    *scale = finite ? most / 127.0f : (most - most) / 127.0f;
    if (MEGCC_WQ8_OFFSET) *sums = sum;
    a += length;
  }
}

// Rows that are there, as int8; others of `count` are zeros.
MEGCC_HOT static void megcc_wq8_rounded(const megcc_wq8_t *g, const megcc_elem_t *a, char *p,
                                        int32_t rows, int32_t count) {
  if (rows < count) {
    const size_t bytes = megcc_wq8_row_bytes(g) * (size_t)count;
    for (size_t i = 0; i < bytes; ++i) p[i] = 0;
  }
  for (int32_t r = 0; r < rows; ++r) megcc_wq8_row(g, a + (ptrdiff_t)r * g->k, p, r, count);
}

// Adds bias and residual to 16 columns of a row, from `column` on, and stores those that there are.
MEGCC_INLINE void megcc_wq8_store(const megcc_wq8_t *g, megcc_w16 sums, int32_t row,
                                  int32_t column) {
  const ptrdiff_t at = (ptrdiff_t)row * g->n + column;
  const megcc_elem_t *bias = BIAS ? g->bias + column : NULL;
  const megcc_elem_t *residual = RESIDUAL ? g->residual + at : NULL;
  megcc_elem_t *dst = g->dst + at;
  (void)bias, (void)residual;
  if (g->n - column >= MEGCC_WQ_COLS) {
#define MEGCC_WQ8_STORE(i)                                                                  \
  if (BIAS) sums.v##i = megcc_vf_add(sums.v##i, megcc_vf_load(bias + (i)*MEGCC_VL));        \
  MEGCC_EPILOGUE_VF(sums.v##i, megcc_vf_load(residual + (i)*MEGCC_VL), g->act_a, g->act_b); \
  megcc_vf_store(dst + (i)*MEGCC_VL, sums.v##i);
    MEGCC_W16_EACH(MEGCC_WQ8_STORE)
  } else {
    float lanes[MEGCC_WQ_COLS];
    megcc_w16_store(lanes, sums);
    for (int32_t j = 0, n = g->n - column; j < n; j += MEGCC_VL) {
      const int32_t some = n - j < MEGCC_VL ? n - j : MEGCC_VL;
      megcc_vf y = megcc_vf_of(lanes + j, MEGCC_VL);
      if (BIAS) y = megcc_vf_add(y, megcc_vf_load_n(bias + j, some));
      MEGCC_EPILOGUE_VF(y, megcc_vf_load_n(residual + j, some), g->act_a, g->act_b);
      megcc_vf_store_n(dst + j, y, some);
    }
  }
}

#ifndef MEGCC_WQ8_PANEL
// A row by a panel whose weights are as they are packed, so many steps; blocks have `length`.
MEGCC_INLINE megcc_w16 megcc_wq8_panel(megcc_wq_at_t at, megcc_wq8_rows_t row, int32_t length,
                                       int32_t left) {
  megcc_w16 total = megcc_w16_dup(0.0f);
  for (; left > 0; left -= length) {
    const int32_t steps = STEPS || length <= left ? length : left;
    const megcc_wq8_sums start = megcc_wq8_start(at.zero, *row.sum);
    const megcc_wq8_sums sums = megcc_wq8_dot(start, &at.weights, &row.x, steps);
    total = megcc_w16_fma(total, megcc_vf_dup(*row.scale),
                          megcc_w16_mul(megcc_wq8_floats(sums), megcc_wq_scale(&at)));
    ++row.scale;
    ++row.sum;
    megcc_wq_next(&at);
  }
  return total;
}
#endif

#if MEGCC_WQ8_TILE
#define MEGCC_WQ8_SCALES (MEGCC_WQ8_MM ? 64 : 32)    // bytes of eight of them
#define MEGCC_WQ8_HALF_STEP (128 << MEGCC_WQ8_WIDE)  // bytes of 16 k of eight columns

#ifndef MEGCC_WQ8_TILE_OFFSET
#define MEGCC_WQ8_TILE_OFFSET MEGCC_WQ8_OFFSET
#if MEGCC_WQ8_OFFSET
// What sums begin with, for a 1 of the row's sum, of eight columns at p and of the others at q.
MEGCC_INLINE void megcc_wq8_put_zero(const int8_t *zero, int8_t *p, int8_t *q) {
  megcc_wq8_put(megcc_wq8_bits(megcc_wq8_start(zero, 1)), p, q);
}
#endif
#endif

// A panel as tiles read it: of each half, and of each of its blocks, zero points, bytes and scales.
MEGCC_HOT static void megcc_wq8_prepared(const megcc_wq8_t *g, megcc_wq_at_t at, int8_t *p,
                                         size_t half) {
  const int32_t length = megcc_wq8_steps(g->block);
  for (int32_t left = g->steps; left > 0; left -= length) {
#if MEGCC_WQ8_TILE_OFFSET
    megcc_wq8_put_zero(at.zero, p, p + half);
    p += MEGCC_WQ8_SCALES;
#endif
    const int32_t steps = STEPS ? STEPS : length < left ? length : left;
    for (int32_t s = 0; s < steps; ++s, p += MEGCC_WQ8_HALF_STEP, at.weights += 32 * BITS) {
      megcc_wq8_unpack(at.weights, p);
      megcc_wq8_unpack(at.weights + 16 * BITS, p + half);
    }
    megcc_wq8_put(megcc_wq_scale(&at), p, p + half);
    p += MEGCC_WQ8_SCALES;
    megcc_wq_next(&at);
  }
}
#endif

// `rows` rows by the panels [begin, end).
MEGCC_INLINE void megcc_wq8_panels(const megcc_wq8_t *g, void *const *ptr, const int32_t *attr,
                                   char *workspace, int32_t rows, int32_t begin, int32_t end) {
  const size_t bytes = (size_t)g->steps * (32 * BITS), each = megcc_wq8_row_bytes(g);
  int32_t tiles = 0;  // rows of them
#if MEGCC_WQ8_TILE
  const size_t half = (size_t)g->steps * MEGCC_WQ8_HALF_STEP +
                      (size_t)g->blocks * (MEGCC_WQ8_SCALES << MEGCC_WQ8_TILE_OFFSET);
  int8_t *panel = (int8_t *)workspace;
  tiles = (rows + 1) / MEGCC_WQ8_TILE * MEGCC_WQ8_TILE;  // three rows are a tile, too
  if (tiles) workspace += 2 * half;
  for (int32_t r = 0; r < tiles; r += MEGCC_WQ8_TILE) {
    megcc_wq8_rounded(g, g->lhs + (ptrdiff_t)r * g->k, workspace + (size_t)r * each,
                      rows - r < MEGCC_WQ8_TILE ? rows - r : MEGCC_WQ8_TILE, MEGCC_WQ8_TILE);
  }
#endif
  for (int32_t r = tiles; r < rows; ++r) {
    megcc_wq8_rounded(g, g->lhs + (ptrdiff_t)r * g->k, workspace + (size_t)r * each, 1, 1);
  }
  for (int32_t unit = begin; unit < end; ++unit) {
    const megcc_wq_at_t at = megcc_wq_panel(ptr, attr, unit, bytes);
#if MEGCC_WQ8_TILE
    if (tiles) megcc_wq8_prepared(g, at, panel, half);
    for (int32_t r = 0; r < tiles; r += MEGCC_WQ8_TILE) {
      const char *p = workspace + (size_t)r * each;
      const megcc_wq8_rows_t four = megcc_wq8_rows(g, p, MEGCC_WQ8_TILE);
      const int32_t length = megcc_wq8_steps(g->block);
      float sums[MEGCC_WQ8_TILE * MEGCC_WQ_COLS];
      megcc_wq8_tile(panel, &four, length, g->steps, sums);
      megcc_wq8_tile(panel + half, &four, length, g->steps, sums + 8);
      for (int32_t i = 0; i < MEGCC_WQ8_TILE && r + i < rows; ++i) {
        megcc_wq8_store(g, megcc_w16_load(sums + MEGCC_WQ_COLS * i), r + i, unit * MEGCC_WQ_COLS);
      }
    }
#endif
    for (int32_t r = tiles; r < rows; ++r) {
      const megcc_wq8_rows_t row = megcc_wq8_rows(g, workspace + (size_t)r * each, 1);
      const int32_t length = STEPS ? STEPS : megcc_wq8_steps(g->block);
      megcc_wq8_store(g, megcc_wq8_panel(at, row, length, g->steps), r, unit * MEGCC_WQ_COLS);
    }
  }
}

MEGCC_INLINE void megcc_matmul_wq_int8(void *const *ptr, const int32_t *attr, void *workspace,
                                       int32_t begin, int32_t end) {
  const int32_t m = attr[MATMUL_WQ_M];
  megcc_wq8_t g;
  g.n = attr[MATMUL_WQ_N];
  g.k = attr[MATMUL_WQ_K];
  g.block = attr[MATMUL_WQ_BLOCK];
  g.blocks = (g.k + g.block - 1) / g.block;
  g.steps = megcc_wq8_steps(g.k);
  g.lhs = ptr[0];
  g.bias = BIAS ? ptr[3 + ZERO] : NULL;
  g.residual = MEGCC_RESIDUAL(ptr, 3 + ZERO + BIAS);
  g.dst = MEGCC_OUTPUT(ptr, 3 + ZERO + BIAS);
  g.act_a = megcc_vf_dup(megcc_attr_f32(attr[MATMUL_WQ_ACT_A]));
  g.act_b = megcc_vf_dup(megcc_attr_f32(attr[MATMUL_WQ_ACT_B]));
  for (int32_t first = 0; first < m; first += MEGCC_WQ8_ROWS) {
    const int32_t rows = m - first < MEGCC_WQ8_ROWS ? m - first : MEGCC_WQ8_ROWS;
    const ptrdiff_t next = (ptrdiff_t)rows * g.n;
    megcc_wq8_panels(&g, ptr, attr, workspace, rows, begin, end);
    g.lhs += (ptrdiff_t)rows * g.k;
    g.dst += next;
    if (RESIDUAL) g.residual += next;
  }
}

#endif  // MEGCC_MATMUL_WQ_INT8_H
