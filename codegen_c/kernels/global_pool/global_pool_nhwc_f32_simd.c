// kernel: global_pool_nhwc_f32_simd
// op: global_pool
// dtype: f32
// arch: arm64, armv7, x86
// isa: simd
// rank: 10
// tolerance: 2e-6
// params: FUNC=func
// work: n * ceil(c, BLOCK)
// cost: 256 * hw
//
// A work item is 64 channels of one image: four vectors at a time stay in registers over all
// pixels.
#include "megcc_global_pool.h"

#ifndef MEGCC_SYMBOL
#define MEGCC_SYMBOL megcc_global_pool_nhwc_f32_simd
#endif

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  (void)workspace;
  megcc_global_pool(ptr, attr, begin, end);
}
