// kernel: gather_dots INDEX=i64
// op: gather_dots
// dtype: index=i32,i64
// arch: portable
// isa: none
// rank: 0
// params: INDEX=I BITS=bits KR=kr FLIP=flip
// work: count
// cost: 2 * depth
//
// A work item is one row of the output. Of a step of 16 rows and 16 numbers a row has one byte in
// each `KR` of a group, groups being 8 * KR bytes apart.
#include "megcc_dtype.h"
#include "megcc_kernel.h"
#include "op/gather_dots.h"

enum { STEP = 16, STEP_BYTES = 32 * BITS, ROW_BYTES = 2 * BITS };  // of the table; of a row of it

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  (void)workspace;
  const MEGCC_CTYPE(INDEX) *index = ptr[1];
  const int32_t axis = attr[GATHER_DOTS_AXIS], depth = attr[GATHER_DOTS_DEPTH];
  const int32_t steps = (depth + STEP - 1) / STEP, length = (depth * BITS + 7) / 8;
  uint8_t *to = (uint8_t *)ptr[2] + (size_t)begin * (size_t)length;
  if (axis == 0) return;
  for (int32_t item = begin; item < end; ++item) {
    MEGCC_CTYPE(INDEX) k = index[item];
    k = k < 0 ? k + axis : k;
    const int32_t row = k < 0 ? 0 : k >= axis ? axis - 1 : (int32_t)k;
    const uint8_t *from = (const uint8_t *)ptr[0] +
                          (size_t)(row / STEP) * (size_t)steps * STEP_BYTES +
                          (row % STEP / 8) * (STEP_BYTES / 2) + row % 8 * KR;
    for (int32_t left = length; left > 0; left -= ROW_BYTES, from += STEP_BYTES) {
      uint8_t numbers[ROW_BYTES], row_bytes[ROW_BYTES];
      for (int32_t j = 0; j < ROW_BYTES; ++j) numbers[j] = from[j / KR * 8 * KR + j % KR];
      for (int32_t j = 0; j < ROW_BYTES; ++j) {
#if BITS == 8
        row_bytes[j] = numbers[j];
#else
        const int32_t at = 2 * j % ROW_BYTES, high = j < ROW_BYTES / 2 ? 0 : 4;
        const int32_t first = numbers[at] >> high & 15, second = numbers[at + 1] >> high & 15;
        row_bytes[j] = (uint8_t)((first | second << 4) ^ (FLIP ? 0x88 : 0));
#endif
      }
      const int32_t count = left < ROW_BYTES ? left : ROW_BYTES;
      for (int32_t j = 0; j < count; ++j) *to++ = row_bytes[j];
    }
  }
}
