// kernel: matmul_f32_dynamic
// op: matmul
// dtype: f32
// arch: portable
// isa: simd
// when: rhs_const == 0
// rank: 11
// params: ACT=act RESIDUAL=residual BIAS=bias TRANS_B=trans_b
// workspace: 64 * (min(12, (m + 7) // 8) + k * min(2, (n + 15) // 16))
// inplace: 2 + bias
// work: b * ((n + 31) // 32)
// cost: (m + 8) * min(32, n) * k
//
// Any rhs: 32 columns at a time go into panels in the workspace, then all rows of the batch run
// over them (megcc_matmul_gemm.h).
#define NR 16

#include "megcc_matmul_gemm.h"

#ifndef MEGCC_SYMBOL
#define MEGCC_SYMBOL megcc_matmul_f32_dynamic
#endif

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  megcc_matmul_dynamic(ptr, attr, workspace, begin, end);
}
