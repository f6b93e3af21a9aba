// One output pixel of a depthwise convolution: any kernel, stride, dilation and padding.
//
// The window is cut to the image first, then one vector of channels after another sums its taps.
// Weights are [KH * KW][C] (packing.py, dw_taps). The including kernel defines ACT and RESIDUAL.
#ifndef MEGCC_DW_PIXEL_H
#define MEGCC_DW_PIXEL_H

#include "megcc_epilogue.h"
#include "megcc_unroll.h"
#include "megcc_window.h"
#include "op/conv2d.h"

typedef struct {
  megcc_window_t v, u;        // rows and columns of the window that lie in the image
  const megcc_elem_t *pixel;  // the image's pixel under tap (0, 0); may point outside
  const megcc_elem_t *w, *bias, *residual;
  megcc_elem_t *dst;
  ptrdiff_t row_step, col_step;  // floats from tap to tap
  size_t channels;
  int32_t kw;
  megcc_vf act_a, act_b;
} megcc_dw_pixel_t;

// One vector of channels of one output pixel.
MEGCC_INLINE void megcc_dw_vector(const megcc_dw_pixel_t *d, size_t c, int part, int32_t lanes) {
#define MEGCC_DW_GET(p) (part ? megcc_vf_load_n(p, lanes) : megcc_vf_load(p))
  megcc_vf sum = MEGCC_DW_GET(d->bias + c);
  for (int32_t i = d->v.begin; i < d->v.end; ++i) {
    for (int32_t j = d->u.begin; j < d->u.end; ++j) {
      const megcc_elem_t *x = d->pixel + (i * d->row_step + j * d->col_step + (ptrdiff_t)c);
      const megcc_elem_t *w = d->w + ((size_t)i * (size_t)d->kw + (size_t)j) * d->channels + c;
      sum = megcc_vf_fma(sum, MEGCC_DW_GET(x), MEGCC_DW_GET(w));
    }
  }
  MEGCC_EPILOGUE_VF(sum, MEGCC_DW_GET(d->residual + c), d->act_a, d->act_b);
  if (part) {
    megcc_vf_store_n(d->dst + c, sum, lanes);
  } else {
    megcc_vf_store(d->dst + c, sum);
  }
}

#ifndef MEGCC_SMALL
// Four vectors of channels of one output pixel.
MEGCC_INLINE void megcc_dw_vectors(const megcc_dw_pixel_t *d, size_t c) {
  megcc_vf sums[4];
  MEGCC_UNROLL(4)
  for (int k = 0; k < 4; ++k) sums[k] = megcc_vf_load(d->bias + c + k * MEGCC_VL);
  for (int32_t i = d->v.begin; i < d->v.end; ++i) {
    const megcc_elem_t *x = d->pixel + (i * d->row_step + d->u.begin * d->col_step + (ptrdiff_t)c);
    const megcc_elem_t *w =
        d->w + ((size_t)i * (size_t)d->kw + (size_t)d->u.begin) * d->channels + c;
    for (int32_t j = d->u.begin; j < d->u.end; ++j) {
      MEGCC_UNROLL(4)
      for (int k = 0; k < 4; ++k) {
        const megcc_vf tap = megcc_vf_load(w + k * MEGCC_VL);
        sums[k] = megcc_vf_fma(sums[k], megcc_vf_load(x + k * MEGCC_VL), tap);
      }
      x += d->col_step;
      w += d->channels;
    }
  }
  MEGCC_UNROLL(4)
  for (int k = 0; k < 4; ++k) {
    const size_t at = c + (size_t)k * MEGCC_VL;
    MEGCC_EPILOGUE_VF(sums[k], megcc_vf_load(d->residual + at), d->act_a, d->act_b);
    megcc_vf_store(d->dst + at, sums[k]);
  }
}
#endif

// The fields that all pixels share.
MEGCC_INLINE megcc_dw_pixel_t megcc_dw_pixel_setup(void *const *ptr, const int32_t *attr) {
  megcc_dw_pixel_t d;
  d.w = ptr[1];
  d.bias = ptr[2];
  d.channels = (size_t)attr[CONV2D_OC];
  d.row_step = (ptrdiff_t)attr[CONV2D_DH] * attr[CONV2D_W] * attr[CONV2D_OC];
  d.col_step = (ptrdiff_t)attr[CONV2D_DW] * attr[CONV2D_OC];
  d.kw = attr[CONV2D_KW];
  d.act_a = megcc_vf_dup(megcc_attr_f32(attr[CONV2D_ACT_A]));
  d.act_b = megcc_vf_dup(megcc_attr_f32(attr[CONV2D_ACT_B]));
  return d;
}

// The rows of the window of output row `row` of n * oh.
MEGCC_INLINE void megcc_dw_window(megcc_dw_pixel_t *d, const int32_t *attr, int32_t row) {
  d->v = megcc_window(row % attr[CONV2D_OH], attr[CONV2D_KH], attr[CONV2D_SH], attr[CONV2D_DH],
                      attr[CONV2D_H], attr[CONV2D_PT], attr[CONV2D_PB]);
}

// Puts a pixel, or the first of a tile, at column `col` of output row `row` of n * oh, whose
// window's rows are known.
MEGCC_INLINE void megcc_dw_place(megcc_dw_pixel_t *d, void *const *ptr, const int32_t *attr,
                                 int32_t row, int32_t col) {
  const int32_t h = attr[CONV2D_H], w = attr[CONV2D_W], left = col * attr[CONV2D_SW];
  const size_t at = ((size_t)row * (size_t)attr[CONV2D_OW] + (size_t)col) * d->channels;
  const ptrdiff_t line = (ptrdiff_t)(row / attr[CONV2D_OH]) * h + d->v.origin;
  d->pixel =
      (const megcc_elem_t *)ptr[0] + (line * w + left - attr[CONV2D_PL]) * (ptrdiff_t)d->channels;
  d->dst = MEGCC_OUTPUT(ptr, 3) + at;
  d->residual = RESIDUAL ? MEGCC_RESIDUAL(ptr, 3) + at : NULL;
}

// Columns [first, last) of output row `row` of n * oh, whose window's rows are known: the channels
// that fill vectors (`whole`), or the last ones, which fill none.
MEGCC_INLINE void megcc_dw_pixels(megcc_dw_pixel_t *d, void *const *ptr, const int32_t *attr,
                                  int32_t row, int32_t first, int32_t last, int whole) {
  const size_t rest = d->channels % MEGCC_VL, most = d->channels - rest;
  if (!whole && rest == 0) return;
  for (int32_t col = first; col < last; ++col) {
    d->u = megcc_window(col, attr[CONV2D_KW], attr[CONV2D_SW], attr[CONV2D_DW], attr[CONV2D_W],
                        attr[CONV2D_PL], attr[CONV2D_PR]);
    megcc_dw_place(d, ptr, attr, row, col);
    size_t c = 0;
    if (!whole) {
      megcc_dw_vector(d, most, 1, (int32_t)rest);
      continue;
    }
#ifndef MEGCC_SMALL
    for (; c + 4 * MEGCC_VL <= most; c += 4 * MEGCC_VL) megcc_dw_vectors(d, c);
#endif
    for (; c < most; c += MEGCC_VL) megcc_dw_vector(d, c, 0, MEGCC_VL);
  }
}

// Output rows [begin, end) of n * oh.
MEGCC_INLINE void megcc_dw_by_pixels(void *const *ptr, const int32_t *attr, int32_t begin,
                                     int32_t end) {
  megcc_dw_pixel_t d = megcc_dw_pixel_setup(ptr, attr);
  for (int32_t row = begin; row < end; ++row) {
    megcc_dw_window(&d, attr, row);
    megcc_dw_pixels(&d, ptr, attr, row, 0, attr[CONV2D_OW], 1);
    megcc_dw_pixels(&d, ptr, attr, row, 0, attr[CONV2D_OW], 0);
  }
}

#endif  // MEGCC_DW_PIXEL_H
