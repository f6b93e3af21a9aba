// op: layer_norm
// isa: simd
// params: SCALE=scale BIAS=bias RMS=rms
// inplace: x
// work: outer
// cost: 16 * inner
// kernel: layer_norm_f32_simd dtype=f32 arch="arm64, armv7, x86" rank=10 tolerance=2e-6
// kernel: layer_norm_f32_mve dtype=f32 arch=cortexm isa=mve.fp rank=10 tolerance=2e-6
// kernel: layer_norm_f16 dtype=f16 arch=portable rank=0 tolerance=2e-3 MEGCC_F16=1
//
// Mean, then the mean of squared differences, then the row; two vectors of partial sums:
// megcc_layer_norm.h. f16 is widened as it is loaded; sums in f32.
#include "megcc_layer_norm.h"

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  (void)workspace;
  megcc_layer_norm(ptr, attr, begin, end);
}
