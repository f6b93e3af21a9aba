// kernel: cache_append
// op: cache_append
// dtype: f32,f64,f16,bf16,i8,u8
// arch: portable
// isa: none
// rank: 0
// inplace: past
// work: b * h
// cost: 2 * s * row_bytes
//
// A work item is one head. In place it writes the new rows alone.
#include "megcc_kernel.h"
#include "megcc_move.h"
#include "op/cache_append.h"

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  (void)workspace;
  const uint8_t *x = ptr[0], *past = ptr[2];
  const int64_t *before = ptr[1];
  uint8_t *y = ptr[3];
  const int is_apart = past != y;
  const int32_t s = attr[CACHE_APPEND_S], h = attr[CACHE_APPEND_H];
  const int32_t p = attr[CACHE_APPEND_P], n = attr[CACHE_APPEND_N];
  const int32_t most = n - s < p ? n - s : p;
  const size_t row = (size_t)attr[CACHE_APPEND_ROW_BYTES];
  for (int32_t item = begin; item < end; ++item) {
    const int32_t batch = item / h, head = item % h;
    const int64_t given = before[batch];
    const int32_t first = given < 0 ? 0 : given > most ? most : (int32_t)given;
    const uint8_t *from = x + ((size_t)batch * (size_t)s * (size_t)h + (size_t)head) * row;
    uint8_t *to = y + (size_t)item * (size_t)n * row;
    if (is_apart) {
      const size_t kept = (size_t)(n < p ? n : p) * row, rest = (size_t)n * row - kept;
      megcc_copy_apart(to, past + (size_t)item * (size_t)p * row, kept);
      for (size_t i = 0; i < rest; ++i) to[kept + i] = 0;
    }
    if (n < s) continue;
    to += (size_t)first * row;
    for (int32_t i = 0; i < s; ++i, to += row, from += (size_t)h * row) {
      megcc_copy_apart(to, from, row);
    }
  }
}
