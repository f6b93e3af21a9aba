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
// A work item is one row of the output.
#include "megcc_kernel.h"
#include "megcc_move.h"
#include "op/gather.h"

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  (void)workspace;
  const MEGCC_CTYPE(INDEX) *index = ptr[1];
  const int32_t axis = attr[GATHER_AXIS], count = attr[GATHER_COUNT];
  const size_t row = (size_t)attr[GATHER_ROW_BYTES];
  if (axis == 0 || begin >= end) return;
  const uint8_t *from = (const uint8_t *)ptr[0] + (size_t)(begin / count) * (size_t)axis * row;
  uint8_t *to = (uint8_t *)ptr[2] + (size_t)begin * row;
  // Counted, because Armv7 and the small Cortex-M divide in software.
  int32_t at = begin % count;
  for (int32_t item = begin; item < end; ++item, to += row) {
    MEGCC_CTYPE(INDEX) k = index[at];
    k = k < 0 ? k + axis : k;
    k = k < 0 ? 0 : k >= axis ? axis - 1 : k;
    megcc_copy_bytes(to, from + (size_t)k * row, row);
    if (++at == count) {
      at = 0;
      from += (size_t)axis * row;
    }
  }
}
