// kernel: layer_norm_f16
// like: layer_norm_f32_simd
// dtype: f16
// arch: portable
// isa: simd
// rank: 0
// tolerance: 2e-3
//
// Sums in f32: megcc_layer_norm.h. f16 is widened as it is loaded.
#define MEGCC_F16 1

#include "megcc_layer_norm.h"

#ifndef MEGCC_SYMBOL
#define MEGCC_SYMBOL megcc_layer_norm_f16
#endif

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  (void)workspace;
  megcc_layer_norm(ptr, attr, begin, end);
}
