// op: binary
// isa: simd
// when: func != BINARY_POW
// params: FUNC=func ACT=act
// inplace: lhs, rhs
// work: size
// cost: 8
// kernel: binary_f32_simd dtype=f32 arch="arm64, armv7, x86" rank=10 tolerance=1.5e-7
// kernel: binary_f32_mve dtype=f32 arch=cortexm isa=mve.fp rank=10 tolerance=1.5e-7
// kernel: binary_f16 dtype=f16 arch=portable rank=0 tolerance=1e-3 MEGCC_F16=1
// kernel: binary_f16_fp16 dtype=f16 arch=arm64 isa=fp16 rank=10 tolerance=1.5e-3 MEGCC_F16=2
//
// The shapes are merged to as few axes as their broadcasting allows; along the last one an operand
// is either contiguous or one value, so all loops are over vectors: megcc_binary.h. f16 is widened
// as it is loaded and computed in f32, or in vectors of eight f16.
#include "megcc_binary.h"

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  (void)workspace;
  megcc_binary(ptr, attr, begin, end);
}
