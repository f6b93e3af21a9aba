// kernel: matmul_f16_row_fp16
// like: matmul_f32_row
// dtype: f16
// arch: arm64
// isa: fp16
// rank: 25
// tolerance: 5e-3
//
// One row by a constant rhs in panels of 16 columns: megcc_matmul_gemm.h with tiles of one row
// only. Sums of f16.
#define MEGCC_F16 2
#define NR 16
#define MEGCC_GEMM_ONE_ROW

#include "gemm/megcc_matmul_gemm.h"

#ifndef MEGCC_SYMBOL
#define MEGCC_SYMBOL megcc_matmul_f16_row_fp16
#endif

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  (void)workspace;
  megcc_matmul_row(ptr, attr, begin, end);
}
