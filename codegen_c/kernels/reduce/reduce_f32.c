// kernel: reduce_f32
// op: reduce
// dtype: f32
// arch: portable
// isa: simd
// rank: 0
// tolerance: 1e-6
// params: FUNC=func ROWS=(inner == 1)
// work: outer * inner
// cost: 4 * axis
//
// ROWS: along contiguous lines, four vectors of partial results. Otherwise a vector of neighbouring
// lines at a time, two partial results each.
#include "megcc_reduce.h"

#ifndef MEGCC_SYMBOL
#define MEGCC_SYMBOL megcc_reduce_f32
#endif

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  (void)workspace;
  megcc_reduce(ptr, attr, begin, end);
}
