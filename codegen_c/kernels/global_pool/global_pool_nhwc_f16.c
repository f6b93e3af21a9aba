// kernel: global_pool_nhwc_f16
// like: global_pool_nhwc_f32_simd
// dtype: x=f16 y=f16,f32
// arch: portable
// isa: simd
// rank: 0
// when: sizeof(Y) == 2 or func == GLOBAL_POOL_AVG
// tolerance: 1e-3 if sizeof(Y) == 2 else 2e-6
// params: FUNC=func WIDE=(sizeof(Y) == 4)
//
// A work item is 64 channels of one image, added up in f32: megcc_global_pool.h. An average may
// stay so.
#define MEGCC_F16 1

#include "megcc_global_pool.h"

#ifndef MEGCC_SYMBOL
#define MEGCC_SYMBOL megcc_global_pool_nhwc_f16
#endif

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  (void)workspace;
  megcc_global_pool(ptr, attr, begin, end);
}
