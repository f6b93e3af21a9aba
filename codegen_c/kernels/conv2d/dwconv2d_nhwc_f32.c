// kernel: dwconv2d_nhwc_f32
// op: conv2d
// dtype: f32
// arch: portable
// isa: simd
// when: g == ic == oc and oc > 1
// rank: 15
// tolerance: 2e-6
// params: ACT=act RESIDUAL=residual
// pack: w=dw_taps
// inplace: residual
// overlap: sizeof(Y) * oc * ow * min(n * oh, pt // sh + 1)
//   if pl + pr <= dw * (kw - 1) and pt + pb <= dh * (kh - 1) else -1
// work: n * oh
// cost: 4 * ow * oc * kh * kw
//
// Depthwise, any kernel, stride, dilation and padding, pixel by pixel: megcc_dw_pixel.h.
#include "megcc_dw_pixel.h"

#ifndef MEGCC_SYMBOL
#define MEGCC_SYMBOL megcc_dwconv2d_nhwc_f32
#endif

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  (void)workspace;
  megcc_dw_by_pixels(ptr, attr, begin, end);
}
