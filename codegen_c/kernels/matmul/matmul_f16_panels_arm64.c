// kernel: matmul_f16_panels_arm64
// like: matmul_f32_packed
// dtype: f16
// arch: arm64
// isa: simd
// rank: 10
// tolerance: 1e-3
// workspace: 4 * NR * MEGCC_GEMM_PANELS * k + MEGCC_GEMM_ENTRY * min(MEGCC_GEMM_BLOCK, b * m)
// instructions: b * m * up(n, NR) * (k // 4 + 1) + ceil(b * m, 8) * up(n, NR) * (k // 4 + 8)
//   + up(n, NR) * k * b * m // 48 + up(n, NR) * k * ceil(b * m, MEGCC_GEMM_BLOCK) * 3 // 4
//
// A constant rhs in f16, of which as many panels of 8 columns at a time become floats as the
// widest tile reads:
// megcc_matmul_gemm.h.
#define MEGCC_F16 1
#define MEGCC_GEMM_PANELS 3
#define NR 8

#include "gemm/megcc_matmul_gemm.h"

#ifndef MEGCC_SYMBOL
#define MEGCC_SYMBOL megcc_matmul_f16_panels_arm64
#endif

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  megcc_matmul_packed(ptr, attr, workspace, begin, end);
}
