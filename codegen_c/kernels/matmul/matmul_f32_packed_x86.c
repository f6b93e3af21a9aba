// kernel: matmul_f32_packed_x86
// like: matmul_f32_packed
// arch: x86
// rank: 20
//
// A constant rhs in panels of 16 columns (AVX2, AVX-512): megcc_matmul_gemm.h. A single row is
// split by panels, several rows by rows.
#define NR 16

#include "gemm/megcc_matmul_gemm.h"

#ifndef MEGCC_SYMBOL
#define MEGCC_SYMBOL megcc_matmul_f32_packed_x86
#endif

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  megcc_matmul_packed(ptr, attr, workspace, begin, end);
}
