// kernel: matmul_f16_packed_x86
// like: matmul_f32_packed
// dtype: f16
// arch: x86
// isa: simd
// rank: 20
// tolerance: 1e-3
//
// A constant rhs in panels of 16 columns (AVX2, AVX-512): megcc_matmul_gemm.h. f16 is widened as it
// is loaded.
#define MEGCC_F16 1
#define NR 16

#include "gemm/megcc_matmul_gemm.h"

#ifndef MEGCC_SYMBOL
#define MEGCC_SYMBOL megcc_matmul_f16_packed_x86
#endif

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  megcc_matmul_packed(ptr, attr, workspace, begin, end);
}
