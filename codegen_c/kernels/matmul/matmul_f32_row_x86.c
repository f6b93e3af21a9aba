// kernel: matmul_f32_row_x86
// like: matmul_f32_row
// arch: x86
// rank: 25
//
// One row by a constant rhs in panels of 16 columns (AVX2, AVX-512): megcc_matmul_gemm.h with tiles
// of one row only, eight vectors wide.
#define NR 16
#define MEGCC_GEMM_ONE_ROW

#include "gemm/megcc_matmul_gemm.h"

#ifndef MEGCC_SYMBOL
#define MEGCC_SYMBOL megcc_matmul_f32_row_x86
#endif

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  (void)workspace;
  megcc_matmul_row(ptr, attr, begin, end);
}
