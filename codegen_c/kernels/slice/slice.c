// kernel: slice ESIZE=4
// op: slice
// dtype: f32, f64, f16, bf16, bool, i8, u8, i16, u16, i32, u32, i64, u64
// arch: portable
// isa: none
// rank: 0
// params: ESIZE=sizeof(T)
// work: size
// cost: 8
//
// A strided view of the input, its axes merged where they can be, copied run by run.
#include "megcc_kernel.h"
#include "megcc_move.h"
#include "op/slice.h"

typedef MEGCC_BYTES(ESIZE) elem_t;

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  (void)workspace;
  const elem_t *x = ptr[0];
  elem_t *y = ptr[1];
  ptrdiff_t step = 1;
  megcc_nd_t nd;
  if (begin >= end) return;
  nd.rank = MEGCC_ND_RANK;
  for (int i = MEGCC_ND_RANK - 1; i >= 0; --i) {
    nd.dim[i] = attr[SLICE_O0 + i];
    nd.stride[0][i] = step * attr[SLICE_S0 + i];
    x += step * attr[SLICE_B0 + i];
    step *= attr[SLICE_D0 + i];
  }
  megcc_nd_collapse(&nd);
  MEGCC_MOVE_STRIDED(&nd, x, y, begin, end);
}
