// kernel: layer_norm_f32_simd
// op: layer_norm
// dtype: f32
// arch: arm64, armv7, x86
// isa: simd
// rank: 10
// tolerance: 2e-6
// params: SCALE=scale BIAS=bias RMS=rms
// inplace: x
// work: outer
// cost: 16 * inner
//
// Mean, then the mean of squared differences, then the row; two vectors of partial sums.
#include "megcc_layer_norm.h"

#ifndef MEGCC_SYMBOL
#define MEGCC_SYMBOL megcc_layer_norm_f32_simd
#endif

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  (void)workspace;
  megcc_layer_norm(ptr, attr, begin, end);
}
