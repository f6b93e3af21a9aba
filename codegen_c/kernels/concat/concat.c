// kernel: concat
// op: concat
// dtype: f32, f64, f16, bf16, bool, i8, u8, i16, u16, i32, u32, i64, u64
// arch: portable
// isa: none
// rank: 0
// work: outer * count
// cost: 2 * (b0 + b1 + b2 + b3 + b4 + b5 + b6 + b7 + b8 + b9 + b10 + b11 + b12 + b13
//   + b14 + b15) // count
//
// A work item is one input's part of one output row.
#include "megcc_kernel.h"
#include "megcc_move.h"
#include "op/concat.h"

#ifndef MEGCC_SYMBOL
#define MEGCC_SYMBOL megcc_concat
#endif

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  (void)workspace;
  const int32_t count = attr[CONCAT_COUNT], *bytes = attr + CONCAT_B0;
  size_t row = 0;
  for (int32_t i = 0; i < count; ++i) row += (size_t)bytes[i];
  if (begin >= end) return;
  int32_t outer = begin / count, input = begin % count;
  uint8_t *y = (uint8_t *)ptr[count] + (size_t)outer * row;
  for (int32_t i = 0; i < input; ++i) y += bytes[i];
  for (int32_t item = begin; item < end; ++item) {
    const size_t n = (size_t)bytes[input];
    megcc_copy_bytes(y, (const uint8_t *)ptr[input] + (size_t)outer * n, n);
    y += n;
    if (++input == count) input = 0, ++outer;
  }
}
