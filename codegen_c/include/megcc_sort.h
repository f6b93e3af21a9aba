// Stable sorting of one line of a tensor, for kernels generated from TVM's sort operators.
//
// megcc_argsort_<type>(x, stride, n, descending, order, scratch): order[0..n) becomes the positions
// of x[0], x[stride], ... in sorted order; equal elements keep theirs. NaN is above all numbers and
// equal to NaN, as numpy has it. Merges runs of doubling length. order and scratch have n entries.
//
// megcc_topk_<type>(x, stride, n, most, descending, order): order[0..most) becomes the first of
// that order, 0 < most <= n. Each element is compared with the last one held: for few of many.
#ifndef MEGCC_SORT_H
#define MEGCC_SORT_H

#include <stddef.h>
#include <stdint.h>

#include "simd/megcc_f16.h"

#define MEGCC_PLAIN(x) (x)

#define MEGCC_BELOW(a, b) ((a) < (b))
#define MEGCC_BELOW_NAN(a, b) ((a) < (b) || ((b) != (b) && (a) == (a)))

#define MEGCC_ARGSORT(T, S, K, KEY, BELOW)                                                      \
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
            const K a = KEY(x[from[l] * stride]);                                               \
            const K b = KEY(x[from[r] * stride]);                                               \
            right = descending ? BELOW(a, b) : BELOW(b, a);                                     \
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

#define MEGCC_TOPK(T, S, K, KEY, BELOW)                                                    \
  static inline void megcc_topk_##S(const T *x, ptrdiff_t stride, int32_t n, int32_t most, \
                                    int descending, int32_t *order) {                      \
    int32_t held = 0;                                                                      \
    K last = 0;                                                                            \
    for (int32_t i = 0; i < n; ++i) {                                                      \
      const K key = KEY(x[i * stride]);                                                    \
      int32_t at = held;                                                                   \
      if (held < most) {                                                                   \
        ++held;                                                                            \
      } else if (descending ? BELOW(last, key) : BELOW(key, last)) {                       \
        at = most - 1;                                                                     \
      } else {                                                                             \
        continue;                                                                          \
      }                                                                                    \
      for (; at > 0; --at) {                                                               \
        const K other = KEY(x[order[at - 1] * stride]);                                    \
        if (!(descending ? BELOW(other, key) : BELOW(key, other))) break;                  \
        order[at] = order[at - 1];                                                         \
      }                                                                                    \
      order[at] = i;                                                                       \
      last = KEY(x[order[held - 1] * stride]);                                             \
    }                                                                                      \
  }

#define MEGCC_SORTS(T, S, K, KEY, BELOW) \
  MEGCC_ARGSORT(T, S, K, KEY, BELOW)     \
  MEGCC_TOPK(T, S, K, KEY, BELOW)

// clang-format off
MEGCC_SORTS(float, f32, float, MEGCC_PLAIN, MEGCC_BELOW_NAN)
MEGCC_SORTS(double, f64, double, MEGCC_PLAIN, MEGCC_BELOW_NAN)
MEGCC_SORTS(uint16_t, f16, float, megcc_f16_to_f32, MEGCC_BELOW_NAN)
MEGCC_SORTS(uint16_t, bf16, float, megcc_bf16_to_f32, MEGCC_BELOW_NAN)
MEGCC_SORTS(uint8_t, bool, uint8_t, MEGCC_PLAIN, MEGCC_BELOW)
MEGCC_SORTS(int8_t, i8, int8_t, MEGCC_PLAIN, MEGCC_BELOW)
MEGCC_SORTS(uint8_t, u8, uint8_t, MEGCC_PLAIN, MEGCC_BELOW)
MEGCC_SORTS(int16_t, i16, int16_t, MEGCC_PLAIN, MEGCC_BELOW)
MEGCC_SORTS(uint16_t, u16, uint16_t, MEGCC_PLAIN, MEGCC_BELOW)
MEGCC_SORTS(int32_t, i32, int32_t, MEGCC_PLAIN, MEGCC_BELOW)
MEGCC_SORTS(uint32_t, u32, uint32_t, MEGCC_PLAIN, MEGCC_BELOW)
MEGCC_SORTS(int64_t, i64, int64_t, MEGCC_PLAIN, MEGCC_BELOW)
MEGCC_SORTS(uint64_t, u64, uint64_t, MEGCC_PLAIN, MEGCC_BELOW)
// clang-format on

#endif  // MEGCC_SORT_H
