// op: matmul_wq
// isa: simd
// when: m == 1 and int8 == 0
// params: ACT=act RESIDUAL=residual BIAS=bias BITS=bits ZERO=zero CHANNELS=channel_scales
//   SCALE16=(sizeof(S) == 2)
// pack: rhs=wq_panels(nr=MEGCC_WQ_COLS) scale=wq_blocks(nr=MEGCC_WQ_COLS)
//   zero=wq_blocks(nr=MEGCC_WQ_COLS)
// inplace: residual
// work: ceil(n, MEGCC_WQ_COLS)
// cost: 3 * MEGCC_WQ_COLS * k
// kernel: matmul_wq_f32_row arch=portable dtype=f32 rank=20 tolerance=2e-6 without=SCALE16
// kernel: matmul_wq_f16_row arch=portable dtype="lhs=f16 scale=f16,f32" rank=20 tolerance=1e-3
//   MEGCC_F16=1 workspace="4 * k"
//
// One row: megcc_matmul_wq_row.h, in f32.
#include "gemm/megcc_matmul_wq_row.h"

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  megcc_matmul_wq_row(ptr, attr, workspace, 0, begin, end);
}
