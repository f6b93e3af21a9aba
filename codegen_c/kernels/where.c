// kernel: where
// op: where
// dtype: f32, f64, f16, bf16, bool, i8, u8, i16, u16, i32, u32, i64, u64
// arch: portable
// isa: none
// rank: 0
// params: ESIZE=sizeof(T)
// work: size
// cost: 8
//
// Runs along the last axis after merging.
#include "megcc_dtype.h"
#include "megcc_kernel.h"
#include "op/where.h"
#define MEGCC_ND_INPUTS 3
#include "megcc_nd.h"

#ifndef MEGCC_SYMBOL
#define MEGCC_SYMBOL megcc_where
#endif
#ifndef ESIZE
#define ESIZE 4
#endif

typedef MEGCC_BYTES(ESIZE) elem_t;

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  (void)workspace;
  const uint8_t *condition = ptr[0];
  const elem_t *x = ptr[1], *otherwise = ptr[2];
  elem_t *y = ptr[3];
  megcc_nd_t nd;
  megcc_nd_at_t at;
  if (begin >= end) return;
  nd.rank = MEGCC_ND_RANK;
  for (int i = 0; i < MEGCC_ND_RANK; ++i) {
    const int32_t c = attr[WHERE_C0 + i], a = attr[WHERE_X0 + i], b = attr[WHERE_Y0 + i];
    nd.dim[i] = c != 1 ? c : a != 1 ? a : b;
  }
  megcc_nd_broadcast(&nd, 0, attr + WHERE_C0);
  megcc_nd_broadcast(&nd, 1, attr + WHERE_X0);
  megcc_nd_broadcast(&nd, 2, attr + WHERE_Y0);
  megcc_nd_collapse(&nd);
  at = megcc_nd_seek(&nd, begin);
  const int last = nd.rank - 1;
  for (int32_t i = begin, count; i < end; i += count) {
    const uint8_t *c = condition + at.offset[0];
    const elem_t *a = x + at.offset[1], *b = otherwise + at.offset[2];
    count = megcc_nd_run(&nd, &at, end - i);
    for (int32_t k = 0; k < count; ++k) {
      const elem_t p = a[k * nd.stride[1][last]], q = b[k * nd.stride[2][last]];
      y[i + k] = c[k * nd.stride[0][last]] ? p : q;
    }
    megcc_nd_advance(&nd, &at, count);
  }
}
