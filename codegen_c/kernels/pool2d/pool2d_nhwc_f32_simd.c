// kernel: pool2d_nhwc_f32_simd
// op: pool2d
// dtype: f32
// arch: arm64, armv7, x86
// isa: simd
// rank: 10
// tolerance: 2e-6
// params: FUNC=func COLS=(kw if kw in (2, 3) else 0)
// overlap: sizeof(T) * c * ow * min(n * oh, pt // sh + 1)
//   if pl + pr <= dw * (kw - 1) and pt + pb <= dh * (kh - 1) else -1
// work: n * oh
// cost: 4 * ow * c * kh * kw
//
// Four vectors of channels at a time stay in registers over all taps, then two, one, and the tail.
#include "megcc_kernel.h"
#include "simd/megcc_simd.h"
#include "megcc_window.h"
#include "op/pool2d.h"

#ifndef MEGCC_SYMBOL
#define MEGCC_SYMBOL megcc_pool2d_nhwc_f32_simd
#endif
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
  const float *src;
  int32_t rows, cols;
  ptrdiff_t row_step, col_step;
  float scale;
} taps_t;

MEGCC_INLINE megcc_vf finish(megcc_vf acc, const taps_t *t) {
  return FUNC == POOL2D_AVG ? megcc_vf_mul(acc, megcc_vf_dup(t->scale)) : acc;
}

MEGCC_INLINE void pool_four(const taps_t *t, const float *src, float *dst, int32_t cols) {
  megcc_vf a0 = megcc_vf_dup(EMPTY), a1 = a0, a2 = a0, a3 = a0;
  for (int32_t i = 0; i < t->rows; ++i, src += t->row_step) {
    const float *p = src;
    for (int32_t j = 0; j < cols; ++j, p += t->col_step) {
      a0 = COMBINE(a0, megcc_vf_load(p));
      a1 = COMBINE(a1, megcc_vf_load(p + MEGCC_VL));
      a2 = COMBINE(a2, megcc_vf_load(p + 2 * MEGCC_VL));
      a3 = COMBINE(a3, megcc_vf_load(p + 3 * MEGCC_VL));
    }
  }
  megcc_vf_store(dst, finish(a0, t));
  megcc_vf_store(dst + MEGCC_VL, finish(a1, t));
  megcc_vf_store(dst + 2 * MEGCC_VL, finish(a2, t));
  megcc_vf_store(dst + 3 * MEGCC_VL, finish(a3, t));
}

MEGCC_INLINE void pool_two(const taps_t *t, const float *src, float *dst, int32_t cols) {
  megcc_vf a0 = megcc_vf_dup(EMPTY), a1 = a0;
  for (int32_t i = 0; i < t->rows; ++i, src += t->row_step) {
    const float *p = src;
    for (int32_t j = 0; j < cols; ++j, p += t->col_step) {
      a0 = COMBINE(a0, megcc_vf_load(p));
      a1 = COMBINE(a1, megcc_vf_load(p + MEGCC_VL));
    }
  }
  megcc_vf_store(dst, finish(a0, t));
  megcc_vf_store(dst + MEGCC_VL, finish(a1, t));
}

MEGCC_INLINE void pool_one(const taps_t *t, const float *src, float *dst, int32_t lanes,
                           int32_t cols) {
  megcc_vf acc = megcc_vf_dup(EMPTY);
  for (int32_t i = 0; i < t->rows; ++i, src += t->row_step) {
    const float *p = src;
    for (int32_t j = 0; j < cols; ++j, p += t->col_step)
      acc = COMBINE(acc, megcc_vf_load_n(p, lanes));
  }
  megcc_vf_store_n(dst, finish(acc, t), lanes);
}

MEGCC_INLINE void pool_channels(const taps_t *t, float *dst, int32_t channels, int32_t cols) {
  int32_t c = 0;
  for (; c + 4 * MEGCC_VL <= channels; c += 4 * MEGCC_VL) pool_four(t, t->src + c, dst + c, cols);
  if (c + 2 * MEGCC_VL <= channels) {
    pool_two(t, t->src + c, dst + c, cols);
    c += 2 * MEGCC_VL;
  }
  if (c + MEGCC_VL <= channels) {
    pool_one(t, t->src + c, dst + c, MEGCC_VL, cols);
    c += MEGCC_VL;
  }
  if (c < channels) pool_one(t, t->src + c, dst + c, channels - c, cols);
}

MEGCC_COLD static void pool_any(const taps_t *t, float *dst, int32_t channels) {
  pool_channels(t, dst, channels, t->cols);
}

MEGCC_INLINE void pool_pixel(const taps_t *t, float *dst, int32_t channels) {
  if (COLS == 0) {
    pool_channels(t, dst, channels, t->cols);
  } else if (t->cols == COLS) {
    pool_channels(t, dst, channels, COLS);
  } else {
    pool_any(t, dst, channels);
  }
}

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  (void)workspace;
  const float *x = ptr[0];
  float *y = ptr[1];
  const int32_t height = attr[POOL2D_H], width = attr[POOL2D_W], channels = attr[POOL2D_C];
  const int32_t oh = attr[POOL2D_OH], ow = attr[POOL2D_OW];
  const int32_t dh = attr[POOL2D_DH], dw = attr[POOL2D_DW];
  for (int32_t row = begin; row < end; ++row) {
    const megcc_window_t v = megcc_window(row % oh, attr[POOL2D_KH], attr[POOL2D_SH], dh, height,
                                          attr[POOL2D_PT], attr[POOL2D_PB]);
    const float *src =
        x + ((size_t)(row / oh) * (size_t)height + (size_t)(v.origin + v.begin * dh)) *
                (size_t)width * (size_t)channels;
    float *dst = y + (size_t)row * (size_t)ow * (size_t)channels;
    for (int32_t col = 0; col < ow; ++col, dst += channels) {
      const megcc_window_t u = megcc_window(col, attr[POOL2D_KW], attr[POOL2D_SW], dw, width,
                                            attr[POOL2D_PL], attr[POOL2D_PR]);
      const int32_t rows = v.end - v.begin, cols = u.end - u.begin;
      const int32_t count = attr[POOL2D_COUNT_INCLUDE_PAD] ? v.padded * u.padded : rows * cols;
      const taps_t taps = {src + (ptrdiff_t)(u.origin + u.begin * dw) * channels,
                           rows,
                           cols,
                           (ptrdiff_t)dh * width * channels,
                           (ptrdiff_t)dw * channels,
                           1.0f / (float)count};
      pool_pixel(&taps, dst, channels);
    }
  }
}
