// kernel: matmul_f32_dynamic_x86
// like: matmul_f32_dynamic
// arch: x86
// rank: 20
//
// Any rhs: 32 columns at a time go into panels of 16 columns (AVX2, AVX-512) in the workspace, then
// all rows of the batch run over them (megcc_matmul_dynamic.h).
#define NR 16
#define MEGCC_MATMUL_COLS 32

#include "gemm/megcc_matmul_dynamic.h"

#ifndef MEGCC_SYMBOL
#define MEGCC_SYMBOL megcc_matmul_f32_dynamic_x86
#endif

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  megcc_matmul_dynamic(ptr, attr, workspace, begin, end);
}
