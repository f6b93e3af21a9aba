// op: matmul
// isa: simd
// when: rhs_const == 1
// params: ACT=act RESIDUAL=residual BIAS=bias
// tune: MEGCC_GEMM_BLOCK=24,48,192
// pack: rhs=matmul_panels(nr=NR)
// inplace: residual
// let rows = b * m
// let block = min(MEGCC_GEMM_BLOCK, rows)
// let values = up(n, NR) * k
// let panels = 0
// let more = 0
// workspace: 4 * NR * panels * k + MEGCC_GEMM_ENTRY * block
// work: ceil(rows, MEGCC_GEMM_BLOCK) * ceil(n, MEGCC_GEMM_UNIT)
// cost: (block + 8) * min(MEGCC_GEMM_UNIT, n) * k
// instructions: rows * up(n, NR) * (k // 4 + 1) + ceil(rows, 8) * up(n, NR) * (k // 4 + 8) + more
// weights: sizeof(R) * values
// kernel: matmul_f32_packed arch=portable dtype=f32 rank=10 tolerance=2e-6 NR=8
// kernel: matmul_f32_packed_x86 arch=x86 dtype=f32 rank=20 tolerance=2e-6 NR=16
// kernel: matmul_f16_packed arch=portable dtype=f16 rank=10 tolerance=1e-3 NR=8 MEGCC_F16=1
//   more="values * rows // 8"
// kernel: matmul_f16_packed_x86 arch=x86 dtype=f16 rank=20 tolerance=1e-3 NR=16 MEGCC_F16=1
// kernel: matmul_f16_packed_fp16 arch=arm64 isa=fp16 dtype=f16 rank=20 tolerance=5e-3 NR=16
//   MEGCC_F16=2
// kernel: matmul_f16_panels arch=portable dtype=f16 rank=10 tolerance=1e-3 NR=8 MEGCC_F16=1
//   MEGCC_GEMM_PANELS=1 panels=MEGCC_GEMM_PANELS
//   more="values * rows // 16 + values * ceil(rows, MEGCC_GEMM_BLOCK) * 3 // 4"
// kernel: matmul_f16_panels_arm64 arch=arm64 dtype=f16 rank=10 tolerance=1e-3 NR=8 MEGCC_F16=1
//   MEGCC_GEMM_PANELS=3 panels=MEGCC_GEMM_PANELS
//   more="values * rows // 48 + values * ceil(rows, MEGCC_GEMM_BLOCK) * 3 // 4"
// kernel: matmul_wbf16_packed arch=portable dtype="lhs=f32 rhs=bf16 bias=f32 dst=f32" rank=10
//   tolerance=2e-6 NR=8 MEGCC_GEMM_BF16=1 MEGCC_GEMM_PANELS=1 panels=MEGCC_GEMM_PANELS
// kernel: matmul_wbf16_packed_arm64 arch=arm64 dtype="lhs=f32 rhs=bf16 bias=f32 dst=f32" rank=11
//   tolerance=2e-6 NR=8 MEGCC_GEMM_BF16=1 MEGCC_GEMM_PANELS=3 panels=MEGCC_GEMM_PANELS
//
// A constant rhs in panels of columns: megcc_matmul_gemm.h. A single row is split by panels,
// several rows by rows. Panels of 8 columns suit NEON and 4-lane vectors, of 16 AVX2, AVX-512 and
// sums of f16.
// * f16_packed widens f16 as it is loaded, packed_fp16 adds f16.
// * panels: rhs in f16 or bf16, of which a panel at a time becomes floats; on Arm64 as many as its
//   widest tile reads.
// `panels`, `more`: panels that become floats, instructions for widening.
#include "gemm/megcc_matmul_gemm.h"

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  megcc_matmul_packed(ptr, attr, workspace, begin, end);
}
