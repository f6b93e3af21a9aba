// The body of the pool2d kernels: four vectors of channels at a time stay in registers over all
// taps, then two, one, and the tail. FUNC says what is computed, COLS the width of the kernel.
#ifndef MEGCC_POOL2D_H
#define MEGCC_POOL2D_H

#include "megcc_elem.h"
#include "simd/megcc_simd.h"
#include "megcc_window.h"
#include "op/pool2d.h"

#ifndef FUNC
#define FUNC POOL2D_MAX
#endif
#ifndef COLS
#define COLS 0  // the kernel's width, where a loop over it is worth writing out; 0: any other
#endif

#if FUNC == POOL2D_MAX
#define EMPTY (-MEGCC_INFINITY)
#define COMBINE megcc_vf_nanmax
#else
#define EMPTY 0.0f
#define COMBINE megcc_vf_add
#endif

// The taps of one output pixel: rows of `cols` elements, `row_step` and `col_step` floats apart.
typedef struct {
  const megcc_elem_t *src;
  int32_t rows, cols;
  ptrdiff_t row_step, col_step;
  float scale;
} megcc_pool2d_taps_t;

MEGCC_INLINE megcc_vf megcc_pool2d_finish(megcc_vf acc, const megcc_pool2d_taps_t *t) {
  return FUNC == POOL2D_AVG ? megcc_vf_mul(acc, megcc_vf_dup(t->scale)) : acc;
}

MEGCC_INLINE void megcc_pool2d_pool_four(const megcc_pool2d_taps_t *t, const megcc_elem_t *src,
                                         megcc_elem_t *dst, int32_t cols) {
  megcc_vf a0 = megcc_vf_dup(EMPTY), a1 = a0, a2 = a0, a3 = a0;
  for (int32_t i = 0; i < t->rows; ++i, src += t->row_step) {
    const megcc_elem_t *p = src;
    for (int32_t j = 0; j < cols; ++j, p += t->col_step) {
      a0 = COMBINE(a0, megcc_vf_load(p));
      a1 = COMBINE(a1, megcc_vf_load(p + MEGCC_VL));
      a2 = COMBINE(a2, megcc_vf_load(p + 2 * MEGCC_VL));
      a3 = COMBINE(a3, megcc_vf_load(p + 3 * MEGCC_VL));
    }
  }
  megcc_vf_store(dst, megcc_pool2d_finish(a0, t));
  megcc_vf_store(dst + MEGCC_VL, megcc_pool2d_finish(a1, t));
  megcc_vf_store(dst + 2 * MEGCC_VL, megcc_pool2d_finish(a2, t));
  megcc_vf_store(dst + 3 * MEGCC_VL, megcc_pool2d_finish(a3, t));
}

MEGCC_INLINE void megcc_pool2d_pool_two(const megcc_pool2d_taps_t *t, const megcc_elem_t *src,
                                        megcc_elem_t *dst, int32_t cols) {
  megcc_vf a0 = megcc_vf_dup(EMPTY), a1 = a0;
  for (int32_t i = 0; i < t->rows; ++i, src += t->row_step) {
    const megcc_elem_t *p = src;
    for (int32_t j = 0; j < cols; ++j, p += t->col_step) {
      a0 = COMBINE(a0, megcc_vf_load(p));
      a1 = COMBINE(a1, megcc_vf_load(p + MEGCC_VL));
    }
  }
  megcc_vf_store(dst, megcc_pool2d_finish(a0, t));
  megcc_vf_store(dst + MEGCC_VL, megcc_pool2d_finish(a1, t));
}

MEGCC_INLINE void megcc_pool2d_pool_one(const megcc_pool2d_taps_t *t, const megcc_elem_t *src,
                                        megcc_elem_t *dst, int32_t lanes, int32_t cols) {
  megcc_vf acc = megcc_vf_dup(EMPTY);
  for (int32_t i = 0; i < t->rows; ++i, src += t->row_step) {
    const megcc_elem_t *p = src;
    for (int32_t j = 0; j < cols; ++j, p += t->col_step)
      acc = COMBINE(acc, megcc_vf_load_n(p, lanes));
  }
  megcc_vf_store_n(dst, megcc_pool2d_finish(acc, t), lanes);
}

MEGCC_INLINE void megcc_pool2d_pool_channels(const megcc_pool2d_taps_t *t, megcc_elem_t *dst,
                                             int32_t channels, int32_t cols) {
  int32_t c = 0;
  for (; c + 4 * MEGCC_VL <= channels; c += 4 * MEGCC_VL)
    megcc_pool2d_pool_four(t, t->src + c, dst + c, cols);
  if (c + 2 * MEGCC_VL <= channels) {
    megcc_pool2d_pool_two(t, t->src + c, dst + c, cols);
    c += 2 * MEGCC_VL;
  }
  if (c + MEGCC_VL <= channels) {
    megcc_pool2d_pool_one(t, t->src + c, dst + c, MEGCC_VL, cols);
    c += MEGCC_VL;
  }
  if (c < channels) megcc_pool2d_pool_one(t, t->src + c, dst + c, channels - c, cols);
}

MEGCC_COLD static void megcc_pool2d_pool_any(const megcc_pool2d_taps_t *t, megcc_elem_t *dst,
                                             int32_t channels) {
  megcc_pool2d_pool_channels(t, dst, channels, t->cols);
}

MEGCC_INLINE void megcc_pool2d_pool_pixel(const megcc_pool2d_taps_t *t, megcc_elem_t *dst,
                                          int32_t channels) {
  if (COLS == 0) {
    megcc_pool2d_pool_channels(t, dst, channels, t->cols);
  } else if (t->cols == COLS) {
    megcc_pool2d_pool_channels(t, dst, channels, COLS);
  } else {
    megcc_pool2d_pool_any(t, dst, channels);
  }
}

MEGCC_INLINE void megcc_pool2d(void *const *ptr, const int32_t *attr, int32_t begin, int32_t end) {
  const megcc_elem_t *x = ptr[0];
  megcc_elem_t *y = ptr[1];
  const int32_t height = attr[POOL2D_H], width = attr[POOL2D_W], channels = attr[POOL2D_C];
  const int32_t oh = attr[POOL2D_OH], ow = attr[POOL2D_OW];
  const int32_t dh = attr[POOL2D_DH], dw = attr[POOL2D_DW];
  for (int32_t row = begin; row < end; ++row) {
    const megcc_window_t v = megcc_window(row % oh, attr[POOL2D_KH], attr[POOL2D_SH], dh, height,
                                          attr[POOL2D_PT], attr[POOL2D_PB]);
    const megcc_elem_t *src =
        x + ((size_t)(row / oh) * (size_t)height + (size_t)(v.origin + v.begin * dh)) *
                (size_t)width * (size_t)channels;
    megcc_elem_t *dst = y + (size_t)row * (size_t)ow * (size_t)channels;
    for (int32_t col = 0; col < ow; ++col, dst += channels) {
      const megcc_window_t u = megcc_window(col, attr[POOL2D_KW], attr[POOL2D_SW], dw, width,
                                            attr[POOL2D_PL], attr[POOL2D_PR]);
      const int32_t rows = v.end - v.begin, cols = u.end - u.begin;
      const int32_t count = attr[POOL2D_COUNT_INCLUDE_PAD] ? v.padded * u.padded : rows * cols;
      const megcc_pool2d_taps_t taps = {src + (ptrdiff_t)(u.origin + u.begin * dw) * channels,
                                        rows,
                                        cols,
                                        (ptrdiff_t)dh * width * channels,
                                        (ptrdiff_t)dw * channels,
                                        1.0f / (float)count};
      megcc_pool2d_pool_pixel(&taps, dst, channels);
    }
  }
}

#endif  // MEGCC_POOL2D_H
