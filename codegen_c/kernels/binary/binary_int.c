// kernel: binary_int FUNC=BINARY_ADD DTYPE=i32
// op: binary
// dtype: i8, u8, i16, u16, i32, u32, i64, u64
// arch: portable
// isa: none
// when: func in (BINARY_ADD, BINARY_SUB, BINARY_MUL, BINARY_DIV, BINARY_MIN, BINARY_MAX)
//   and act == MEGCC_ACT_NONE
// rank: 0
// params: FUNC=func DTYPE=T
// inplace: lhs, rhs
// work: size
// cost: 8
//
// Sums, differences and products wrap; quotients truncate, x / 0 is 0 and the quotient that does
// not fit wraps.
#include "megcc_dtype.h"
#include "math/megcc_int.h"
#include "op/binary.h"
#define MEGCC_ND_INPUTS 2
#include "megcc_nd.h"

typedef MEGCC_CTYPE(DTYPE) elem_t;
typedef MEGCC_WTYPE(DTYPE) wrap_t;

MEGCC_INLINE elem_t apply(elem_t l, elem_t r) {
#if FUNC == BINARY_ADD
  return (elem_t)((wrap_t)l + (wrap_t)r);
#elif FUNC == BINARY_SUB
  return (elem_t)((wrap_t)l - (wrap_t)r);
#elif FUNC == BINARY_MUL
  return (elem_t)((wrap_t)l * (wrap_t)r);
#elif FUNC == BINARY_DIV
  return MEGCC_CAT(megcc_div_, DTYPE)(l, r);
#elif FUNC == BINARY_MIN
  return l < r ? l : r;
#elif FUNC == BINARY_MAX
  return l > r ? l : r;
#else
#error "binary_int.c does not have this FUNC"
#endif
}

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  (void)workspace;
  const elem_t *lhs = ptr[0], *rhs = ptr[1];
  elem_t *y = ptr[2];
  const int32_t *l = attr + BINARY_L0, *r = attr + BINARY_R0;
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
    const elem_t *p = lhs + at.offset[0], *q = rhs + at.offset[1];
    count = megcc_nd_run(&nd, &at, end - i);
    for (int32_t k = 0; k < count; ++k) y[i + k] = apply(p[k * l_step], q[k * r_step]);
    megcc_nd_advance(&nd, &at, count);
  }
}
