// kernel: pool2d_nhwc_f16_fp16
// like: pool2d_nhwc_f32_simd
// dtype: f16
// arch: arm64
// isa: fp16
// when: func == POOL2D_MAX
// rank: 10
// tolerance: 0
//
// Maxima of vectors of eight f16: megcc_pool2d.h.
#define MEGCC_F16 2

#include "megcc_pool2d.h"

#ifndef MEGCC_SYMBOL
#define MEGCC_SYMBOL megcc_pool2d_nhwc_f16_fp16
#endif

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  (void)workspace;
  megcc_pool2d(ptr, attr, begin, end);
}
