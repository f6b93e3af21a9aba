// kernel: matmul_wq_f32
// op: matmul_wq
// dtype: f32
// arch: portable
// isa: simd
// rank: 10
// tolerance: 2e-6
// params: ACT=act RESIDUAL=residual BIAS=bias BITS=bits ZERO=zero CHANNELS=channel_scales
// tune: MEGCC_WQ_FEW=0,1,4
// pack: rhs=wq_panels(nr=MEGCC_WQ_COLS) scale=wq_blocks(nr=MEGCC_WQ_COLS)
//   zero=wq_blocks(nr=MEGCC_WQ_COLS)
// workspace: 64 * min(MEGCC_GEMM_BLOCK // 8, ceil(m, 8)) + sizeof(L) * k * MEGCC_WQ_COLS
// inplace: residual
// work: ceil(n, MEGCC_WQ_COLS)
// cost: (m + 8) * MEGCC_WQ_COLS * k
//
// Several rows: megcc_matmul_wq_rows.h; up to MEGCC_WQ_FEW as matmul_wq_f32_row.
#if defined(__AVX2__)
#define NR 16
#else
#define NR 8
#endif

#include "gemm/megcc_matmul_wq_rows.h"

#ifndef MEGCC_SYMBOL
#define MEGCC_SYMBOL megcc_matmul_wq_f32
#endif

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  megcc_matmul_wq(ptr, attr, workspace, begin, end);
}
