// kernel: dwconv2d_nhwc_f16_5x5
// like: dwconv2d_nhwc_f32_5x5
// dtype: f16
// arch: portable
// isa: simd
// rank: 30
// tolerance: 1e-3
//
// Depthwise 5x5, several rows at a time: megcc_dwconv.h. f16 is widened as it is loaded.
#define MEGCC_F16 1
#define DW_K 5

#include "megcc_dwconv.h"

#ifndef MEGCC_SYMBOL
#define MEGCC_SYMBOL megcc_dwconv2d_nhwc_f16_5x5
#endif

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  (void)workspace;
  megcc_dwconv(ptr, attr, begin, end);
}
