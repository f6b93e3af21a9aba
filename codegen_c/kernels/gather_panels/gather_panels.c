// kernel: gather_panels ESIZE=4 INDEX=i64
// op: gather_panels
// dtype: x=f32,f16,bf16,i8 index=i32,i64
// arch: portable
// isa: none
// rank: 0
// params: ESIZE=sizeof(T) INDEX=I
// work: count
// cost: 4 * depth
//
// A work item is one row of the output, whose elements are `nr` apart in the table.
#include "megcc_dtype.h"
#include "megcc_kernel.h"
#include "op/gather_panels.h"

typedef MEGCC_BYTES(ESIZE) elem_t;

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  (void)workspace;
  const MEGCC_CTYPE(INDEX) *index = ptr[1];
  const int32_t axis = attr[GATHER_PANELS_AXIS], nr = attr[GATHER_PANELS_NR];
  const size_t depth = (size_t)attr[GATHER_PANELS_DEPTH];
  elem_t *to = (elem_t *)ptr[2] + (size_t)begin * depth;
  if (axis == 0) return;
  for (int32_t item = begin; item < end; ++item) {
    MEGCC_CTYPE(INDEX) k = index[item];
    k = k < 0 ? k + axis : k;
    const int32_t row = k < 0 ? 0 : k >= axis ? axis - 1 : (int32_t)k;
    const elem_t *from =
        (const elem_t *)ptr[0] + (size_t)(row / nr) * depth * (size_t)nr + row % nr;
    for (size_t i = 0; i < depth; ++i, from += nr) *to++ = *from;
  }
}
