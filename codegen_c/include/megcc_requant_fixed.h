// The requantisation of megcc_requant_integer.h for many sums of a channel: megcc_fixed_of prepares
// the scale, and a sum takes one product.
//
// A result has MEGCC_FIXED_BITS below the point, and where its magnitude is at most 256 an error of
// at most MEGCC_FIXED_ERROR of the last of them. Where a half is nearer than that, the caller
// computes by megcc_requant_integer, so results are the same to the bit.
//
// With scale = f * 2^(e - 150) the product is (sum * 2^up) * (f * 2^7) / 2^32, up = bits + e - 125.
// Where `up` would be negative, the factor is shifted. The error: 1 as the product is cut off, 1/2
// as the factor is, and as f32 rounds the sum and the product, less than 1/4.
//
// Machines that have no product of 64 bits (MEGCC_FIXED_HALF) multiply by the factor's upper 16
// bits, which is a relative error of 2^-16. `up` is one less there, and where it would be negative
// the sum is shifted down.
#ifndef MEGCC_REQUANT_FIXED_H
#define MEGCC_REQUANT_FIXED_H

#include "megcc_requant_integer.h"

#ifndef MEGCC_FIXED_HALF
#if defined(__thumb__) && !defined(__thumb2__)
#define MEGCC_FIXED_HALF 1
#else
#define MEGCC_FIXED_HALF 0
#endif
#endif

#define MEGCC_FIXED_BITS 12
#define MEGCC_FIXED_ERROR (MEGCC_FIXED_HALF ? 19 : 2)

typedef struct {
  int32_t factor;
  uint32_t up;
#if MEGCC_FIXED_HALF
  uint32_t down;
#endif
  uint32_t window;  // of fractions, at the top of a word, that are too near to a half
} megcc_fixed_t;

// The bits of a scale, and the largest magnitude of the channel's sums: 2^31 is that of any.
MEGCC_INLINE megcc_fixed_t megcc_fixed_of(uint32_t scale, uint32_t bound) {
  const uint32_t f = (scale & 0x7fffff) | 0x800000;
  const int32_t up = (int32_t)(scale >> 23) + MEGCC_FIXED_BITS - 125 - MEGCC_FIXED_HALF;
  const int32_t least = MEGCC_FIXED_HALF ? 0 : 1, down = up < 0 ? -up : 0;
  megcc_fixed_t v;
  v.up = up > 0 ? (uint32_t)up & 31 : 0;
  v.window = (2u * MEGCC_FIXED_ERROR) << (32 - MEGCC_FIXED_BITS);
  // A product that may overflow, a sign and what is no number: each sum is computed the other way.
  if (up >= least && (up > 30 || bound >> (31 - MEGCC_FIXED_HALF - up) != 0)) {
    v.window = 0xffffffff;
  }
#if MEGCC_FIXED_HALF
  v.down = down < 32 ? (uint32_t)down : 31;
  v.factor = down < 32 ? (int32_t)((f + 128) >> 8) : 0;
#else
  v.factor = down < 32 ? (int32_t)(f << 7 >> down) : 0;
#endif
  return v;
}

// What is added to all products of a call whose results have this zero point.
MEGCC_INLINE int32_t megcc_fixed_start(int32_t zero) {
  return zero * (1 << MEGCC_FIXED_BITS) + (1 << (MEGCC_FIXED_BITS - 1)) + MEGCC_FIXED_ERROR;
}

// round(f32(sum) * scale) + zero point, beyond the limits in the right direction; *near is set
// where it may be another number.
MEGCC_INLINE int32_t megcc_fixed(const megcc_fixed_t *v, int32_t sum, int32_t start, int *near) {
#if MEGCC_FIXED_HALF
  const int32_t t = (int32_t)((uint32_t)sum << v->up) >> v->down;
  const uint32_t low = (uint32_t)(t & 0xffff) * (uint32_t)v->factor >> 16;
  const int32_t found = (int32_t)((uint32_t)((t >> 16) * v->factor) + low + (uint32_t)start);
#else
  const int32_t t = (int32_t)((uint32_t)sum << v->up);
  const int32_t found = (int32_t)(((int64_t)t * v->factor) >> 32) + start;
#endif
  *near = (uint32_t)found << (32 - MEGCC_FIXED_BITS) <= v->window;
  return found >> MEGCC_FIXED_BITS;
}

#endif  // MEGCC_REQUANT_FIXED_H
