// kernel: conv2d_nhwc_f32_strassen_x86
// like: conv2d_nhwc_f32_strassen
// arch: x86
// rank: 20
//
// A convolution of one tap as a matrix product by one level of Strassen's: megcc_strassen.h. Panels
// of 16 channels suit AVX2 and AVX-512.
#define MEGCC_STRASSEN_COLS 64
#define NR 16

#include "gemm/megcc_strassen_conv2d.h"

#ifndef MEGCC_SYMBOL
#define MEGCC_SYMBOL megcc_conv2d_nhwc_f32_strassen_x86
#endif

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  megcc_strassen_conv2d(ptr, attr, workspace, begin, end);
}
