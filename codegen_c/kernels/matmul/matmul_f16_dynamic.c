// kernel: matmul_f16_dynamic
// like: matmul_f32_dynamic
// dtype: f16
// arch: portable
// isa: simd
// rank: 11
// tolerance: 1e-3
//
// Any rhs: so many columns at a time go into panels in the workspace, then all rows of the batch
// run over them (megcc_matmul_dynamic.h). f16 is widened as it is loaded.
#define MEGCC_F16 1
#define NR 8
#define MEGCC_MATMUL_COLS 24

#include "gemm/megcc_matmul_dynamic.h"

#ifndef MEGCC_SYMBOL
#define MEGCC_SYMBOL megcc_matmul_f16_dynamic
#endif

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  megcc_matmul_dynamic(ptr, attr, workspace, begin, end);
}
