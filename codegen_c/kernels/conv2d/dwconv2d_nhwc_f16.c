// kernel: dwconv2d_nhwc_f16
// like: dwconv2d_nhwc_f32
// dtype: f16
// arch: portable
// isa: simd
// rank: 15
// tolerance: 1e-3
//
// Depthwise, any kernel, stride, dilation and padding, pixel by pixel: megcc_dw_pixel.h.
// f16 is widened as it is loaded.
#define MEGCC_F16 1

#include "megcc_dw_pixel.h"

#ifndef MEGCC_SYMBOL
#define MEGCC_SYMBOL megcc_dwconv2d_nhwc_f16
#endif

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  (void)workspace;
  megcc_dw_by_pixels(ptr, attr, begin, end);
}
