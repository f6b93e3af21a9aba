// op: global_pool
// isa: simd
// params: FUNC=func WIDE=(sizeof(Y) == 4)
// work: n * ceil(c, BLOCK)
// cost: 256 * hw
// kernel: global_pool_nhwc_f32_simd dtype=f32 arch="arm64, armv7, x86" rank=10 tolerance=2e-6
//   without=WIDE
// kernel: global_pool_nhwc_f32_mve dtype=f32 arch=cortexm isa=mve.fp rank=10 tolerance=2e-6
//   without=WIDE
// kernel: global_pool_nhwc_f16 dtype="x=f16 y=f16,f32" arch=portable
//   when="sizeof(Y) == 2 or func == GLOBAL_POOL_AVG" rank=0
//   tolerance="1e-3 if sizeof(Y) == 2 else 2e-6" MEGCC_F16=1
//
// A work item is 64 channels of one image: four vectors at a time stay in registers over all
// pixels: megcc_global_pool.h. f16 is added up in f32, and an average may stay so.
#include "megcc_global_pool.h"

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  (void)workspace;
  megcc_global_pool(ptr, attr, begin, end);
}
