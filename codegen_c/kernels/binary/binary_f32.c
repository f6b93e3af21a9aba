// kernel: binary_f32 FUNC=BINARY_ADD
// op: binary
// dtype: f32
// arch: portable
// isa: none
// rank: 0
// tolerance: 1e-6 if func == BINARY_POW else 1.5e-7
// params: FUNC=func ACT=act
// inplace: lhs, rhs
// work: size
// cost: 8
//
// The reference: runs along the last axis after merging, one element at a time.
#include "megcc_act.h"
#include "math/megcc_math.h"
#include "op/binary.h"
#define MEGCC_ND_INPUTS 2
#include "megcc_nd.h"

MEGCC_INLINE float apply(float l, float r) {
#if FUNC == BINARY_ADD
  return l + r;
#elif FUNC == BINARY_SUB
  return l - r;
#elif FUNC == BINARY_MUL
  return l * r;
#elif FUNC == BINARY_DIV
  return l / r;
#elif FUNC == BINARY_MIN
  return l < r || l != l ? l : r;
#elif FUNC == BINARY_MAX
  return l > r || l != l ? l : r;
#elif FUNC == BINARY_POW
  return megcc_powf(l, r);
#elif FUNC == BINARY_PRELU
  return l < 0.0f ? l * r : l;
#else
#error "binary_f32.c does not have this FUNC"
#endif
}

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  (void)workspace;
  const float *lhs = ptr[0], *rhs = ptr[1];
  float *y = ptr[2];
  const int32_t *l = attr + BINARY_L0, *r = attr + BINARY_R0;
  const float act_a = megcc_attr_f32(attr[BINARY_ACT_A]);
  const float act_b = megcc_attr_f32(attr[BINARY_ACT_B]);
  megcc_nd_t nd;
  megcc_nd_at_t at;
  if (begin >= end) return;
  nd.rank = MEGCC_ND_RANK;
  for (int i = 0; i < MEGCC_ND_RANK; ++i) nd.dim[i] = l[i] == 1 ? r[i] : l[i];
  megcc_nd_broadcast(&nd, 0, l);
  megcc_nd_broadcast(&nd, 1, r);
  megcc_nd_collapse(&nd);
  at = megcc_nd_seek(&nd, begin);
  const ptrdiff_t l_step = nd.stride[0][nd.rank - 1], r_step = nd.stride[1][nd.rank - 1];
  for (int32_t i = begin, count; i < end; i += count) {
    const float *p = lhs + at.offset[0], *q = rhs + at.offset[1];
    count = megcc_nd_run(&nd, &at, end - i);
    for (int32_t k = 0; k < count; ++k)
      y[i + k] = megcc_act_f32(apply(p[k * l_step], q[k * r_step]), act_a, act_b);
    megcc_nd_advance(&nd, &at, count);
  }
  (void)act_a, (void)act_b;
}
