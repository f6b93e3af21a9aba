// kernel: dwconv2d_nhwc_wbf16
// like: dwconv2d_nhwc_f32
// dtype: x=f32 w=bf16 bias=f32 y=f32
// workspace: sizeof(X) * kh * kw * oc
//
// Depthwise, any kernel, stride, dilation and padding, pixel by pixel: megcc_dw_pixel.h.
// Weights in bf16 become floats first.
#include "megcc_dw_pixel.h"
#include "megcc_dw_bf16.h"

#ifndef MEGCC_SYMBOL
#define MEGCC_SYMBOL megcc_dwconv2d_nhwc_wbf16
#endif

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  void *wide[MEGCC_DW_OPERANDS];
  megcc_dw_widen(ptr, attr, workspace, wide);
  megcc_dw_by_pixels(wide, attr, begin, end);
}
