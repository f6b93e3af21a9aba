// op: cache_append
// arch: portable
// isa: none
// rank: 0
// inplace: past
// work: b * h
// cost: 2 * s * row_bytes
// when: row_bytes == d * sizeof(T)
// kernel: cache_append dtype=f32,f64,f16,bf16,i8,u8 CACHE_BITS=0
// kernel: cache_append_f16 dtype="x=f32 past=f16" isa=simd CACHE_BITS=16
//   cost="6 * s * d"
// kernel: cache_append_i8 dtype="x=f32 past=i8" CACHE_BITS=8 cost="12 * s * d"
//   when="row_bytes == d + 4"
//
// A work item is one head. In place it writes the new rows alone. CACHE_BITS: of an element that is
// rounded; 0 copies bytes.
#if CACHE_BITS == 8
#include "megcc_cache_row.h"
#elif CACHE_BITS == 16
#include "simd/megcc_vh.h"
#endif
#include "megcc_kernel.h"
#include "megcc_move.h"
#include "op/cache_append.h"

// A row of d elements, which has `bytes` in the cache.
MEGCC_INLINE void megcc_append_row(uint8_t *to, const uint8_t *from, int32_t d, size_t bytes) {
#if CACHE_BITS == 0
  (void)d;
  megcc_copy_apart(to, from, bytes);
#else
  const void *const row = from;
  const float *const x = row;
  void *const made = to;
  (void)bytes;
#if CACHE_BITS == 8
  int8_t *const y = made;
  megcc_cache_row_rounded(x, y, d);
#else
  uint16_t *const y = made;
  int32_t i = 0;
  for (; i + MEGCC_VL <= d; i += MEGCC_VL) megcc_vh_store(y + i, megcc_vf_load(x + i));
  for (; i < d; ++i) y[i] = megcc_f32_to_f16(x[i]);
#endif
#endif
}

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
  const int32_t d = attr[CACHE_APPEND_D];
  const size_t x_row = CACHE_BITS == 0 ? row : (size_t)d * sizeof(float);
  for (int32_t item = begin; item < end; ++item) {
    const int32_t batch = item / h, head = item % h;
    const int64_t given = before[batch];
    const int32_t first = given < 0 ? 0 : given > most ? most : (int32_t)given;
    const uint8_t *from = x + ((size_t)batch * (size_t)s * (size_t)h + (size_t)head) * x_row;
    uint8_t *to = y + (size_t)item * (size_t)n * row;
    if (is_apart) {
      const size_t kept = (size_t)(n < p ? n : p) * row, rest = (size_t)n * row - kept;
      megcc_copy_apart(to, past + (size_t)item * (size_t)p * row, kept);
      for (size_t i = 0; i < rest; ++i) to[kept + i] = 0;
    }
    if (n < s) continue;
    to += (size_t)first * row;
    for (int32_t i = 0; i < s; ++i, to += row, from += (size_t)h * x_row) {
      megcc_append_row(to, from, d, row);
    }
  }
}
