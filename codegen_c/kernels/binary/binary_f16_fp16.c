// kernel: binary_f16_fp16
// like: binary_f32_simd
// dtype: f16
// arch: arm64
// isa: fp16
// rank: 10
// tolerance: 1.5e-3
//
// Vectors of eight f16: megcc_binary.h.
#define MEGCC_F16 2

#include "megcc_binary.h"

#ifndef MEGCC_SYMBOL
#define MEGCC_SYMBOL megcc_binary_f16_fp16
#endif

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  (void)workspace;
  megcc_binary(ptr, attr, begin, end);
}
