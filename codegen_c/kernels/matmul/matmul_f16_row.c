// kernel: matmul_f16_row
// like: matmul_f32_row
// dtype: f16
// arch: portable
// isa: simd
// rank: 15
// tolerance: 1e-3
//
// One row by a constant rhs in panels of 8 columns: megcc_matmul_gemm.h with tiles of one row
// only. f16 is widened as it is loaded.
#define MEGCC_F16 1
#define NR 8
#define MEGCC_GEMM_ONE_ROW

#include "gemm/megcc_matmul_gemm.h"

#ifndef MEGCC_SYMBOL
#define MEGCC_SYMBOL megcc_matmul_f16_row
#endif

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  (void)workspace;
  megcc_matmul_row(ptr, attr, begin, end);
}
