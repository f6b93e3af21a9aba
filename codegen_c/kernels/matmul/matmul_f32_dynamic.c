// kernel: matmul_f32_dynamic
// op: matmul
// dtype: f32
// arch: portable
// isa: simd
// when: rhs_const == 0
// rank: 11
// tolerance: 2e-6
// params: ACT=act RESIDUAL=residual BIAS=bias TRANS_B=trans_b
// tune: MEGCC_GEMM_BLOCK=24,48,192 MEGCC_MATMUL_FEW=0,1,4
// workspace: 64 * min(MEGCC_GEMM_BLOCK // 8, ceil(m, 8)) + sizeof(L) * k * NR
//   * min(MEGCC_MATMUL_COLS // NR, ceil(n, NR))
// inplace: residual
// work: b * ceil(n, MEGCC_MATMUL_COLS)
// cost: (m + 8) * min(MEGCC_MATMUL_COLS, n) * k
//
// Any rhs: 24 columns at a time (Arm64's widest tile) go into panels in the workspace, then all
// rows of the batch run over them (megcc_matmul_dynamic.h); up to MEGCC_MATMUL_FEW rows, four times
// as many where rhs is transposed, read it where it is.
#define NR 8
#define MEGCC_MATMUL_COLS 24

#include "gemm/megcc_matmul_dynamic.h"

#ifndef MEGCC_SYMBOL
#define MEGCC_SYMBOL megcc_matmul_f32_dynamic
#endif

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  megcc_matmul_dynamic(ptr, attr, workspace, begin, end);
}
