// kernel: conv2d_nhwc_f16_gemm_x86
// like: conv2d_nhwc_f32_gemm
// dtype: f16
// arch: x86
// isa: simd
// rank: 20
// tolerance: 1e-3
//
// Implicit matrix product over output pixels: megcc_conv2d_gemm.h. Any size, stride, dilation,
// padding and grouping; panels of 16 channels suit AVX2 and AVX-512, whose conversions cost so
// little that f16 is widened as it is loaded.
#define MEGCC_F16 1
#define NR 16

#include "gemm/megcc_conv2d_gemm.h"

#ifndef MEGCC_SYMBOL
#define MEGCC_SYMBOL megcc_conv2d_nhwc_f16_gemm_x86
#endif

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  megcc_conv2d_gemm(ptr, attr, workspace, begin, end);
}
