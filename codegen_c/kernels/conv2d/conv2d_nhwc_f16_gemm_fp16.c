// kernel: conv2d_nhwc_f16_gemm_fp16
// like: conv2d_nhwc_f32_gemm
// dtype: f16
// arch: arm64
// isa: fp16
// rank: 20
// tolerance: 5e-3 if kh * kw * (ic // g) < 64 else 2e-2
//
// Implicit matrix product over output pixels: megcc_conv2d_gemm.h. Any size, stride, dilation,
// padding and grouping; sums of f16 in panels of 16 channels.
#define MEGCC_F16 2
#define NR 16

#include "gemm/megcc_conv2d_gemm.h"

#ifndef MEGCC_SYMBOL
#define MEGCC_SYMBOL megcc_conv2d_nhwc_f16_gemm_fp16
#endif

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  megcc_conv2d_gemm(ptr, attr, workspace, begin, end);
}
