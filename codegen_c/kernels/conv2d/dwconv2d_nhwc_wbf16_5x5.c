// kernel: dwconv2d_nhwc_wbf16_5x5
// like: dwconv2d_nhwc_f32_5x5
// dtype: x=f32 w=bf16 bias=f32 y=f32
// workspace: sizeof(X) * kh * kw * oc
//
// Depthwise 5x5, several rows at a time: megcc_dwconv.h.
// Weights in bf16 become floats first.
#define DW_K 5

#include "megcc_dwconv.h"
#include "megcc_dw_bf16.h"

#ifndef MEGCC_SYMBOL
#define MEGCC_SYMBOL megcc_dwconv2d_nhwc_wbf16_5x5
#endif

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  void *wide[MEGCC_DW_OPERANDS];
  megcc_dw_widen(ptr, attr, workspace, wide);
  megcc_dwconv(wide, attr, begin, end);
}
