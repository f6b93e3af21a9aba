// op: unary
// isa: simd
// when: func <= MEGCC_ACT_ELU or func in (UNARY_EXP, UNARY_SQRT, UNARY_RSQRT, UNARY_NEG, UNARY_ABS,
//   UNARY_FLOOR, UNARY_CEIL, UNARY_ROUND, UNARY_ERF, UNARY_SIGN, UNARY_SQUARE, UNARY_TRUNC)
//   or func in (UNARY_LOG, UNARY_SIN, UNARY_COS) and sizeof(T) == 4
// params: FUNC=func
// inplace: x
// work: size
// cost: 24
// kernel: unary_f32_simd dtype=f32 arch="arm64, armv7, x86" rank=10
// kernel: unary_f32_mve dtype=f32 arch=cortexm isa=mve.fp rank=10
// kernel: unary_f16 dtype=f16 arch=portable rank=0 tolerance=1e-3 MEGCC_F16=1
//
// One vector at a time, the tail as a shorter vector: an element's bits do not depend on its place:
// megcc_unary.h. f16 is widened as it is loaded and computed in f32.
#include "megcc_unary.h"

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  (void)workspace;
  megcc_unary(ptr, attr, begin, end);
}
