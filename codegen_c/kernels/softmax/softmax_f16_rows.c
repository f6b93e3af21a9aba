// kernel: softmax_f16_rows
// like: softmax_f32_rows_simd
// dtype: f16
// arch: portable
// isa: simd
// rank: 0
// tolerance: 1e-3
//
// Along contiguous rows, in f32: megcc_softmax_rows.h. f16 is widened as it is loaded.
#define MEGCC_F16 1

#include "megcc_softmax_rows.h"

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  (void)workspace;
  megcc_softmax_rows(ptr, attr, begin, end);
}
