// kernel: matmul_wq_f32_row
// op: matmul_wq
// dtype: f32
// arch: portable
// isa: simd
// when: m == 1
// rank: 20
// tolerance: 2e-6
// params: ACT=act RESIDUAL=residual BIAS=bias BITS=bits ZERO=zero CHANNELS=channel_scales
// pack: rhs=wq_panels(nr=MEGCC_WQ_COLS) scale=wq_blocks(nr=MEGCC_WQ_COLS)
//   zero=wq_blocks(nr=MEGCC_WQ_COLS)
// inplace: residual
// work: ceil(n, MEGCC_WQ_COLS)
// cost: 3 * MEGCC_WQ_COLS * k
//
// One row: megcc_matmul_wq_row.h.
#include "gemm/megcc_matmul_wq_row.h"

#ifndef MEGCC_SYMBOL
#define MEGCC_SYMBOL megcc_matmul_wq_f32_row
#endif

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  megcc_matmul_wq_row(ptr, attr, workspace, 0, begin, end);
}
