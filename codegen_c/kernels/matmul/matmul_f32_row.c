// kernel: matmul_f32_row
// op: matmul
// dtype: f32
// arch: portable
// isa: simd
// when: rhs_const == 1 and b * m == 1
// rank: 15
// tolerance: 2e-6
// params: ACT=act RESIDUAL=residual BIAS=bias
// pack: rhs=matmul_panels(nr=NR)
// inplace: residual
// work: ceil(n, MEGCC_GEMM_UNIT)
// cost: min(MEGCC_GEMM_UNIT, n) * k
//
// One row by a constant rhs in panels of 8 columns (NEON, 4-lane vectors): megcc_matmul_gemm.h with
// tiles of one row only, so little code.
#define NR 8
#define MEGCC_GEMM_ONE_ROW

#include "gemm/megcc_matmul_gemm.h"

#ifndef MEGCC_SYMBOL
#define MEGCC_SYMBOL megcc_matmul_f32_row
#endif

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  (void)workspace;
  megcc_matmul_row(ptr, attr, begin, end);
}
