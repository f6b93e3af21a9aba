// kernel: pool2d_nhwc_f16
// like: pool2d_nhwc_f32_simd
// dtype: f16
// arch: portable
// isa: simd
// rank: 0
// tolerance: 1e-3
//
// Windows that are added up in f32: megcc_pool2d.h. f16 is widened as it is loaded.
#define MEGCC_F16 1

#include "megcc_pool2d.h"

#ifndef MEGCC_SYMBOL
#define MEGCC_SYMBOL megcc_pool2d_nhwc_f16
#endif

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  (void)workspace;
  megcc_pool2d(ptr, attr, begin, end);
}
