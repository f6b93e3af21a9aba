// kernel: dwconv2d_nhwc_f32
// op: conv2d
// dtype: f32
// arch: portable
// isa: simd
// when: g == ic and oc == ic
// rank: 15
// params: ACT=act RESIDUAL=residual
// pack: 1=dw_taps
// work: n * oh
//
// Depthwise, any kernel, stride, dilation and padding: per output pixel the window is cut to the
// image first, then one vector of channels after another sums its taps.
#include "megcc_act.h"
#include "megcc_window.h"
#include "op/conv2d.h"

#ifndef MEGCC_SYMBOL
#define MEGCC_SYMBOL megcc_dwconv2d_nhwc_f32
#endif
#ifndef RESIDUAL
#define RESIDUAL 0
#endif

typedef struct {
  megcc_window_t v, u;  // rows and columns of the window that lie in the image
  const float *pixel;   // the image's pixel under tap (0, 0); may point outside
  const float *w, *bias, *residual;
  float *dst;
  ptrdiff_t row_step, col_step;  // floats from tap to tap
  size_t channels;
  int32_t kw;
  megcc_vf act_a, act_b;
} megcc_dw_any_t;

// One vector of channels of one output pixel.
MEGCC_INLINE void megcc_dw_any(const megcc_dw_any_t *d, size_t c, int part, int32_t lanes) {
#define MEGCC_DW_GET(p) (part ? megcc_vf_load_n(p, lanes) : megcc_vf_load(p))
  megcc_vf sum = MEGCC_DW_GET(d->bias + c);
  for (int32_t i = d->v.begin; i < d->v.end; ++i) {
    for (int32_t j = d->u.begin; j < d->u.end; ++j) {
      const float *x = d->pixel + (i * d->row_step + j * d->col_step + (ptrdiff_t)c);
      const float *w = d->w + ((size_t)i * d->kw + j) * d->channels + c;
      sum = megcc_vf_fma(sum, MEGCC_DW_GET(x), MEGCC_DW_GET(w));
    }
  }
  if (RESIDUAL == 1) sum = megcc_vf_add(sum, MEGCC_DW_GET(d->residual + c));
  sum = megcc_act_vf(sum, d->act_a, d->act_b);
  if (RESIDUAL == 2) sum = megcc_vf_add(sum, MEGCC_DW_GET(d->residual + c));
  if (part) {
    megcc_vf_store_n(d->dst + c, sum, lanes);
  } else {
    megcc_vf_store(d->dst + c, sum);
  }
}

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  const int32_t h = attr[CONV2D_H], w = attr[CONV2D_W], oh = attr[CONV2D_OH], ow = attr[CONV2D_OW];
  const size_t channels = (size_t)attr[CONV2D_OC];
  const ptrdiff_t pixel = (ptrdiff_t)channels;
  megcc_dw_any_t d;
  (void)workspace;
  d.w = ptr[1];
  d.bias = ptr[2];
  d.row_step = attr[CONV2D_DH] * w * pixel;
  d.col_step = attr[CONV2D_DW] * pixel;
  d.channels = channels;
  d.kw = attr[CONV2D_KW];
  d.act_a = megcc_vf_dup(megcc_attr_f32(attr[CONV2D_ACT_A]));
  d.act_b = megcc_vf_dup(megcc_attr_f32(attr[CONV2D_ACT_B]));
  for (int32_t row = begin; row < end; ++row) {
    const float *image = (const float *)ptr[0] + (size_t)(row / oh) * h * w * channels;
    d.v = megcc_window(row % oh, attr[CONV2D_KH], attr[CONV2D_SH], attr[CONV2D_DH], h,
                       attr[CONV2D_PT], attr[CONV2D_PB]);
    for (int32_t col = 0; col < ow; ++col) {
      const size_t at = ((size_t)row * ow + col) * channels;
      size_t c = 0;
      d.u = megcc_window(col, attr[CONV2D_KW], attr[CONV2D_SW], attr[CONV2D_DW], w, attr[CONV2D_PL],
                         attr[CONV2D_PR]);
      d.pixel = image + ((ptrdiff_t)d.v.origin * w + d.u.origin) * pixel;
      d.dst = (float *)ptr[RESIDUAL ? 4 : 3] + at;
      d.residual = RESIDUAL ? (const float *)ptr[3] + at : NULL;
      for (; channels - c >= MEGCC_VL; c += MEGCC_VL) megcc_dw_any(&d, c, 0, MEGCC_VL);
      if (c < channels) megcc_dw_any(&d, c, 1, (int32_t)(channels - c));
    }
  }
}
