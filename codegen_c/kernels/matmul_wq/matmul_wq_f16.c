// kernel: matmul_wq_f16
// like: matmul_wq_f32
// dtype: lhs=f16 scale=f16,f32
// arch: portable
// isa: simd
// rank: 10
// tolerance: 2e-3
// params: ACT=act RESIDUAL=residual BIAS=bias BITS=bits ZERO=zero CHANNELS=channel_scales
//   SCALE16=(sizeof(S) == 2)
//
// Several rows: megcc_matmul_wq_rows.h. f16 is widened as it is loaded.
#define MEGCC_F16 1
#define NR 8

#include "gemm/megcc_matmul_wq_rows.h"

#ifndef MEGCC_SYMBOL
#define MEGCC_SYMBOL megcc_matmul_wq_f16
#endif

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  megcc_matmul_wq(ptr, attr, workspace, begin, end);
}
