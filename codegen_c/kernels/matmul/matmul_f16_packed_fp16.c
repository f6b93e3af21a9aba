// kernel: matmul_f16_packed_fp16
// like: matmul_f32_packed
// dtype: f16
// arch: arm64
// isa: fp16
// rank: 20
// tolerance: 5e-3
//
// A constant rhs in panels of 16 columns: megcc_matmul_gemm.h. Sums of f16.
#define MEGCC_F16 2
#define NR 16

#include "gemm/megcc_matmul_gemm.h"

#ifndef MEGCC_SYMBOL
#define MEGCC_SYMBOL megcc_matmul_f16_packed_fp16
#endif

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  megcc_matmul_packed(ptr, attr, workspace, begin, end);
}
