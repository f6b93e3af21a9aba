// kernel: dwconv2d_nhwc_f16_5x5_fp16
// like: dwconv2d_nhwc_f32_5x5
// dtype: f16
// arch: arm64
// isa: fp16
// rank: 35
// tolerance: 5e-3
//
// Depthwise 5x5, several rows at a time: megcc_dwconv.h. Sums of f16.
#define MEGCC_F16 2
#define DW_K 5

#include "megcc_dwconv.h"

#ifndef MEGCC_SYMBOL
#define MEGCC_SYMBOL megcc_dwconv2d_nhwc_f16_5x5_fp16
#endif

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  (void)workspace;
  megcc_dwconv(ptr, attr, begin, end);
}
