// Sums of 8-bit integers as elements of y, as op/qpool2d.h says, in portable C.
//
// A kernel defines MEGCC_POOL(name), its operator's attribute, before it includes this header.
// Machines without floats divide integers where scales are equal, and multiply in fixed point else.
#ifndef MEGCC_QPOOL_STORE_H
#define MEGCC_QPOOL_STORE_H

#include "math/megcc_round.h"
#include "megcc_dtype.h"
#include "megcc_soft_floats.h"
#include "op/qpool2d.h"

enum { BLOCK = 64 };  // channels at a time

#if MEGCC_SOFT_FLOATS

#include "megcc_f32_integer.h"
#include "megcc_requant_fixed.h"

#define ONE 0x3f800000  // 1.0f
// Elements of a window whose average, rounded to f32, is no half unless it was one: the distance to
// a half is at least 1 / (2 * MOST), and f32 rounds a number below 256 by at most 2^-17, twice with
// an offset.
#define MOST (1 << 14)

typedef struct {
  int32_t x_zero, zero, low, high;
  uint32_t scale, offset;  // float bits
  int32_t whole;           // the offset, if that is an integer of a zero point's size
  int is_whole;
} megcc_qpool_t;

MEGCC_INLINE megcc_qpool_t megcc_qpool_of(const int32_t *attr) {
  const uint32_t offset = (uint32_t)attr[MEGCC_POOL(OFFSET)];
  const int32_t nearest = offset << 1 == 0 ? 0 : megcc_f32_nearest(offset);
  const int is_whole = nearest == 0
                           ? offset << 1 == 0
                           : nearest >= -256 && nearest <= 256 && megcc_f32_of(nearest) == offset;
  const megcc_qpool_t q = {attr[MEGCC_POOL(X_ZERO)],
                           attr[MEGCC_POOL(Y_ZERO)],
                           attr[MEGCC_POOL(LOW)],
                           attr[MEGCC_POOL(HIGH)],
                           (uint32_t)attr[MEGCC_POOL(SCALE)],
                           offset,
                           is_whole ? nearest : 0,
                           is_whole};
  return q;
}

// An element as op/qpool2d.h says, step by step.
MEGCC_COLD static int32_t megcc_qpool_exact(const megcc_qpool_t *q, int32_t sum, int32_t count) {
  uint32_t v = megcc_f32_of(sum);
  if (FUNC == QPOOL2D_AVG) v = megcc_f32_div(v, megcc_f32_of(count));
  v = megcc_f32_add(megcc_f32_mul(v, q->scale), q->offset);
  return megcc_f32_stored(v, q->zero, q->low, q->high);
}

// The elements of y for `n` sums, at most BLOCK, each of `taps` elements; an average divides by
// `by`. The sums may be overwritten.
MEGCC_INLINE void megcc_qpool_store(const megcc_qpool_t *q, int32_t *sum, int32_t by, int32_t taps,
                                    MEGCC_CTYPE(Y) * dst, int32_t n) {
  const int32_t count = FUNC == QPOOL2D_AVG ? by : 1;
  const int32_t zero = q->zero + q->whole, low = q->low, high = q->high;
  if (q->scale == ONE && q->is_whole && count > 0 && count <= MOST && taps <= MOST) {
    const uint32_t twice = 2 * (uint32_t)count;
    const int32_t start = q->whole * count, y_zero = q->zero;
    for (int32_t k = 0; k < n; ++k) {
      const int32_t s = sum[k] + start;
      const uint32_t up = (s < 0 ? 0 - (uint32_t)s : (uint32_t)s) * 2 + (uint32_t)count;
      uint32_t m = up / twice;
      if (m * twice == up) m &= ~1u;  // a half
      const int32_t v = (s < 0 ? -(int32_t)m : (int32_t)m) + y_zero;
      dst[k] = (MEGCC_CTYPE(Y))(v < low ? low : v < high ? v : high);
    }
    return;
  }
  // Beside the roundings that megcc_requant_fixed.h knows of there are that of a quotient twice,
  // and of the offset: 3/16 of its last bit, for which its limit has room.
  const uint32_t ratio =
      FUNC == QPOOL2D_AVG ? megcc_f32_div(q->scale, megcc_f32_of(count)) : q->scale;
  const megcc_fixed_t v = megcc_fixed_of(ratio, (uint32_t)taps * 255);
  const int32_t start = megcc_fixed_start(zero);
  for (int32_t k = 0; k < n; ++k) {
    int near;
    int32_t r = megcc_fixed(&v, sum[k], start, &near);
    if (near || !q->is_whole) r = megcc_qpool_exact(q, sum[k], count);
    dst[k] = (MEGCC_CTYPE(Y))(r < low ? low : r < high ? r : high);
  }
}

#else

typedef struct {
  int32_t x_zero, zero;
  float scale, offset, low, high;
} megcc_qpool_t;

// The elements of y for `n` sums, at most BLOCK, each of `taps` elements; an average divides by
// `by`. The sums are overwritten. The products have a loop of their own, so that none is contracted
// with the offset.
MEGCC_INLINE void megcc_qpool_store(const megcc_qpool_t *q, int32_t *sum, int32_t by, int32_t taps,
                                    MEGCC_CTYPE(Y) * dst, int32_t n) {
  float v[BLOCK];
  const float count = FUNC == QPOOL2D_AVG ? (float)by : 1.0f;
  (void)taps;
  for (int32_t k = 0; k < n; ++k) v[k] = (float)sum[k] / count * q->scale;
  for (int32_t k = 0; k < n; ++k) {
    float r = megcc_roundf(v[k] + q->offset);
    r = r > q->low ? r : q->low;
    sum[k] = (int32_t)(r < q->high ? r : q->high) + q->zero;
  }
  for (int32_t k = 0; k < n; ++k) dst[k] = (MEGCC_CTYPE(Y))sum[k];
}

MEGCC_INLINE megcc_qpool_t megcc_qpool_of(const int32_t *attr) {
  const int32_t zero = attr[MEGCC_POOL(Y_ZERO)];
  const megcc_qpool_t q = {attr[MEGCC_POOL(X_ZERO)],
                           zero,
                           megcc_attr_f32(attr[MEGCC_POOL(SCALE)]),
                           megcc_attr_f32(attr[MEGCC_POOL(OFFSET)]),
                           (float)(attr[MEGCC_POOL(LOW)] - zero),
                           (float)(attr[MEGCC_POOL(HIGH)] - zero)};
  return q;
}

#endif

#endif  // MEGCC_QPOOL_STORE_H
