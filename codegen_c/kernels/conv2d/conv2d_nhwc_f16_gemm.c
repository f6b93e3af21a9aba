// kernel: conv2d_nhwc_f16_gemm
// like: conv2d_nhwc_f32_gemm
// dtype: f16
// arch: portable
// isa: simd
// rank: 10
// tolerance: 1e-3
// instructions: n * oh * ow * (18 * kh * (1 if g * dw == 1 and kw > 1 and ic <= MEGCC_CONV_FEW
//   else kw) + g * up(oc // g, NR) * (kh * kw * (ic // g) // 4 + 1)) + ceil(n * oh * ow, 8) * g
//   * up(oc // g, NR) * (kh * kw * (ic // g) // 4 + 8) + g * up(oc // g, NR) * kh * kw * (ic // g)
//   * (n * oh * ow) // 8
//
// Implicit matrix product over output pixels: megcc_conv2d_gemm.h. Any size, stride, dilation,
// padding and grouping; f16 is widened as it is loaded.
#define MEGCC_F16 1
#define NR 8

#include "gemm/megcc_conv2d_gemm.h"

#ifndef MEGCC_SYMBOL
#define MEGCC_SYMBOL megcc_conv2d_nhwc_f16_gemm
#endif

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  megcc_conv2d_gemm(ptr, attr, workspace, begin, end);
}
