// kernel: matmul_f16_dynamic_fp16
// like: matmul_f32_dynamic
// dtype: f16
// arch: arm64
// isa: fp16
// rank: 21
// tolerance: 5e-3
// tune: MEGCC_GEMM_BLOCK=24,48,192
//
// Any rhs: so many columns at a time go into panels in the workspace, then all rows of the batch
// run over them (megcc_matmul_dynamic.h). Sums of f16.
#define MEGCC_F16 2
#define NR 16
#define MEGCC_MATMUL_COLS 48

#include "gemm/megcc_matmul_dynamic.h"

#ifndef MEGCC_SYMBOL
#define MEGCC_SYMBOL megcc_matmul_f16_dynamic_fp16
#endif

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  megcc_matmul_dynamic(ptr, attr, workspace, begin, end);
}
