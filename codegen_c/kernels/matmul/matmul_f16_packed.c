// kernel: matmul_f16_packed
// like: matmul_f32_packed
// dtype: f16
// arch: portable
// isa: simd
// rank: 10
// tolerance: 1e-3
// instructions: b * m * up(n, NR) * (k // 4 + 1) + ceil(b * m, 8) * up(n, NR) * (k // 4 + 8)
//   + up(n, NR) * k * b * m // 8
//
// A constant rhs in panels of 8 columns: megcc_matmul_gemm.h. f16 is widened as it is loaded.
#define MEGCC_F16 1
#define NR 8

#include "gemm/megcc_matmul_gemm.h"

#ifndef MEGCC_SYMBOL
#define MEGCC_SYMBOL megcc_matmul_f16_packed
#endif

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  megcc_matmul_packed(ptr, attr, workspace, begin, end);
}
