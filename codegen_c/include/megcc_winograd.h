// Winograd's convolution: a 3 x 3 kernel at stride 1 by (M + 2)^2 products for M x M outputs, in
// place of 9 M^2 (Lavin and Gray, "Fast Algorithms for Convolutional Neural Networks", 2015).
//
// Outputs are covered by tiles of M x M. Where a row or column of tiles does not end with the
// image, its last tile is of the next shorter even size, which uses the first of the same weights
// (megcc_winograd_lines.h). Per block of tiles:
//   in        each tile's (M + 2)^2 inputs, by vectors of channels, become one row of each of the
//             (M + 2)^2 matrices [tiles][ic]
//   products  each matrix by its weights (megcc_gemm.h), COLS output channels at a time
//   out       the products of a tile become its outputs, with bias, residual and activation
// A unit of work is a block of tiles by COLS channels of a group. The inputs of a block are
// transformed once for all units of it in a range.
//
// Workspace: a pointer for each tile of a block, its transformed inputs, and its products for COLS
// channels.
//
// The including kernel defines MEGCC_WINOGRAD_M (2, 4 or 6), MEGCC_WINOGRAD_TILES (tiles of a
// block), MEGCC_WINOGRAD_COLS (channels of a unit: whole panels), NR, ACT and RESIDUAL. With
// MEGCC_GEMM_F16 tensors and weights are stored in f16, and all that is computed is float.
#ifndef MEGCC_WINOGRAD_H
#define MEGCC_WINOGRAD_H

#define MEGCC_PLAIN_BIAS 0
#include "gemm/megcc_gemm_plain.h"
#include "op/conv2d.h"
#include "megcc_winograd_lines.h"

// A tensor's elements in memory, and vectors of them.
#ifdef MEGCC_GEMM_F16
#include "simd/megcc_vh.h"
typedef uint16_t megcc_winograd_stored_t;
#define MEGCC_WINOGRAD_STORED(name) megcc_vh_##name
#else
typedef megcc_elem_t megcc_winograd_stored_t;
#define MEGCC_WINOGRAD_STORED(name) megcc_vf_##name
#endif

#if MEGCC_WINOGRAD_COLS % NR
#error "MEGCC_WINOGRAD_COLS has to be a multiple of NR: a unit of work is whole panels"
#endif

#define MEGCC_WINOGRAD_P (MEGCC_WINOGRAD_M + 2)
#define MEGCC_WINOGRAD_LINE (MEGCC_WINOGRAD_P * MEGCC_VL)  // floats of a row of a patch

// The grid of a call's tiles.
typedef struct {
  const int32_t *attr;
  int32_t down, across;          // tiles of an image
  int32_t last_rows, last_cols;  // outputs of the last one
} megcc_winograd_t;

// A tile: its first output, how many it computes and how many of them there are.
typedef struct {
  int32_t image, y, x;
  int32_t rows, cols, rows_there, cols_there;
} megcc_winograd_tile_t;

// A block's tiles stand in the order of their sizes, so that those which use a point stand
// together: full rows and cut columns, full, cut rows and full columns, both cut.
typedef struct {
  int32_t first, count;
  int32_t begins[5];
  int32_t slots[MEGCC_WINOGRAD_TILES];  // of the tiles, from the first on
} megcc_winograd_block_t;

MEGCC_INLINE int32_t megcc_winograd_last(int32_t outputs, int32_t tiles) {
  const int32_t rest = outputs - (tiles - 1) * MEGCC_WINOGRAD_M;
  return rest == 5 ? 6 : rest;  // there is no form for five
}

MEGCC_COLD static megcc_winograd_tile_t megcc_winograd_tile(const megcc_winograd_t *w,
                                                            int32_t number) {
  megcc_winograd_tile_t t;
  const int32_t x = number % w->across, y = number / w->across % w->down;
  t.image = number / w->across / w->down;
  t.y = y * MEGCC_WINOGRAD_M;
  t.x = x * MEGCC_WINOGRAD_M;
  t.rows = y == w->down - 1 ? w->last_rows : MEGCC_WINOGRAD_M;
  t.cols = x == w->across - 1 ? w->last_cols : MEGCC_WINOGRAD_M;
  t.rows_there = w->attr[CONV2D_OH] - t.y < t.rows ? w->attr[CONV2D_OH] - t.y : t.rows;
  t.cols_there = w->attr[CONV2D_OW] - t.x < t.cols ? w->attr[CONV2D_OW] - t.x : t.cols;
  return t;
}

MEGCC_COLD static void megcc_winograd_sort(const megcc_winograd_t *w,
                                           megcc_winograd_block_t *block) {
  int32_t next[4] = {0, 0, 0, 0};
  for (int pass = 0; pass < 2; ++pass) {
    for (int32_t k = 0; k < block->count; ++k) {
      const megcc_winograd_tile_t t = megcc_winograd_tile(w, block->first + k);
      const int cut_rows = t.rows < MEGCC_WINOGRAD_M, cut_cols = t.cols < MEGCC_WINOGRAD_M;
      int32_t *at = next + (cut_rows ? 2 + cut_cols : 1 - cut_cols);
      if (pass) block->slots[k] = *at;
      ++*at;
    }
    if (pass) break;
    block->begins[0] = 0;
    for (int s = 0; s < 4; ++s) {
      block->begins[s + 1] = block->begins[s] + next[s];
      next[s] = block->begins[s];
    }
  }
}

// Unrolled, these loops would be no faster, but as large again.
#if defined(__clang__)
#define MEGCC_WINOGRAD_ROLLED _Pragma("clang loop unroll(disable)")
#elif defined(__GNUC__)
#define MEGCC_WINOGRAD_ROLLED _Pragma("GCC unroll 1")
#else
#define MEGCC_WINOGRAD_ROLLED
#endif

// `count` lines of the transform for `outputs` outputs: elements `step` apart, lines `next` apart.
MEGCC_INLINE void megcc_winograd_lines_of(int outputs, int is_out, int32_t count,
                                          const megcc_elem_t *src, ptrdiff_t step, ptrdiff_t next,
                                          megcc_elem_t *dst, ptrdiff_t to_step, ptrdiff_t to_next) {
  MEGCC_WINOGRAD_ROLLED
  for (; count > 0; --count, src += next, dst += to_next) {
    const megcc_line_t d = megcc_line_load(src, step, outputs + 2);
    if (is_out) {
      megcc_line_store(dst, to_step, outputs, megcc_winograd_out(outputs, d));
    } else {
      megcc_line_store(dst, to_step, outputs + 2, megcc_winograd_in(outputs, d));
    }
  }
}

// The same for a number of outputs that is known at run time only.
MEGCC_INLINE void megcc_winograd_lines(int32_t outputs, int is_out, int32_t count,
                                       const megcc_elem_t *src, ptrdiff_t step, ptrdiff_t next,
                                       megcc_elem_t *dst, ptrdiff_t to_step, ptrdiff_t to_next) {
#define MEGCC_WINOGRAD_LINES(n) \
  megcc_winograd_lines_of(n, is_out, count, src, step, next, dst, to_step, to_next)
  switch (outputs) {
    case 1: MEGCC_WINOGRAD_LINES(1); break;
    case 2: MEGCC_WINOGRAD_LINES(2); break;
#if MEGCC_WINOGRAD_M >= 4
    case 3: MEGCC_WINOGRAD_LINES(3); break;
    case 4: MEGCC_WINOGRAD_LINES(4); break;
#endif
#if MEGCC_WINOGRAD_M >= 6
    default: MEGCC_WINOGRAD_LINES(6); break;
#endif
  }
#undef MEGCC_WINOGRAD_LINES
}

MEGCC_HOT static void megcc_winograd_lines_in(int32_t outputs, int32_t count,
                                              const megcc_elem_t *src, ptrdiff_t step,
                                              ptrdiff_t next, megcc_elem_t *dst, ptrdiff_t to_step,
                                              ptrdiff_t to_next) {
  megcc_winograd_lines(outputs, 0, count, src, step, next, dst, to_step, to_next);
}

MEGCC_HOT static void megcc_winograd_lines_out(int32_t outputs, int32_t count,
                                               const megcc_elem_t *src, ptrdiff_t step,
                                               ptrdiff_t next, megcc_elem_t *dst) {
  const ptrdiff_t to_step = step == MEGCC_VL ? MEGCC_VL : MEGCC_WINOGRAD_LINE;
  const ptrdiff_t to_next = step == MEGCC_VL ? MEGCC_WINOGRAD_LINE : MEGCC_VL;
  megcc_winograd_lines(outputs, 1, count, src, step, next, dst, to_step, to_next);
}

// Inputs of a tile: pixels `step` floats apart, rows `next`, as a row of each matrix.
typedef struct {
  const megcc_elem_t *src;
  ptrdiff_t step, next;
  megcc_elem_t *v;
  ptrdiff_t matrix;  // floats from one matrix to the next
} megcc_winograd_in_t;

// A function of its own, so that the multiples of strides stay in registers.
MEGCC_HOT static void megcc_winograd_full_in(const megcc_winograd_in_t *in, int32_t floats) {
  const ptrdiff_t step = in->step, next = in->next, matrix = in->matrix;
  const megcc_elem_t *src = in->src;
  megcc_elem_t *v = in->v;
  megcc_elem_t lines[MEGCC_WINOGRAD_P * MEGCC_WINOGRAD_LINE];
  for (int32_t c = 0; c < floats; c += MEGCC_VL) {
    megcc_winograd_lines_of(MEGCC_WINOGRAD_M, 0, MEGCC_WINOGRAD_P, src + c, step, next, lines,
                            MEGCC_VL, MEGCC_WINOGRAD_LINE);
    megcc_winograd_lines_of(MEGCC_WINOGRAD_M, 0, MEGCC_WINOGRAD_P, lines, MEGCC_WINOGRAD_LINE,
                            MEGCC_VL, v + c, MEGCC_WINOGRAD_P * matrix, matrix);
  }
}

MEGCC_COLD static void megcc_winograd_cut_in(const megcc_winograd_tile_t *t,
                                             const megcc_winograd_in_t *in, int32_t floats) {
  megcc_elem_t lines[MEGCC_WINOGRAD_P * MEGCC_WINOGRAD_LINE];
  for (int32_t c = 0; c < floats; c += MEGCC_VL) {
    megcc_winograd_lines_in(t->cols, t->rows + 2, in->src + c, in->step, in->next, lines, MEGCC_VL,
                            MEGCC_WINOGRAD_LINE);
    megcc_winograd_lines_in(t->rows, t->cols + 2, lines, MEGCC_WINOGRAD_LINE, MEGCC_VL, in->v + c,
                            MEGCC_WINOGRAD_P * in->matrix, in->matrix);
  }
}

// Rows of `count` pixels of `lanes` channels into a patch.
MEGCC_INLINE void megcc_winograd_copy(const megcc_winograd_stored_t *src, ptrdiff_t step,
                                      ptrdiff_t next, int32_t rows, int32_t count, int32_t lanes,
                                      megcc_elem_t *patch) {
  for (; rows > 0; --rows, src += next, patch += MEGCC_WINOGRAD_LINE) {
    const megcc_winograd_stored_t *from = src;
    for (int32_t j = 0; j < count; ++j, from += step) {
      megcc_vf_store(patch + j * MEGCC_VL, MEGCC_WINOGRAD_STORED(load_n)(from, lanes));
    }
  }
}

// One row of each matrix: `v` is that of the first. A tile that the image does not cover, the
// channels after the last whole vector, and what is stored in f16 go through a patch of one vector
// of channels, which is zero where there are none.
MEGCC_COLD static void megcc_winograd_tile_in(const megcc_winograd_t *w,
                                              const megcc_winograd_tile_t *t,
                                              const megcc_winograd_stored_t *x, megcc_elem_t *v,
                                              ptrdiff_t matrix) {
  const int32_t *attr = w->attr;
  const int32_t ic = attr[CONV2D_IC], whole = ic / MEGCC_VL * MEGCC_VL;
  const int32_t top = t->y - attr[CONV2D_PT], left = t->x - attr[CONV2D_PL];
  const int32_t down = attr[CONV2D_H] - top, across = attr[CONV2D_W] - left;
  const int32_t i0 = top < 0 ? -top : 0, j0 = left < 0 ? -left : 0;
  const int32_t i1 = down < t->rows + 2 ? down : t->rows + 2;
  const int32_t j1 = across < t->cols + 2 ? across : t->cols + 2;
  const int full = t->rows == MEGCC_WINOGRAD_M && t->cols == MEGCC_WINOGRAD_M;
#ifndef MEGCC_GEMM_F16
  const int inside = i0 == 0 && j0 == 0 && i1 == t->rows + 2 && j1 == t->cols + 2;
#endif
  const ptrdiff_t step = ic, next = (ptrdiff_t)attr[CONV2D_W] * ic;
  const ptrdiff_t at = i0 * MEGCC_WINOGRAD_LINE + j0 * MEGCC_VL;
  megcc_elem_t patch[MEGCC_WINOGRAD_P * MEGCC_WINOGRAD_LINE];
  megcc_winograd_in_t in;
  int32_t c = 0;
  x += ((ptrdiff_t)t->image * attr[CONV2D_H] + top + i0) * next + (left + j0) * step;
  in.v = v;
  in.matrix = matrix;
#ifndef MEGCC_GEMM_F16
  if (inside) {
    in.src = x;
    in.step = step;
    in.next = next;
    if (full) megcc_winograd_full_in(&in, whole);
    if (!full) megcc_winograd_cut_in(t, &in, whole);
    if (whole == ic) return;
    c = whole;
  }
#endif
  in.src = patch;
  in.step = MEGCC_VL;
  in.next = MEGCC_WINOGRAD_LINE;
  for (int k = 0; k < MEGCC_WINOGRAD_P * MEGCC_WINOGRAD_P; ++k) {
    megcc_vf_store(patch + k * MEGCC_VL, megcc_vf_zero());
  }
  for (; c < ic; c += MEGCC_VL) {
    in.v = v + c;
    if (i0 >= i1 || j0 >= j1) {  // all of it is padding
    } else if (c < whole) {
      megcc_winograd_copy(x + c, step, next, i1 - i0, j1 - j0, MEGCC_VL, patch + at);
    } else {
      megcc_winograd_copy(x + c, step, next, i1 - i0, j1 - j0, ic - c, patch + at);
    }
    if (full) megcc_winograd_full_in(&in, MEGCC_VL);
    if (!full) megcc_winograd_cut_in(t, &in, MEGCC_VL);
  }
}

// A tile's row of each matrix of products, and the place of its results.
typedef struct {
  megcc_elem_t *m;
  ptrdiff_t matrix;
  const megcc_winograd_stored_t *bias, *residual;
  megcc_winograd_stored_t *y;
  ptrdiff_t row, pixel;  // floats from row to row and from pixel to pixel
  float act_a, act_b;
} megcc_winograd_out_t;

#define MEGCC_WINOGRAD_STORE(j)                                                              \
  if ((j) < MEGCC_WINOGRAD_M) {                                                              \
    megcc_vf sum = line.v##j;                                                                \
    MEGCC_EPILOGUE_VF(sum, MEGCC_WINOGRAD_STORED(load)(residual + (j)*pixel), act_a, act_b); \
    MEGCC_WINOGRAD_STORED(store)(y + (j)*pixel, sum);                                        \
  }

// A bias that is added to the product at the points (1, 1) comes out of the transforms at every
// output.
MEGCC_INLINE void megcc_winograd_add_bias(const megcc_winograd_out_t *out, int32_t c, megcc_vf b) {
  megcc_elem_t *one = out->m + (MEGCC_WINOGRAD_P + 1) * out->matrix + c;
  megcc_vf_store(one, megcc_vf_add(megcc_vf_load(one), b));
}

// A full tile of the image, whole vectors of channels.
MEGCC_HOT static void megcc_winograd_full_out(const megcc_winograd_out_t *out, int32_t floats) {
  const megcc_vf act_a = megcc_vf_dup(out->act_a), act_b = megcc_vf_dup(out->act_b);
  const ptrdiff_t matrix = out->matrix, row = out->row, pixel = out->pixel;
  megcc_elem_t lines[MEGCC_WINOGRAD_P * MEGCC_WINOGRAD_LINE];
  (void)act_a, (void)act_b;
  for (int32_t c = 0; c < floats; c += MEGCC_VL) {
    const megcc_winograd_stored_t *residual = RESIDUAL ? out->residual + c : NULL;
    const megcc_elem_t *src = lines;
    megcc_winograd_stored_t *y = out->y + c;
    (void)residual;
    megcc_winograd_add_bias(out, c, MEGCC_WINOGRAD_STORED(load)(out->bias + c));
    megcc_winograd_lines_of(MEGCC_WINOGRAD_M, 1, MEGCC_WINOGRAD_P, out->m + c,
                            MEGCC_WINOGRAD_P * matrix, matrix, lines, MEGCC_WINOGRAD_LINE,
                            MEGCC_VL);
    MEGCC_WINOGRAD_ROLLED
    for (int32_t i = 0; i < MEGCC_WINOGRAD_M; ++i) {
      const megcc_line_t line =
          megcc_winograd_out(MEGCC_WINOGRAD_M, megcc_line_load(src, MEGCC_VL, MEGCC_WINOGRAD_P));
      MEGCC_WINOGRAD_STORE(0)
      MEGCC_WINOGRAD_STORE(1)
      MEGCC_WINOGRAD_STORE(2)
      MEGCC_WINOGRAD_STORE(3)
      MEGCC_WINOGRAD_STORE(4)
      MEGCC_WINOGRAD_STORE(5)
      src += MEGCC_WINOGRAD_LINE;
      y += row;
      if (RESIDUAL) residual += row;
    }
  }
}

// The outputs that there are of any tile, channels [c, cols).
MEGCC_HOT static void megcc_winograd_cut_out(const megcc_winograd_tile_t *t,
                                             const megcc_winograd_out_t *out, int32_t c,
                                             int32_t cols) {
  const megcc_vf act_a = megcc_vf_dup(out->act_a), act_b = megcc_vf_dup(out->act_b);
  megcc_elem_t lines[MEGCC_WINOGRAD_P * MEGCC_WINOGRAD_LINE],
      rows[MEGCC_WINOGRAD_M * MEGCC_WINOGRAD_LINE];
  (void)act_a, (void)act_b;
  for (; c < cols; c += MEGCC_VL) {
    const int32_t lanes = cols - c < MEGCC_VL ? cols - c : MEGCC_VL;
    megcc_winograd_add_bias(out, c, MEGCC_WINOGRAD_STORED(load_n)(out->bias + c, lanes));
    megcc_winograd_lines_out(t->rows, t->cols + 2, out->m + c, MEGCC_WINOGRAD_P * out->matrix,
                             out->matrix, lines);
    megcc_winograd_lines_out(t->cols, t->rows_there, lines, MEGCC_VL, MEGCC_WINOGRAD_LINE, rows);
    for (int32_t i = 0; i < t->rows_there; ++i) {
      const megcc_elem_t *row = rows + i * MEGCC_WINOGRAD_LINE;
      megcc_winograd_stored_t *y = out->y + i * out->row + c;
      const megcc_winograd_stored_t *residual = RESIDUAL ? out->residual + i * out->row + c : NULL;
      (void)residual;
      for (int32_t j = 0; j < t->cols_there; ++j, y += out->pixel) {
        megcc_vf sum = megcc_vf_load(row + j * MEGCC_VL);
        MEGCC_EPILOGUE_VF(sum, MEGCC_WINOGRAD_STORED(load_n)(residual + j * out->pixel, lanes),
                          act_a, act_b);
        MEGCC_WINOGRAD_STORED(store_n)(y, sum, lanes);
      }
    }
  }
}

MEGCC_COLD static void megcc_winograd_tile_out(const megcc_winograd_tile_t *t,
                                               const megcc_winograd_out_t *out, int32_t cols) {
  int32_t c = 0;
  if (t->rows_there == MEGCC_WINOGRAD_M && t->cols_there == MEGCC_WINOGRAD_M) {
    c = cols / MEGCC_VL * MEGCC_VL;
    megcc_winograd_full_out(out, c);
  }
  megcc_winograd_cut_out(t, out, c, cols);
}

// The products of a block for `cols` channels whose panels begin at g->b.
MEGCC_COLD static void megcc_winograd_products(const megcc_winograd_t *w,
                                               const megcc_winograd_block_t *block, megcc_gemm_t *g,
                                               int32_t cols, size_t v_matrix, size_t weights,
                                               megcc_elem_t *m, size_t m_matrix) {
  const megcc_elem_t *const *rows = g->a;
  const size_t skip = g->a_skip;
  const megcc_gemm_b_t *b = g->b;
  for (int32_t i = 0, k = 0; i < MEGCC_WINOGRAD_P; ++i) {
    for (int32_t j = 0; j < MEGCC_WINOGRAD_P; ++j, ++k) {
      const int no_cut_rows = i >= w->last_rows + 2, no_cut_cols = j >= w->last_cols + 2;
      const int32_t lo = block->begins[no_cut_cols ? 1 : 0];
      const int32_t hi = block->begins[no_cut_rows ? 2 : no_cut_cols ? 3 : 4];
      if (lo == hi) continue;
      g->a = rows + lo;
      g->a_skip = skip + (size_t)k * v_matrix;
      g->b = b + (size_t)k * weights;
      g->dst = m + (size_t)k * m_matrix + (size_t)lo * g->ld;
      megcc_gemm_block(g, hi - lo, 0, cols);
    }
  }
  g->a = rows;
  g->a_skip = skip;
  g->b = b;
}

// Units [begin, end) of blocks of tiles by MEGCC_WINOGRAD_COLS channels of a group.
MEGCC_INLINE void megcc_winograd(void *const *ptr, const int32_t *attr, void *workspace,
                                 int32_t begin, int32_t end) {
  const int32_t ic = attr[CONV2D_IC], oc = attr[CONV2D_OC], groups = attr[CONV2D_G];
  const int32_t icg = ic / groups, ocg = oc / groups;
  const int32_t group_units = (ocg + MEGCC_WINOGRAD_COLS - 1) / MEGCC_WINOGRAD_COLS;
  const int32_t units = groups * group_units;
  const size_t row = ((size_t)ic + MEGCC_VL - 1) / MEGCC_VL * MEGCC_VL;
  const size_t panels = ((size_t)ocg + NR - 1) / NR;
  const megcc_winograd_stored_t *x = ptr[0], *bias = ptr[2];
  const void *const residual_at = MEGCC_RESIDUAL(ptr, 3);
  void *const y_at = MEGCC_OUTPUT(ptr, 3);
  const megcc_winograd_stored_t *residual = residual_at;
  const megcc_gemm_b_t *weights = ptr[1];
  const megcc_elem_t **table = workspace;
  megcc_winograd_stored_t *y = y_at;
  megcc_elem_t *v, *m;
  megcc_winograd_t w;
  megcc_winograd_block_t block;
  megcc_winograd_out_t out;
  megcc_gemm_t g;
  int32_t tiles, most, done = -1;
  size_t v_matrix, m_matrix;
  if (begin >= end) return;
  w.attr = attr;
  w.down = (attr[CONV2D_OH] + MEGCC_WINOGRAD_M - 1) / MEGCC_WINOGRAD_M;
  w.across = (attr[CONV2D_OW] + MEGCC_WINOGRAD_M - 1) / MEGCC_WINOGRAD_M;
  w.last_rows = megcc_winograd_last(attr[CONV2D_OH], w.down);
  w.last_cols = megcc_winograd_last(attr[CONV2D_OW], w.across);
  tiles = attr[CONV2D_N] * w.down * w.across;
  most = tiles < MEGCC_WINOGRAD_TILES ? tiles : MEGCC_WINOGRAD_TILES;
  v_matrix = (size_t)most * row;
  m_matrix = (size_t)most * MEGCC_WINOGRAD_COLS;
  v = (megcc_elem_t *)(void *)((char *)workspace + (size_t)most * MEGCC_GEMM_ENTRY);
  m = v + MEGCC_WINOGRAD_P * MEGCC_WINOGRAD_P * v_matrix;
  for (int32_t k = 0; k < most; ++k) table[k] = v + (size_t)k * row;
  g.a = table;
  g.a_stride = 0;
  g.segments = 1;
  g.length = (size_t)icg;
  g.panel = (size_t)icg * NR;
  g.bias = g.residual = NULL;
  g.ld = MEGCC_WINOGRAD_COLS;
  g.act_a = g.act_b = 0.0f;
  out.matrix = (ptrdiff_t)m_matrix;
  out.row = (ptrdiff_t)attr[CONV2D_OW] * oc;
  out.pixel = oc;
  out.act_a = megcc_attr_f32(attr[CONV2D_ACT_A]);
  out.act_b = megcc_attr_f32(attr[CONV2D_ACT_B]);
  for (int32_t unit = begin; unit < end; ++unit) {
    const int32_t group = unit % units / group_units;
    const int32_t c0 = unit % group_units * MEGCC_WINOGRAD_COLS;
    const int32_t cols = ocg - c0 < MEGCC_WINOGRAD_COLS ? ocg - c0 : MEGCC_WINOGRAD_COLS;
    const size_t channel = (size_t)group * (size_t)ocg + (size_t)c0;
    if (unit / units != done) {
      done = unit / units;
      block.first = done * MEGCC_WINOGRAD_TILES;
      block.count = tiles - block.first < most ? tiles - block.first : most;
      megcc_winograd_sort(&w, &block);
      for (int32_t k = 0; k < block.count; ++k) {
        const megcc_winograd_tile_t t = megcc_winograd_tile(&w, block.first + k);
        megcc_winograd_tile_in(&w, &t, x, v + (size_t)block.slots[k] * row, (ptrdiff_t)v_matrix);
      }
    }
    g.a_skip = (size_t)group * (size_t)icg;
    g.b = weights + ((size_t)group * panels + (size_t)(c0 / NR)) * g.panel;
    megcc_winograd_products(&w, &block, &g, (cols + NR - 1) / NR * NR, v_matrix,
                            (size_t)groups * panels * g.panel, m, m_matrix);
    out.bias = bias + channel;
    for (int32_t k = 0; k < block.count; ++k) {
      const megcc_winograd_tile_t t = megcc_winograd_tile(&w, block.first + k);
      const size_t pixel =
          ((size_t)t.image * (size_t)attr[CONV2D_OH] + (size_t)t.y) * (size_t)attr[CONV2D_OW] +
          (size_t)t.x;
      out.y = y + pixel * (size_t)oc + channel;
      out.residual = RESIDUAL ? residual + (out.y - y) : NULL;
      out.m = m + (size_t)block.slots[k] * MEGCC_WINOGRAD_COLS;
      megcc_winograd_tile_out(&t, &out, cols);
    }
  }
}

#endif  // MEGCC_WINOGRAD_H
