// The body of the binary kernels on vectors. FUNC says what is computed, ACT what follows.
#ifndef MEGCC_BINARY_H
#define MEGCC_BINARY_H

#include "megcc_elem.h"
#include "megcc_act.h"
#include "op/binary.h"
#define MEGCC_ND_INPUTS 2
#include "megcc_nd.h"

#ifndef FUNC
#define FUNC BINARY_ADD
#endif

typedef struct {
  megcc_vf a, b;  // parameters of the activation
} megcc_binary_act_t;

MEGCC_INLINE megcc_vf megcc_binary_apply(megcc_vf l, megcc_vf r, const megcc_binary_act_t *act) {
  (void)act;
#if FUNC == BINARY_ADD
  const megcc_vf y = megcc_vf_add(l, r);
#elif FUNC == BINARY_SUB
  const megcc_vf y = megcc_vf_sub(l, r);
#elif FUNC == BINARY_MUL
  const megcc_vf y = megcc_vf_mul(l, r);
#elif FUNC == BINARY_DIV
  const megcc_vf y = megcc_vf_div(l, r);
#elif FUNC == BINARY_MIN
  const megcc_vf y = megcc_vf_nanmin(l, r);
#elif FUNC == BINARY_MAX
  const megcc_vf y = megcc_vf_nanmax(l, r);
#elif FUNC == BINARY_PRELU
  const megcc_vf y = megcc_vf_select(megcc_vf_lt(l, megcc_vf_dup(0.0f)), megcc_vf_mul(l, r), l);
#else
#error "binary_f32_simd.c does not have this FUNC"
#endif
  return megcc_act_vf(y, act->a, act->b);
}

MEGCC_INLINE megcc_vf megcc_binary_operand(const megcc_elem_t *p, int32_t i, int vector,
                                           megcc_vf one, int32_t lanes) {
  return vector ? megcc_vf_load_n(p + i, lanes) : one;
}

// A side is a vector when its stride is 1, else the single value at its pointer.
MEGCC_INLINE void megcc_binary_run(const megcc_elem_t *l, int l_vector, const megcc_elem_t *r,
                                   int r_vector, megcc_elem_t *y, int32_t count,
                                   const megcc_binary_act_t *act) {
  const megcc_vf l1 = megcc_vf_dup(megcc_elem_f32(*l)), r1 = megcc_vf_dup(megcc_elem_f32(*r));
  int32_t i = 0;
  for (; count - i >= MEGCC_VL; i += MEGCC_VL) {
    const megcc_vf a = megcc_binary_operand(l, i, l_vector, l1, MEGCC_VL);
    megcc_vf_store(y + i,
                   megcc_binary_apply(a, megcc_binary_operand(r, i, r_vector, r1, MEGCC_VL), act));
  }
  if (i < count) {
    const megcc_vf a = megcc_binary_operand(l, i, l_vector, l1, count - i);
    megcc_vf_store_n(
        y + i, megcc_binary_apply(a, megcc_binary_operand(r, i, r_vector, r1, count - i), act),
        count - i);
  }
}

MEGCC_INLINE void megcc_binary(void *const *ptr, const int32_t *attr, int32_t begin, int32_t end) {
  const megcc_elem_t *lhs = ptr[0], *rhs = ptr[1];
  megcc_elem_t *y = ptr[2];
  const int32_t *l = attr + BINARY_L0, *r = attr + BINARY_R0;
  const megcc_binary_act_t act = {megcc_vf_dup(megcc_attr_f32(attr[BINARY_ACT_A])),
                                  megcc_vf_dup(megcc_attr_f32(attr[BINARY_ACT_B]))};
  megcc_nd_t nd;
  megcc_nd_at_t at;
  if (begin >= end) return;
  nd.rank = MEGCC_ND_RANK;
  for (int i = 0; i < MEGCC_ND_RANK; ++i) nd.dim[i] = l[i] == 1 ? r[i] : l[i];
  megcc_nd_broadcast(&nd, 0, l);
  megcc_nd_broadcast(&nd, 1, r);
  megcc_nd_collapse(&nd);
  at = megcc_nd_seek(&nd, begin);
  const int l_vector = nd.stride[0][nd.rank - 1] != 0, r_vector = nd.stride[1][nd.rank - 1] != 0;
  for (int32_t i = begin, count; i < end; i += count) {
    const megcc_elem_t *p = lhs + at.offset[0], *q = rhs + at.offset[1];
    count = megcc_nd_run(&nd, &at, end - i);
    if (l_vector && r_vector)
      megcc_binary_run(p, 1, q, 1, y + i, count, &act);
    else if (l_vector)
      megcc_binary_run(p, 1, q, 0, y + i, count, &act);
    else
      megcc_binary_run(p, 0, q, r_vector, y + i, count, &act);
    megcc_nd_advance(&nd, &at, count);
  }
}

#endif  // MEGCC_BINARY_H
