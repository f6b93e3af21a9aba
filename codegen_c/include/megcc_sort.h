// Stable sorting of one line of a tensor, for kernels generated from TVM's sort operators.
//
// megcc_argsort_<type>(x, stride, n, descending, order, scratch): order[0..n) becomes the positions
// of x[0], x[stride], ... in sorted order; equal elements keep theirs. Merges runs of doubling
// length, so any comparison, with NaN too, terminates and gives a permutation. order and scratch
// have n entries.
#ifndef MEGCC_SORT_H
#define MEGCC_SORT_H

#include <stddef.h>
#include <stdint.h>

#include "simd/megcc_f16.h"

#define MEGCC_PLAIN(x) (x)

#define MEGCC_ARGSORT(T, S, KEY)                                                                \
  static inline void megcc_argsort_##S(const T *x, ptrdiff_t stride, int32_t n, int descending, \
                                       int32_t *order, int32_t *scratch) {                      \
    int32_t *from = order;                                                                      \
    int32_t *to = scratch;                                                                      \
    for (int32_t i = 0; i < n; ++i) from[i] = i;                                                \
    for (int64_t width = 1; width < n; width *= 2) {                                            \
      for (int64_t start = 0; start < n; start += 2 * width) {                                  \
        const int64_t middle = start + width < n ? start + width : n;                           \
        const int64_t stop = start + 2 * width < n ? start + 2 * width : n;                     \
        int64_t l = start;                                                                      \
        int64_t r = middle;                                                                     \
        for (int64_t k = start; k < stop; ++k) {                                                \
          int right = l >= middle;                                                              \
          if (l < middle && r < stop) {                                                         \
            right = descending ? KEY(x[from[r] * stride]) > KEY(x[from[l] * stride])            \
                               : KEY(x[from[r] * stride]) < KEY(x[from[l] * stride]);           \
          }                                                                                     \
          to[k] = right ? from[r++] : from[l++];                                                \
        }                                                                                       \
      }                                                                                         \
      int32_t *sorted = to;                                                                     \
      to = from;                                                                                \
      from = sorted;                                                                            \
    }                                                                                           \
    if (from != order) {                                                                        \
      for (int32_t i = 0; i < n; ++i) order[i] = from[i];                                       \
    }                                                                                           \
  }

// clang-format off
MEGCC_ARGSORT(float, f32, MEGCC_PLAIN)
MEGCC_ARGSORT(double, f64, MEGCC_PLAIN)
MEGCC_ARGSORT(uint16_t, f16, megcc_f16_to_f32)
MEGCC_ARGSORT(uint16_t, bf16, megcc_bf16_to_f32)
MEGCC_ARGSORT(uint8_t, bool, MEGCC_PLAIN)
MEGCC_ARGSORT(int8_t, i8, MEGCC_PLAIN)
MEGCC_ARGSORT(uint8_t, u8, MEGCC_PLAIN)
MEGCC_ARGSORT(int16_t, i16, MEGCC_PLAIN)
MEGCC_ARGSORT(uint16_t, u16, MEGCC_PLAIN)
MEGCC_ARGSORT(int32_t, i32, MEGCC_PLAIN)
MEGCC_ARGSORT(uint32_t, u32, MEGCC_PLAIN)
MEGCC_ARGSORT(int64_t, i64, MEGCC_PLAIN)
MEGCC_ARGSORT(uint64_t, u64, MEGCC_PLAIN)
// clang-format on

#endif  // MEGCC_SORT_H
