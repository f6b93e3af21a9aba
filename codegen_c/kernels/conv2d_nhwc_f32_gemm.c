// kernel: conv2d_nhwc_f32_gemm
// op: conv2d
// dtype: f32
// arch: portable
// isa: simd
// when: (g == 1 or oc // g >= 4) and ic > 0
// rank: 10
// tolerance: 2e-6
// params: ACT=act RESIDUAL=residual
// pack: w=gemm_panels(nr=8)
// workspace: 8 * kh * min(96, n * oh * ow) + 4 * kw * ic * (1 + kh * min(96, n * oh * ow,
//   (94 // max(1, ow) + 2) * ((pl + sw - 1) // sw + (pr + sw - 1) // sw)))
//   if g * dw == 1 and kw > 1 and ic <= 16 else 8 * kh * kw * min(96, n * oh * ow) + 4 * ic
// inplace: residual
// overlap: 4 * oc * min(n * oh * ow, 95 + (ow * (pt // sh + 1) if kh * kw * sh * sw > 1 else 1))
//   if oc <= ic and pl + pr <= dw * (kw - 1) and pt + pb <= dh * (kh - 1) else -1
// work: (n * oh * ow + 95) // 96 * g * ((oc // g + 15) // 16)
// cost: (min(96, n * oh * ow) + 8) * min(16, oc // g) * kh * kw * (ic // g)
//
// Implicit matrix product over output pixels: megcc_conv2d_gemm.h. Any size, stride, dilation,
// padding and grouping; panels of 8 channels suit NEON and 4-lane vectors.
#define NR 8

#include "megcc_conv2d_gemm.h"

#ifndef MEGCC_SYMBOL
#define MEGCC_SYMBOL megcc_conv2d_nhwc_f32_gemm
#endif

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  megcc_conv2d_gemm(ptr, attr, workspace, begin, end);
}
