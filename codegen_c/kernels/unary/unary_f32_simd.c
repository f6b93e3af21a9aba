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
#include "op/unary.h"

#ifndef MEGCC_SYMBOL
#define MEGCC_SYMBOL megcc_unary_f32_simd
#endif
#ifndef FUNC
#define FUNC MEGCC_ACT_RELU
#endif

#if FUNC < UNARY_EXP
#define ACT FUNC
#endif
#include "megcc_act.h"

MEGCC_INLINE megcc_vf apply(megcc_vf x, megcc_vf a, megcc_vf b) {
  (void)a, (void)b;
#if FUNC < UNARY_EXP
  return megcc_act_vf(x, a, b);
#elif FUNC == UNARY_EXP
  return megcc_vf_exp(x);
#elif FUNC == UNARY_SQRT
  return megcc_vf_sqrt(x);
#elif FUNC == UNARY_RSQRT
  return megcc_vf_div(megcc_vf_dup(1.0f), megcc_vf_sqrt(x));
#elif FUNC == UNARY_NEG
  return megcc_vf_neg(x);
#elif FUNC == UNARY_ABS
  return megcc_vf_abs(x);
#elif FUNC == UNARY_FLOOR
  return megcc_vf_floor(x);
#elif FUNC == UNARY_CEIL
  return megcc_vf_ceil(x);
#elif FUNC == UNARY_ROUND
  return megcc_vf_round(x);
#elif FUNC == UNARY_TRUNC
  return megcc_vf_trunc(x);
#elif FUNC == UNARY_ERF
  return megcc_vf_erf(x);
#elif FUNC == UNARY_SQUARE
  return megcc_vf_mul(x, x);
#elif FUNC == UNARY_SIGN
  const megcc_vf one = megcc_vf_copysign(megcc_vf_dup(1.0f), x), zero = megcc_vf_dup(0.0f);
  return megcc_vf_select(megcc_vm_or(megcc_vf_lt(x, zero), megcc_vf_lt(zero, x)), one, x);
#else
#error "unary_f32_simd.c does not have this FUNC"
#endif
}

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  (void)workspace;
  const float *x = ptr[0];
  float *y = ptr[1];
  const megcc_vf a = megcc_vf_dup(megcc_attr_f32(attr[UNARY_ACT_A]));
  const megcc_vf b = megcc_vf_dup(megcc_attr_f32(attr[UNARY_ACT_B]));
  int32_t i = begin;
  for (; end - i >= MEGCC_VL; i += MEGCC_VL)
    megcc_vf_store(y + i, apply(megcc_vf_load(x + i), a, b));
  if (i < end) megcc_vf_store_n(y + i, apply(megcc_vf_load_n(x + i, end - i), a, b), end - i);
}
