// kernel: matmul_f32_strassen_x86
// like: matmul_f32_strassen
// arch: x86
// rank: 20
//
// A constant rhs by one level of Strassen's product: megcc_strassen.h. Panels of 16 columns suit
// AVX2 and AVX-512.
#define MEGCC_STRASSEN_COLS 64
#define NR 16

#include "gemm/megcc_strassen_matmul.h"

#ifndef MEGCC_SYMBOL
#define MEGCC_SYMBOL megcc_matmul_f32_strassen_x86
#endif

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  megcc_strassen_matmul(ptr, attr, workspace, begin, end);
}
