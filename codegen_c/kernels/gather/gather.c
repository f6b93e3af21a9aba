// kernel: gather INDEX=i64
// op: gather
// dtype: x=f32,f64,f16,bf16,bool,i8,u8,i16,u16,i32,u32,i64,u64 index=i32,i64
// arch: portable
// isa: none
// rank: 0
// params: INDEX=I
// work: outer * count
// cost: 2 * row_bytes
//
// A work item is one row of the output. Rows of one element are moved by one load and one store,
// where another row is a call.
#include "megcc_kernel.h"
#include "megcc_move.h"
#include "op/gather.h"

// `n` rows of one slice of x, by indices.
MEGCC_INLINE void megcc_gather_rows(const MEGCC_CTYPE(INDEX) * index, int32_t n, int32_t axis,
                                    const uint8_t *from, uint8_t *to, size_t row) {
  for (int32_t i = 0; i < n; ++i, to += row) {
    MEGCC_CTYPE(INDEX) k = index[i];
    k = k < 0 ? k + axis : k;
    k = k < 0 ? 0 : k >= axis ? axis - 1 : k;
    megcc_copy_apart(to, from + (size_t)k * row, row);
  }
}

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  (void)workspace;
  const MEGCC_CTYPE(INDEX) *index = ptr[1];
  const int32_t axis = attr[GATHER_AXIS], count = attr[GATHER_COUNT];
  const size_t row = (size_t)attr[GATHER_ROW_BYTES];
  if (axis == 0 || begin >= end) return;
  const uint8_t *from = (const uint8_t *)ptr[0] + (size_t)(begin / count) * (size_t)axis * row;
  uint8_t *to = (uint8_t *)ptr[2] + (size_t)begin * row;
  int32_t at = begin % count;
  while (begin < end) {
    const int32_t n = end - begin < count - at ? end - begin : count - at;
    switch (row) {
#ifndef MEGCC_SMALL
      case 1: megcc_gather_rows(index + at, n, axis, from, to, 1); break;
      case 8: megcc_gather_rows(index + at, n, axis, from, to, 8); break;
#endif
      case 4: megcc_gather_rows(index + at, n, axis, from, to, 4); break;
      default: megcc_gather_rows(index + at, n, axis, from, to, row); break;
    }
    to += (size_t)n * row;
    from += (size_t)axis * row;
    begin += n;
    at = 0;
  }
}
