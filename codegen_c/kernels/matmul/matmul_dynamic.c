// op: matmul
// isa: simd
// when: rhs_const == 0
// params: ACT=act RESIDUAL=residual BIAS=bias TRANS_B=trans_b
// tune: MEGCC_GEMM_BLOCK=24,48,192 MEGCC_MATMUL_FEW=0,1,4
// inplace: residual
// workspace: 64 * min(MEGCC_GEMM_BLOCK // 8, ceil(m, 8))
//   + sizeof(L) * k * NR * min(MEGCC_MATMUL_COLS // NR, ceil(n, NR))
// work: b * ceil(n, MEGCC_MATMUL_COLS)
// cost: (m + 8) * min(MEGCC_MATMUL_COLS, n) * k
// kernel: matmul_f32_dynamic arch=portable dtype=f32 rank=11 tolerance=2e-6
//   NR=8 MEGCC_MATMUL_COLS=24
// kernel: matmul_f32_dynamic_x86 arch=x86 dtype=f32 rank=20 tolerance=2e-6
//   NR=16 MEGCC_MATMUL_COLS=32
// kernel: matmul_f16_dynamic arch=portable dtype=f16 rank=11 tolerance=1e-3
//   NR=8 MEGCC_MATMUL_COLS=24 MEGCC_F16=1
// kernel: matmul_f16_dynamic_fp16 arch=arm64 isa=fp16 dtype=f16 rank=21 tolerance=5e-3
//   NR=16 MEGCC_MATMUL_COLS=48 MEGCC_F16=2 tune=MEGCC_GEMM_BLOCK=24,48,192
//
// Any rhs: MEGCC_MATMUL_COLS columns at a time (Arm64's widest tile; panels of 16 columns suit AVX2
// and AVX-512) go into panels in the workspace, then all rows of the batch run over them
// (megcc_matmul_dynamic.h); up to MEGCC_MATMUL_FEW rows, four times as many where rhs is
// transposed, read it where it is. f16 is widened as it is loaded, or its sums are of f16.
#include "gemm/megcc_matmul_dynamic.h"

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  megcc_matmul_dynamic(ptr, attr, workspace, begin, end);
}
