// One output pixel of a depthwise convolution: any kernel, stride, dilation and padding.
//
// The window is cut to the image first, then one vector of channels after another sums its taps.
// Weights are [KH * KW][C] (packing.py, dw_taps). The including kernel defines ACT and RESIDUAL.
#ifndef MEGCC_DW_PIXEL_H
#define MEGCC_DW_PIXEL_H

#include "megcc_epilogue.h"
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

// Output row `row` of n * oh: all channels, or the last ones, which fill no vector.
MEGCC_INLINE void megcc_dw_pixels(megcc_dw_pixel_t d, void *const *ptr, const int32_t *attr,
                                  int32_t row, int all) {
  const int32_t h = attr[CONV2D_H], w = attr[CONV2D_W], oh = attr[CONV2D_OH], ow = attr[CONV2D_OW];
  const megcc_elem_t *image =
      (const megcc_elem_t *)ptr[0] + (size_t)(row / oh) * (size_t)h * (size_t)w * d.channels;
  const size_t whole = d.channels - d.channels % MEGCC_VL;
  d.v = megcc_window(row % oh, attr[CONV2D_KH], attr[CONV2D_SH], attr[CONV2D_DH], h,
                     attr[CONV2D_PT], attr[CONV2D_PB]);
  for (int32_t col = 0; col < ow; ++col) {
    const size_t at = ((size_t)row * (size_t)ow + (size_t)col) * d.channels;
    d.u = megcc_window(col, attr[CONV2D_KW], attr[CONV2D_SW], attr[CONV2D_DW], w, attr[CONV2D_PL],
                       attr[CONV2D_PR]);
    d.pixel = image + ((ptrdiff_t)d.v.origin * w + d.u.origin) * (ptrdiff_t)d.channels;
    d.dst = MEGCC_OUTPUT(ptr, 3) + at;
    d.residual = RESIDUAL ? MEGCC_RESIDUAL(ptr, 3) + at : NULL;
    for (size_t c = 0; all && c < whole; c += MEGCC_VL) megcc_dw_vector(&d, c, 0, MEGCC_VL);
    if (whole < d.channels) megcc_dw_vector(&d, whole, 1, (int32_t)(d.channels - whole));
  }
}

// Output rows [begin, end) of n * oh.
MEGCC_INLINE void megcc_dw_by_pixels(void *const *ptr, const int32_t *attr, int32_t begin,
                                     int32_t end) {
  const megcc_dw_pixel_t d = megcc_dw_pixel_setup(ptr, attr);
  for (int32_t row = begin; row < end; ++row) megcc_dw_pixels(d, ptr, attr, row, 1);
}

#endif  // MEGCC_DW_PIXEL_H
