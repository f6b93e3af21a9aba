// Stable sorting of one line of a tensor, for kernels generated from TVM's sort operators.
//
// megcc_argsort_<type>(x, stride, n, descending, order, scratch, counts): order[0..n) becomes the
// positions of x[0], x[stride], ... in sorted order; equal elements keep theirs. NaN is above all
// numbers and equal to NaN, as numpy has it. order and scratch have n entries. Where counts, 256
// entries for each byte of an element, is not NULL, lines of MEGCC_RADIX_FEWEST entries and more
// are sorted byte by byte, from the lowest; others, and floats with a NaN or -0, by merging runs of
// doubling length.
//
// megcc_topk_<type>(x, stride, n, most, descending, order): order[0..most) becomes the first of
// that order, 0 < most <= n. Each element is compared with the last one held: for few of many.
#ifndef MEGCC_SORT_H
#define MEGCC_SORT_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "simd/megcc_f16.h"

#define MEGCC_PLAIN(x) (x)

// For fewer entries of so many bytes, merging takes fewer instructions.
#define MEGCC_RADIX_FEWEST(bytes) (64 * (int32_t)(bytes))

// Unsigned keys in the order of the elements, of their bits: integers without and with a sign, and
// floats, where each sign has its own order.
#define MEGCC_KEY_U(T, bits) (bits)
#define MEGCC_KEY_I(T, bits) (T)((bits) ^ ((T)1 << (8 * sizeof(T) - 1)))
#define MEGCC_KEY_F(T, bits) \
  (T)((bits) ^ ((T)(0 - ((bits) >> (8 * sizeof(T) - 1))) | ((T)1 << (8 * sizeof(T) - 1))))

// Whether a float's bits are in no order by them: a NaN, whose magnitude is above infinity's, or
// -0.
#define MEGCC_ODD_NONE(T, bits, infinity) 0
#define MEGCC_ODD_FLOAT(T, bits, infinity) \
  ((T)((bits) << 1) > (T)((T)(infinity) << 1) || (bits) == (T)1 << (8 * sizeof(T) - 1))

// Returns 0, with order untouched, where an element is in no order by its bits.
#define MEGCC_RADIX(T, S, U, KEY, ODD, INF)                                                  \
  static inline int megcc_radix_##S(const T *x, ptrdiff_t stride, int32_t n, int descending, \
                                    int32_t *order, int32_t *scratch, int32_t *counts) {     \
    enum { BYTES = sizeof(U) };                                                              \
    const U turned = descending ? (U) ~(U)0 : 0;                                             \
    int passes = 0;                                                                          \
    int odd = 0;                                                                             \
    U bits = 0;                                                                              \
    for (int32_t i = 0; i < 256 * BYTES; ++i) counts[i] = 0;                                 \
    for (int32_t i = 0; i < n; ++i) {                                                        \
      memcpy(&bits, x + i * stride, sizeof bits);                                            \
      odd |= ODD(U, bits, INF);                                                              \
      const U key = KEY(U, bits) ^ turned;                                                   \
      for (int b = 0; b < BYTES; ++b) ++counts[256 * b + ((key >> 8 * b) & 255)];            \
    }                                                                                        \
    if (odd) return 0;                                                                       \
    const U last = KEY(U, bits) ^ turned;                                                    \
    for (int b = 0; b < BYTES; ++b) passes += counts[256 * b + ((last >> 8 * b) & 255)] < n; \
    if (passes == 0) {                                                                       \
      for (int32_t i = 0; i < n; ++i) order[i] = i;                                          \
    }                                                                                        \
    const int32_t *from = NULL;                                                              \
    int32_t *to = passes % 2 != 0 ? order : scratch;                                         \
    for (int b = 0; b < BYTES; ++b) {                                                        \
      int32_t *place = counts + 256 * b;                                                     \
      if (place[(last >> 8 * b) & 255] == n) continue;                                       \
      for (int32_t i = 0, sum = 0; i < 256; ++i) {                                           \
        const int32_t here = place[i];                                                       \
        place[i] = sum;                                                                      \
        sum += here;                                                                         \
      }                                                                                      \
      for (int32_t k = 0; k < n; ++k) {                                                      \
        const int32_t i = from != NULL ? from[k] : k;                                        \
        memcpy(&bits, x + i * stride, sizeof bits);                                          \
        to[place[((KEY(U, bits) ^ turned) >> 8 * b) & 255]++] = i;                           \
      }                                                                                      \
      from = to;                                                                             \
      to = to == order ? scratch : order;                                                    \
    }                                                                                        \
    return 1;                                                                                \
  }

#define MEGCC_BELOW(a, b) ((a) < (b))
#define MEGCC_BELOW_NAN(a, b) ((a) < (b) || ((b) != (b) && (a) == (a)))

#define MEGCC_ARGSORT(T, S, K, KEY, BELOW)                                                      \
  static inline void megcc_argsort_##S(const T *x, ptrdiff_t stride, int32_t n, int descending, \
                                       int32_t *order, int32_t *scratch, int32_t *counts) {     \
    if (counts != NULL && n >= MEGCC_RADIX_FEWEST(sizeof *x) &&                                 \
        megcc_radix_##S(x, stride, n, descending, order, scratch, counts)) {                    \
      return;                                                                                   \
    }                                                                                           \
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

// megcc_hold_<type> puts position i, of this key, where it belongs among order[0..at), of which
// those behind it move up by one.
#define MEGCC_TOPK(T, S, K, KEY, BELOW)                                                           \
  static inline void megcc_hold_##S(const T *x, ptrdiff_t stride, int descending, int32_t *order, \
                                    int32_t at, int32_t i, K key) {                               \
    for (; at > 0; --at) {                                                                        \
      const K other = KEY(x[order[at - 1] * stride]);                                             \
      if (!(descending ? BELOW(other, key) : BELOW(key, other))) break;                           \
      order[at] = order[at - 1];                                                                  \
    }                                                                                             \
    order[at] = i;                                                                                \
  }                                                                                               \
  static inline void megcc_topk_##S(const T *x, ptrdiff_t stride, int32_t n, int32_t most,        \
                                    int descending, int32_t *order) {                             \
    for (int32_t i = 0; i < most; ++i) {                                                          \
      megcc_hold_##S(x, stride, descending, order, i, i, KEY(x[i * stride]));                     \
    }                                                                                             \
    K last = KEY(x[order[most - 1] * stride]);                                                    \
    for (int32_t i = most; i < n; ++i) {                                                          \
      const K key = KEY(x[i * stride]);                                                           \
      if (descending ? key <= last : key >= last) continue;                                       \
      if (!(descending ? BELOW(last, key) : BELOW(key, last))) continue;                          \
      megcc_hold_##S(x, stride, descending, order, most - 1, i, key);                             \
      last = KEY(x[order[most - 1] * stride]);                                                    \
    }                                                                                             \
  }

#define MEGCC_SORTS(T, S, K, KEY, BELOW, U, BITS, ODD, INF) \
  MEGCC_RADIX(T, S, U, BITS, ODD, INF)                      \
  MEGCC_ARGSORT(T, S, K, KEY, BELOW)                        \
  MEGCC_TOPK(T, S, K, KEY, BELOW)
#define MEGCC_SORTS_I(T, S, U) \
  MEGCC_SORTS(T, S, T, MEGCC_PLAIN, MEGCC_BELOW, U, MEGCC_KEY_I, MEGCC_ODD_NONE, 0)
#define MEGCC_SORTS_U(T, S) \
  MEGCC_SORTS(T, S, T, MEGCC_PLAIN, MEGCC_BELOW, T, MEGCC_KEY_U, MEGCC_ODD_NONE, 0)
#define MEGCC_SORTS_F(T, S, K, KEY, U, INF) \
  MEGCC_SORTS(T, S, K, KEY, MEGCC_BELOW_NAN, U, MEGCC_KEY_F, MEGCC_ODD_FLOAT, INF)

// clang-format off
MEGCC_SORTS_F(float, f32, float, MEGCC_PLAIN, uint32_t, 0x7f800000)
MEGCC_SORTS_F(double, f64, double, MEGCC_PLAIN, uint64_t, 0x7ff0000000000000)
MEGCC_SORTS_F(uint16_t, f16, float, megcc_f16_to_f32, uint16_t, 0x7c00)
MEGCC_SORTS_F(uint16_t, bf16, float, megcc_bf16_to_f32, uint16_t, 0x7f80)
MEGCC_SORTS_U(uint8_t, bool)
MEGCC_SORTS_I(int8_t, i8, uint8_t)
MEGCC_SORTS_U(uint8_t, u8)
MEGCC_SORTS_I(int16_t, i16, uint16_t)
MEGCC_SORTS_U(uint16_t, u16)
MEGCC_SORTS_I(int32_t, i32, uint32_t)
MEGCC_SORTS_U(uint32_t, u32)
MEGCC_SORTS_I(int64_t, i64, uint64_t)
MEGCC_SORTS_U(uint64_t, u64)
// clang-format on

#endif  // MEGCC_SORT_H
