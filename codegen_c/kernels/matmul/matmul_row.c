// op: matmul
// isa: simd
// when: rhs_const == 1 and b * m == 1
// params: ACT=act RESIDUAL=residual BIAS=bias
// pack: rhs=matmul_panels(nr=NR)
// inplace: residual
// work: ceil(n, MEGCC_GEMM_UNIT)
// cost: min(MEGCC_GEMM_UNIT, n) * k
// kernel: matmul_f32_row arch=portable dtype=f32 rank=15 tolerance=2e-6 NR=8
// kernel: matmul_f32_row_x86 arch=x86 dtype=f32 rank=25 tolerance=2e-6 NR=16
// kernel: matmul_f16_row arch=portable dtype=f16 rank=15 tolerance=1e-3 NR=8 MEGCC_F16=1
// kernel: matmul_f16_row_fp16 arch=arm64 isa=fp16 dtype=f16 rank=25 tolerance=5e-3 NR=16
//   MEGCC_F16=2
// kernel: matmul_wbf16_row arch=portable dtype="lhs=f32 rhs=bf16 bias=f32 dst=f32" rank=15
//   tolerance=2e-6 NR=8 MEGCC_GEMM_BF16=1
//
// One row by a constant rhs in panels of columns: megcc_matmul_gemm.h with tiles of one row only,
// so little code. Panels of 8 columns suit NEON and 4-lane vectors, of 16 AVX2, AVX-512 and sums of
// f16. f16 (but for row_fp16, which adds f16) and bf16 are widened as they are loaded.
#define MEGCC_GEMM_ONE_ROW

#include "gemm/megcc_matmul_gemm.h"

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  (void)workspace;
  megcc_matmul_row(ptr, attr, begin, end);
}
