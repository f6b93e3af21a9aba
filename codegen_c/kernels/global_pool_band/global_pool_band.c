// op: global_pool_band
// isa: simd
// params: FUNC=func WIDE=(sizeof(Y) == 4)
// inplace: before
// work: ceil(c, BLOCK)
// cost: 256 * hw
// kernel: global_pool_band_f32 dtype="x=f32 y=f32" arch=portable rank=0 tolerance=2e-6 BAND=1
//   without=WIDE
// kernel: global_pool_band_f32_mve dtype="x=f32 y=f32" arch=cortexm isa=mve.fp rank=10
//   tolerance=2e-6 BAND=1 without=WIDE
// kernel: global_pool_band_f16 dtype="x=f16 y=f16,f32" arch=portable
//   when="sizeof(Y) == 2 or func == GLOBAL_POOL_AVG" rank=0
//   tolerance="1e-3 if sizeof(Y) == 2 else 2e-6" BAND=1 MEGCC_F16=1
//
// The sums of all kernels of global_pool are in the order of megcc_global_pool.h; of two zeros the
// later one is the larger.
#include "megcc_global_pool.h"

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  (void)workspace;
  megcc_global_pool(ptr, attr, begin, end);
}
