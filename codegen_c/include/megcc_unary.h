// The body of the unary kernels on vectors. FUNC says what is computed.
#ifndef MEGCC_UNARY_H
#define MEGCC_UNARY_H

#include "op/unary.h"

#ifndef FUNC
#define FUNC MEGCC_ACT_RELU
#endif

#if FUNC < UNARY_EXP
#define ACT FUNC
#endif
#include "megcc_act.h"
#if FUNC == UNARY_SIN || FUNC == UNARY_COS
#include "math/megcc_vtrig.h"
#endif
#include "megcc_elem.h"

MEGCC_INLINE megcc_vf megcc_unary_apply(megcc_vf x, megcc_vf a, megcc_vf b) {
  (void)a, (void)b;
#if FUNC < UNARY_EXP
  return megcc_act_vf(x, a, b);
#elif FUNC == UNARY_EXP
  return megcc_vf_exp(x);
#elif FUNC == UNARY_LOG
  return megcc_vf_log(x);
#elif FUNC == UNARY_SIN
  return megcc_vf_sin(x);
#elif FUNC == UNARY_COS
  return megcc_vf_cos(x);
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

MEGCC_INLINE void megcc_unary(void *const *ptr, const int32_t *attr, int32_t begin, int32_t end) {
  const megcc_elem_t *x = ptr[0];
  megcc_elem_t *y = ptr[1];
  const megcc_vf a = megcc_vf_dup(megcc_attr_f32(attr[UNARY_ACT_A]));
  const megcc_vf b = megcc_vf_dup(megcc_attr_f32(attr[UNARY_ACT_B]));
  int32_t i = begin;
  for (; end - i >= MEGCC_VL; i += MEGCC_VL)
    megcc_vf_store(y + i, megcc_unary_apply(megcc_vf_load(x + i), a, b));
  if (i < end)
    megcc_vf_store_n(y + i, megcc_unary_apply(megcc_vf_load_n(x + i, end - i), a, b), end - i);
}

#endif  // MEGCC_UNARY_H
