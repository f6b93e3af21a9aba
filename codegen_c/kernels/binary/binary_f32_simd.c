// kernel: binary_f32_simd
// op: binary
// dtype: f32
// arch: arm64, armv7, x86
// isa: simd
// when: func != BINARY_POW
// rank: 10
// tolerance: 1.5e-7
// params: FUNC=func ACT=act
// inplace: lhs, rhs
// work: size
// cost: 8
//
// The shapes are merged to as few axes as their broadcasting allows; along the last one an operand
// is either contiguous or one value, so all loops are over vectors.
#include "megcc_binary.h"

#ifndef MEGCC_SYMBOL
#define MEGCC_SYMBOL megcc_binary_f32_simd
#endif

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  (void)workspace;
  megcc_binary(ptr, attr, begin, end);
}
