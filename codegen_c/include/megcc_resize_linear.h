// The body of resize2d's linear kernels. The columns' taps are computed once per call. NHWC mixes
// four pixels over vectors of channels; NCHW mixes two rows into the workspace first, over vectors
// of columns, as floats, then gathers along it.
#ifndef MEGCC_RESIZE_LINEAR_H
#define MEGCC_RESIZE_LINEAR_H

#include "megcc_elem.h"
#include "megcc_resize.h"

#ifndef NCHW
#define NCHW 0
#endif

// The weights of two neighbours. A sum of products, not a + (b - a) * w: that has NaN where one of
// them is infinite, and an infinity where their distance is past what the type holds.
typedef struct {
  megcc_vf a, b;
} megcc_resize_mix_t;

MEGCC_INLINE megcc_resize_mix_t megcc_resize_weights(float weight) {
  megcc_resize_mix_t w;
  w.a = megcc_vf_dup(1.0f - weight);
  w.b = megcc_vf_dup(weight);
  return w;
}

MEGCC_INLINE megcc_vf megcc_resize_mix(megcc_vf a, megcc_vf b, megcc_resize_mix_t w) {
  return megcc_vf_fma(megcc_vf_mul(a, w.a), b, w.b);
}

#if NCHW
MEGCC_INLINE void megcc_resize_mix_row(const megcc_elem_t *a, const megcc_elem_t *b, float weight,
                                       float *y, int32_t n) {
  const megcc_resize_mix_t w = megcc_resize_weights(weight);
  int32_t i = 0;
  for (; i + MEGCC_VL <= n; i += MEGCC_VL)
    megcc_vf_lanes(y + i, megcc_resize_mix(megcc_vf_load(a + i), megcc_vf_load(b + i), w));
  if (i < n) {
    const megcc_vf p = megcc_vf_load_n(a + i, n - i), q = megcc_vf_load_n(b + i, n - i);
    megcc_vf_lanes_n(y + i, megcc_resize_mix(p, q, w), n - i);
  }
}

MEGCC_INLINE void megcc_resize_row(const megcc_elem_t *upper, const megcc_elem_t *lower,
                                   float weight, const megcc_resize_tap_t *taps, megcc_elem_t *y,
                                   int32_t width, int32_t ow, int32_t channels, float *mixed) {
  (void)channels;
  megcc_resize_mix_row(upper, lower, weight, mixed, width);
  for (int32_t i = 0; i < ow; ++i) {
    const float w = taps[i].weight;
    y[i] = megcc_elem_of(mixed[taps[i].lo] * (1.0f - w) + mixed[taps[i].hi] * w);
  }
}
#else
// Corner k of a pixel is c[k]: upper left, upper right, lower left, lower right.
MEGCC_INLINE void megcc_resize_pixel(const megcc_elem_t *const c[4], megcc_resize_mix_t u,
                                     megcc_resize_mix_t v, megcc_elem_t *y, int32_t i,
                                     int32_t lanes) {
  const megcc_vf p = megcc_vf_load_n(c[0] + i, lanes), q = megcc_vf_load_n(c[1] + i, lanes);
  const megcc_vf r = megcc_vf_load_n(c[2] + i, lanes), s = megcc_vf_load_n(c[3] + i, lanes);
  megcc_vf_store_n(y + i, megcc_resize_mix(megcc_resize_mix(p, q, u), megcc_resize_mix(r, s, u), v),
                   lanes);
}

MEGCC_INLINE void megcc_resize_row(const megcc_elem_t *upper, const megcc_elem_t *lower,
                                   float weight, const megcc_resize_tap_t *taps, megcc_elem_t *y,
                                   int32_t width, int32_t ow, int32_t channels, float *mixed) {
  const megcc_resize_mix_t v = megcc_resize_weights(weight);
  (void)width, (void)mixed;
  for (int32_t k = 0; k < ow; ++k, y += channels) {
    const size_t lo = (size_t)taps[k].lo * (size_t)channels,
                 hi = (size_t)taps[k].hi * (size_t)channels;
    const megcc_elem_t *const corner[4] = {upper + lo, upper + hi, lower + lo, lower + hi};
    const megcc_resize_mix_t u = megcc_resize_weights(taps[k].weight);
    int32_t i = 0;
    for (; i + MEGCC_VL <= channels; i += MEGCC_VL)
      megcc_resize_pixel(corner, u, v, y, i, MEGCC_VL);
    if (i < channels) megcc_resize_pixel(corner, u, v, y, i, channels - i);
  }
}
#endif

MEGCC_INLINE void megcc_resize_linear(void *const *ptr, const int32_t *attr, void *workspace,
                                      int32_t begin, int32_t end) {
  const int32_t oh = attr[RESIZE2D_OH], ow = attr[RESIZE2D_OW];
  const int32_t channels = NCHW ? 1 : attr[RESIZE2D_C];
  const megcc_resize_axis_t rows =
      megcc_resize_axis(attr[RESIZE2D_H], oh, attr[RESIZE2D_SCALE_H], attr[RESIZE2D_COORD]);
  const megcc_resize_axis_t cols =
      megcc_resize_axis(attr[RESIZE2D_W], ow, attr[RESIZE2D_SCALE_W], attr[RESIZE2D_COORD]);
  megcc_resize_tap_t *taps = workspace;
  void *behind = taps + ow;
  float *mixed = behind;
  const size_t row_size = (size_t)cols.in * (size_t)channels;
  if (begin >= end) return;
  for (int32_t i = 0; i < ow; ++i) taps[i] = megcc_resize_tap(&cols, i);
  for (int32_t row = begin; row < end; ++row) {
    const megcc_resize_tap_t t = megcc_resize_tap(&rows, row % oh);
    const megcc_elem_t *image =
        (const megcc_elem_t *)ptr[0] + (size_t)(row / oh) * (size_t)rows.in * row_size;
    megcc_elem_t *y = (megcc_elem_t *)ptr[1] + (size_t)row * (size_t)ow * (size_t)channels;
    megcc_resize_row(image + (size_t)t.lo * row_size, image + (size_t)t.hi * row_size, t.weight,
                     taps, y, cols.in, ow, channels, mixed);
  }
}

#endif  // MEGCC_RESIZE_LINEAR_H
