// kernel: matmul_f32_packed
// op: matmul
// dtype: f32
// arch: portable
// isa: simd
// when: rhs_const == 1
// rank: 10
// params: ACT=act RESIDUAL=residual BIAS=bias
// pack: 1=matmul_panels(nr=8)
// workspace: 8 * min(96, b * m)
// inplace: 2 + bias
// work: (b * m + 95) // 96 * ((n + 15) // 16)
// cost: (min(96, b * m) + 8) * min(16, n) * k
//
// A constant rhs in panels of 8 columns (NEON, 4-lane vectors): megcc_matmul_gemm.h. A single row
// is split by panels, several rows by rows.
#define NR 8

#include "megcc_matmul_gemm.h"

#ifndef MEGCC_SYMBOL
#define MEGCC_SYMBOL megcc_matmul_f32_packed
#endif

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  megcc_matmul_packed(ptr, attr, workspace, begin, end);
}
