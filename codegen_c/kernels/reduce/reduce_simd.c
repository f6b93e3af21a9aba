// op: reduce
// arch: portable
// isa: simd
// rank: 0
// params: FUNC=func ROWS=(inner == 1)
// work: outer * inner
// cost: 4 * axis
// kernel: reduce_f32 dtype=f32 tolerance=1e-6
// kernel: reduce_f16 dtype=f16 tolerance=1e-3 MEGCC_F16=1
//
// ROWS: along contiguous lines, four vectors of partial results. Otherwise a vector of neighbouring
// lines at a time, two partial results each: megcc_reduce.h. f16 is widened as it is loaded;
// results in f32, rounded once.
#include "megcc_reduce.h"

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  (void)workspace;
  megcc_reduce(ptr, attr, begin, end);
}
