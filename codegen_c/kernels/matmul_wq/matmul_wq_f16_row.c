// kernel: matmul_wq_f16_row
// like: matmul_wq_f32_row
// dtype: lhs=f16 scale=f16,f32
// arch: portable
// isa: simd
// rank: 20
// tolerance: 1e-3
// params: ACT=act RESIDUAL=residual BIAS=bias BITS=bits ZERO=zero CHANNELS=channel_scales
//   SCALE16=(sizeof(S) == 2)
// workspace: 4 * k
//
// One row: megcc_matmul_wq_row.h, in f32.
#define MEGCC_F16 1

#include "gemm/megcc_matmul_wq_row.h"

#ifndef MEGCC_SYMBOL
#define MEGCC_SYMBOL megcc_matmul_wq_f16_row
#endif

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  megcc_matmul_wq_row(ptr, attr, workspace, 0, begin, end);
}
