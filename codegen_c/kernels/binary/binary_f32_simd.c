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
#include "megcc_act.h"
#include "op/binary.h"
#define MEGCC_ND_INPUTS 2
#include "megcc_nd.h"

#ifndef MEGCC_SYMBOL
#define MEGCC_SYMBOL megcc_binary_f32_simd
#endif
#ifndef FUNC
#define FUNC BINARY_ADD
#endif

typedef struct {
  megcc_vf a, b;  // parameters of the activation
} act_t;

MEGCC_INLINE megcc_vf apply(megcc_vf l, megcc_vf r, const act_t *act) {
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

MEGCC_INLINE megcc_vf operand(const float *p, int32_t i, int vector, megcc_vf one, int32_t lanes) {
  return vector ? megcc_vf_load_n(p + i, lanes) : one;
}

// A side is a vector when its stride is 1, else the single value at its pointer.
MEGCC_INLINE void run(const float *l, int l_vector, const float *r, int r_vector, float *y,
                      int32_t count, const act_t *act) {
  const megcc_vf l1 = megcc_vf_dup(*l), r1 = megcc_vf_dup(*r);
  int32_t i = 0;
  for (; count - i >= MEGCC_VL; i += MEGCC_VL) {
    const megcc_vf a = operand(l, i, l_vector, l1, MEGCC_VL);
    megcc_vf_store(y + i, apply(a, operand(r, i, r_vector, r1, MEGCC_VL), act));
  }
  if (i < count) {
    const megcc_vf a = operand(l, i, l_vector, l1, count - i);
    megcc_vf_store_n(y + i, apply(a, operand(r, i, r_vector, r1, count - i), act), count - i);
  }
}

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  (void)workspace;
  const float *lhs = ptr[0], *rhs = ptr[1];
  float *y = ptr[2];
  const int32_t *l = attr + BINARY_L0, *r = attr + BINARY_R0;
  const act_t act = {megcc_vf_dup(megcc_attr_f32(attr[BINARY_ACT_A])),
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
    const float *p = lhs + at.offset[0], *q = rhs + at.offset[1];
    count = megcc_nd_run(&nd, &at, end - i);
    if (l_vector && r_vector)
      run(p, 1, q, 1, y + i, count, &act);
    else if (l_vector)
      run(p, 1, q, 0, y + i, count, &act);
    else
      run(p, 0, q, r_vector, y + i, count, &act);
    megcc_nd_advance(&nd, &at, count);
  }
}
