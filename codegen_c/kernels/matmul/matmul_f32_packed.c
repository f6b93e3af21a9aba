// kernel: matmul_f32_packed
// op: matmul
// dtype: f32
// arch: portable
// isa: simd
// when: rhs_const == 1
// rank: 10
// tolerance: 2e-6
// params: ACT=act RESIDUAL=residual BIAS=bias
// tune: MEGCC_GEMM_BLOCK=24,48,192
// pack: rhs=matmul_panels(nr=NR)
// workspace: MEGCC_GEMM_ENTRY * min(MEGCC_GEMM_BLOCK, b * m)
// inplace: residual
// work: ceil(b * m, MEGCC_GEMM_BLOCK) * ceil(n, MEGCC_GEMM_UNIT)
// cost: (min(MEGCC_GEMM_BLOCK, b * m) + 8) * min(MEGCC_GEMM_UNIT, n) * k
// instructions: b * m * up(n, NR) * (k // 4 + 1) + ceil(b * m, 8) * up(n, NR) * (k // 4 + 8)
// weights: sizeof(R) * up(n, NR) * k
//
// A constant rhs in panels of 8 columns (NEON, 4-lane vectors): megcc_matmul_gemm.h. A single row
// is split by panels, several rows by rows.
#define NR 8

#include "gemm/megcc_matmul_gemm.h"

#ifndef MEGCC_SYMBOL
#define MEGCC_SYMBOL megcc_matmul_f32_packed
#endif

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  megcc_matmul_packed(ptr, attr, workspace, begin, end);
}
