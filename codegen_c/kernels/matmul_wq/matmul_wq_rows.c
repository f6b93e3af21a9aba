// op: matmul_wq
// isa: simd
// when: int8 == 0
// params: ACT=act RESIDUAL=residual BIAS=bias BITS=bits ZERO=zero CHANNELS=channel_scales
//   SCALE16=(sizeof(S) == 2)
// tune: MEGCC_WQ_FEW=0,1,4
// pack: rhs=wq_panels(nr=MEGCC_WQ_COLS) scale=wq_blocks(nr=MEGCC_WQ_COLS)
//   zero=wq_blocks(nr=MEGCC_WQ_COLS)
// workspace: 64 * min(MEGCC_GEMM_BLOCK // 8, ceil(m, 8)) + sizeof(L) * k * MEGCC_WQ_COLS
// inplace: residual
// work: ceil(n, MEGCC_WQ_COLS)
// cost: (m + 8) * MEGCC_WQ_COLS * k
// kernel: matmul_wq_f32 arch=portable dtype=f32 rank=10 tolerance=2e-6 without=SCALE16
// kernel: matmul_wq_f16 arch=portable dtype="lhs=f16 scale=f16,f32" rank=10 tolerance=2e-3
//   NR=8 MEGCC_F16=1
// kernel: matmul_wq_f16_fp16 arch=arm64 isa=fp16 dtype="lhs=f16 scale=f16,f32" rank=15
//   tolerance=1e-2 tune="" NR=16 MEGCC_F16=2
//
// Several rows: megcc_matmul_wq_rows.h; up to MEGCC_WQ_FEW as matmul_wq_f32_row. f16 is widened as
// it is loaded, or its sums are of f16.
#if !defined(NR) && defined(__AVX2__)
#define NR 16
#elif !defined(NR)
#define NR 8
#endif

#include "gemm/megcc_matmul_wq_rows.h"

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  megcc_matmul_wq(ptr, attr, workspace, begin, end);
}
