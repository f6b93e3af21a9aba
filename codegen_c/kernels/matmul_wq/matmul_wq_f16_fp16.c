// kernel: matmul_wq_f16_fp16
// like: matmul_wq_f32
// dtype: lhs=f16 scale=f16,f32
// arch: arm64
// isa: fp16
// rank: 15
// tolerance: 1e-2
// tune:
// params: ACT=act RESIDUAL=residual BIAS=bias BITS=bits ZERO=zero CHANNELS=channel_scales
//   SCALE16=(sizeof(S) == 2)
//
// Several rows: megcc_matmul_wq_rows.h. Sums of f16.
#define MEGCC_F16 2
#define NR 16

#include "gemm/megcc_matmul_wq_rows.h"

#ifndef MEGCC_SYMBOL
#define MEGCC_SYMBOL megcc_matmul_wq_f16_fp16
#endif

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  megcc_matmul_wq(ptr, attr, workspace, begin, end);
}
