// kernel: matmul_wbf16_row
// like: matmul_f32_row
// dtype: lhs=f32 rhs=bf16 bias=f32 dst=f32
//
// One row by a constant rhs in bf16, which is widened as it is loaded: megcc_matmul_gemm.h.
#define MEGCC_GEMM_BF16
#define NR 8
#define MEGCC_GEMM_ONE_ROW

#include "gemm/megcc_matmul_gemm.h"

#ifndef MEGCC_SYMBOL
#define MEGCC_SYMBOL megcc_matmul_wbf16_row
#endif

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  (void)workspace;
  megcc_matmul_row(ptr, attr, begin, end);
}
