// kernel: unary_f32_simd
// op: unary
// dtype: f32
// arch: arm64, armv7, x86
// isa: simd
// when: func <= MEGCC_ACT_ELU or func in (UNARY_EXP, UNARY_SQRT, UNARY_RSQRT, UNARY_NEG,
//   UNARY_ABS, UNARY_FLOOR, UNARY_CEIL, UNARY_ROUND, UNARY_ERF, UNARY_SIGN,
//   UNARY_SQUARE, UNARY_TRUNC)
// rank: 10
// params: FUNC=func
// inplace: x
// work: size
// cost: 24
//
// One vector at a time, the tail as a shorter vector: an element's bits do not depend on its place.
#include "megcc_unary.h"

#ifndef MEGCC_SYMBOL
#define MEGCC_SYMBOL megcc_unary_f32_simd
#endif

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  (void)workspace;
  megcc_unary(ptr, attr, begin, end);
}
