// kernel: expand
// op: expand
// dtype: f32, f64, f16, bf16, bool, i8, u8, i16, u16, i32, u32, i64, u64
// arch: portable
// isa: none
// rank: 0
// params: ESIZE=sizeof(T)
// work: size
// cost: 8
//
// A view of the input with stride 0 along the axes that are repeated, copied run by run.
#include "megcc_kernel.h"
#include "megcc_move.h"
#include "op/expand.h"

#ifndef MEGCC_SYMBOL
#define MEGCC_SYMBOL megcc_expand
#endif
#ifndef ESIZE
#define ESIZE 4
#endif

typedef MEGCC_BYTES(ESIZE) elem_t;

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  (void)workspace;
  const elem_t *x = ptr[0];
  elem_t *y = ptr[1];
  megcc_nd_t nd;
  nd.rank = MEGCC_ND_RANK;
  for (int i = 0; i < MEGCC_ND_RANK; ++i) nd.dim[i] = attr[EXPAND_O0 + i];
  megcc_nd_broadcast(&nd, 0, attr + EXPAND_D0);
  megcc_nd_collapse(&nd);
  MEGCC_MOVE_STRIDED(&nd, x, y, begin, end);
}
