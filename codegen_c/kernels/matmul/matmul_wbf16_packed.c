// kernel: matmul_wbf16_packed
// like: matmul_f32_packed
// dtype: lhs=f32 rhs=bf16 bias=f32 dst=f32
// workspace: sizeof(L) * NR * MEGCC_GEMM_PANELS * k
//   + MEGCC_GEMM_ENTRY * min(MEGCC_GEMM_BLOCK, b * m)
//
// A constant rhs in bf16, of which a panel of 8 columns at a time becomes floats:
// megcc_matmul_gemm.h.
#define MEGCC_GEMM_BF16
#define MEGCC_GEMM_PANELS 1
#define NR 8

#include "gemm/megcc_matmul_gemm.h"

#ifndef MEGCC_SYMBOL
#define MEGCC_SYMBOL megcc_matmul_wbf16_packed
#endif

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  megcc_matmul_packed(ptr, attr, workspace, begin, end);
}
