// kernel: dwconv2d_nhwc_f16_fp16
// like: dwconv2d_nhwc_f32
// dtype: f16
// arch: arm64
// isa: fp16
// rank: 20
// tolerance: 5e-3
//
// Depthwise, any kernel, stride, dilation and padding, pixel by pixel: megcc_dw_pixel.h.
// Sums of f16.
#define MEGCC_F16 2

#include "megcc_dw_pixel.h"

#ifndef MEGCC_SYMBOL
#define MEGCC_SYMBOL megcc_dwconv2d_nhwc_f16_fp16
#endif

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  (void)workspace;
  megcc_dw_by_pixels(ptr, attr, begin, end);
}
