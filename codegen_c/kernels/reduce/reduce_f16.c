// kernel: reduce_f16
// like: reduce_f32
// dtype: f16
// arch: portable
// isa: simd
// rank: 0
// tolerance: 1e-3
//
// Results in f32, rounded once: megcc_reduce.h. f16 is widened as it is loaded.
#define MEGCC_F16 1

#include "megcc_reduce.h"

#ifndef MEGCC_SYMBOL
#define MEGCC_SYMBOL megcc_reduce_f16
#endif

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  (void)workspace;
  megcc_reduce(ptr, attr, begin, end);
}
