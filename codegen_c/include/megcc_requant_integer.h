// The requantisation of megcc_requant.h, to the bit, in integers: for machines without floats.
//
// With sum = +-m and scale = f * 2^(e - 150), f of 24 bits, the number is m * f * 2^(e - 150). f32
// rounds it to 24 bits before it is rounded to an integer, which matters only next to a half: by at
// most 2^-16, as numbers from 512 on are beyond all limits. There the exact rule is followed step
// by step, elsewhere the product is rounded once.
#ifndef MEGCC_REQUANT_INTEGER_H
#define MEGCC_REQUANT_INTEGER_H

#include "megcc_fixed_point.h"

#define MEGCC_REQUANT_BEYOND 512  // a magnitude that all limits are below

// m / 2^bits as an integer, halves to even; 0 < bits < 64.
MEGCC_INLINE uint64_t megcc_shifted(uint64_t m, int32_t bits) {
  const uint64_t below = m & (((uint64_t)1 << bits) - 1), half = (uint64_t)1 << (bits - 1);
  m >>= bits;
  return m + (below > half || (below == half && (m & 1)));
}

// m rounded to 24 significant bits; how many were dropped is added to `exponent`.
MEGCC_INLINE uint64_t megcc_significant(uint64_t m, int32_t *exponent) {
  int32_t more = 0;
  while (m >> more >= (uint64_t)1 << 24) ++more;
  *exponent += more;
  return more > 0 ? megcc_shifted(m, more) : m;
}

// The magnitude of round(f32(m) * scale) for the bits of a finite scale without its sign, or
// MEGCC_REQUANT_BEYOND for any that is as large.
MEGCC_FAST_CODE static uint32_t megcc_requant_exact(uint32_t m, uint32_t scale) {
  const uint32_t fraction = scale & 0x7fffff;
  const int32_t biased = (int32_t)(scale >> 23);
  int32_t exponent = (biased > 0 ? biased : 1) - 150;
  const uint64_t sum = megcc_significant(m, &exponent);
  const uint64_t product =
      megcc_significant(sum * (biased > 0 ? fraction | 0x800000 : fraction), &exponent);
  if (product == 0 || exponent < -40) return 0;
  if (exponent >= 0) {
    return exponent > 9 || product << exponent >= MEGCC_REQUANT_BEYOND
               ? MEGCC_REQUANT_BEYOND
               : (uint32_t)(product << exponent);
  }
  const uint64_t found = megcc_shifted(product, -exponent);
  return found < MEGCC_REQUANT_BEYOND ? (uint32_t)found : MEGCC_REQUANT_BEYOND;
}

// The magnitude from m * 2^up, which is below 2^31, and how many bits of its product with the
// scale's 24 are below the point: 33 to 63. *near is set where the exact rule is needed.
MEGCC_INLINE uint32_t megcc_requant_once(uint32_t m, uint32_t scale, uint32_t bits, int *near) {
  const uint64_t product = megcc_product(m, (scale & 0x7fffff) | 0x800000);
  const uint32_t part = (uint32_t)(product >> (bits - 32));
  *near = part - 0x7fff0000 <= 0x20000;
  return ((uint32_t)(product >> 32) >> (bits - 32)) + (part >> 31);
}

// Magnitudes that megcc_requant_integer does not compute itself: of large sums, as channels have
// whose weights are next to nothing; of scales from 2^-3 to 2, and others; and next to a half.
MEGCC_COLD static uint32_t megcc_requant_other(uint32_t m, uint32_t scale) {
  int32_t up = 11, dropped = 0;
  uint32_t rounded = m;
  if (scale < (uint32_t)(127 - 33) << 23) return 0;  // below 2^-33
  while (m >> dropped >= (uint32_t)1 << 24) ++dropped;
  if (dropped > 0) rounded = (uint32_t)megcc_shifted(m, dropped);
  if (rounded >= (uint32_t)1 << 20) up = 7;
  const uint32_t bits = 150 + (uint32_t)(up - dropped) - (scale >> 23);
  if (bits - 33 < 31) {
    int near;
    const uint32_t q = megcc_requant_once(rounded << up, scale, bits, &near);
    if (!near) return q;
  }
  return megcc_requant_exact(m, scale);
}

// saturate(round(f32(sum) * scale) + zero) between `low` and `high`; `low` where that is no number.
MEGCC_INLINE int32_t megcc_requant_integer(int32_t sum, uint32_t scale, int32_t zero, int32_t low,
                                           int32_t high) {
  const uint32_t m = sum < 0 ? 0 - (uint32_t)sum : (uint32_t)sum;
  const uint32_t bits = 150 + 7 - (scale >> 23);
  uint32_t q = 0;
  int near = 1;
  if (bits - 33 < 31 && m < (uint32_t)1 << 24) {  // a scale from 2^-33 to 2^-3, as usual
    q = megcc_requant_once(m << 7, scale, bits, &near);
  }
  if (near) {
    if ((scale & 0x7f800000) == 0x7f800000 && ((scale & 0x7fffff) != 0 || m == 0)) return low;
    q = megcc_requant_other(m, scale & 0x7fffffff);
    sum = (scale >> 31) != 0 ? -1 - sum : sum;  // another sign
  }
  int32_t v = (sum < 0 ? -(int32_t)q : (int32_t)q) + zero;
  v = v > low ? v : low;
  return v < high ? v : high;
}

#endif  // MEGCC_REQUANT_INTEGER_H
