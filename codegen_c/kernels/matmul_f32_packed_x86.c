// kernel: matmul_f32_packed_x86
// op: matmul
// dtype: f32
// arch: x86
// isa: simd
// when: rhs_const == 1
// rank: 20
// params: ACT=act RESIDUAL=residual BIAS=bias
// pack: 1=matmul_panels(nr=16)
// workspace: 8 * min(96, b * m)
// inplace: 2 + bias
// work: (b * m + 95) // 96 * ((n + 15) // 16)
// cost: (min(96, b * m) + 8) * min(16, n) * k
//
// A constant rhs in panels of 16 columns (AVX2, AVX-512): megcc_matmul_gemm.h. A single row is
// split by panels, several rows by rows.
#define NR 16

#include "megcc_matmul_gemm.h"

#ifndef MEGCC_SYMBOL
#define MEGCC_SYMBOL megcc_matmul_f32_packed_x86
#endif

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  megcc_matmul_packed(ptr, attr, workspace, begin, end);
}
