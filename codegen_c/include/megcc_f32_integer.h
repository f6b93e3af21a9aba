// f32 arithmetic on the bits of numbers, in integers: machines without floats follow a rule of f32
// by it, step by step. Every step rounds as IEEE 754 says, halves to even; infinities and NaNs
// included.
#ifndef MEGCC_F32_INTEGER_H
#define MEGCC_F32_INTEGER_H

#include "megcc_fixed_point.h"

#define MEGCC_F32_INFINITE 0x7f800000u
#define MEGCC_F32_NAN 0x7fc00000u
#define MEGCC_F32_BEYOND (1 << 24)  // magnitude of megcc_f32_nearest for larger numbers

// m * 2^exponent, of bit 31 of `sign`, as f32; bit 0 of m stands for all that was cut off.
MEGCC_COLD static uint32_t megcc_f32_rounded(uint32_t sign, uint64_t m, int32_t exponent) {
  int32_t drop = 0;
  if (m == 0) return sign;
  while (m < (uint64_t)1 << 26) m <<= 1, --exponent;
  if (m >= (uint64_t)1 << 40) drop = 16;
  while (m >> drop >= (uint64_t)1 << 24) ++drop;
  if (exponent + drop < -149) drop = -149 - exponent;  // subnormal
  if (drop > 62) return sign;
  const uint64_t below = m & (((uint64_t)1 << drop) - 1), half = (uint64_t)1 << (drop - 1);
  m >>= drop, exponent += drop;
  m += below > half || (below == half && (m & 1));
  if (exponent + 150 > 254) return sign | MEGCC_F32_INFINITE;
  // A fraction of 2^24 carries into the exponent, that of a subnormal number into the first.
  const uint32_t bits = (uint32_t)m + ((uint32_t)(exponent + 149) << 23);
  return sign | (bits < MEGCC_F32_INFINITE ? bits : MEGCC_F32_INFINITE);
}

MEGCC_INLINE int megcc_f32_is_finite(uint32_t bits) {
  return (bits & MEGCC_F32_INFINITE) != MEGCC_F32_INFINITE;
}

MEGCC_INLINE int megcc_f32_is_nan(uint32_t bits) { return (bits & 0x7fffffff) > 0x7f800000; }

MEGCC_INLINE uint32_t megcc_f32_of(int32_t v) {
  return megcc_f32_rounded((uint32_t)v & 0x80000000u, v < 0 ? 0 - (uint32_t)v : (uint32_t)v, 0);
}

MEGCC_COLD static uint32_t megcc_f32_mul(uint32_t a, uint32_t b) {
  const uint32_t sign = (a ^ b) & 0x80000000u;
  int32_t ea, eb;
  if (!megcc_f32_is_finite(a) || !megcc_f32_is_finite(b)) {
    const int is_zero = (a << 1) == 0 || (b << 1) == 0;
    return megcc_f32_is_nan(a) || megcc_f32_is_nan(b) || is_zero ? MEGCC_F32_NAN
                                                                 : sign | MEGCC_F32_INFINITE;
  }
  const uint64_t fa = megcc_f32_fraction(a, &ea), fb = megcc_f32_fraction(b, &eb);
  return megcc_f32_rounded(sign, fa * fb, ea + eb);
}

MEGCC_COLD static uint32_t megcc_f32_div(uint32_t a, uint32_t b) {
  const uint32_t sign = (a ^ b) & 0x80000000u;
  const int is_zero = (a << 1) == 0, by_zero = (b << 1) == 0;
  int32_t ea, eb;
  uint32_t rest;
  if (megcc_f32_is_nan(a) || megcc_f32_is_nan(b) || (is_zero && by_zero)) return MEGCC_F32_NAN;
  if (!megcc_f32_is_finite(a)) {
    return megcc_f32_is_finite(b) ? sign | MEGCC_F32_INFINITE : MEGCC_F32_NAN;
  }
  if (by_zero) return sign | MEGCC_F32_INFINITE;
  if (is_zero || !megcc_f32_is_finite(b)) return sign;
  uint32_t fa = megcc_f32_fraction(a, &ea), fb = megcc_f32_fraction(b, &eb);
  while (fa < 0x800000) fa <<= 1, --ea;
  while (fb < 0x800000) fb <<= 1, --eb;
  fb <<= 1, --eb;  // so that fa is less
  const uint32_t q = megcc_f32_quotient(fa, fb, 27, &rest);
  return megcc_f32_rounded(sign, (uint64_t)q << 1 | rest, ea - eb - 28);
}

MEGCC_COLD static uint32_t megcc_f32_add(uint32_t a, uint32_t b) {
  int32_t ea, eb;
  if (!megcc_f32_is_finite(a) || !megcc_f32_is_finite(b)) {
    if (megcc_f32_is_nan(a) || megcc_f32_is_nan(b)) return MEGCC_F32_NAN;
    if (!megcc_f32_is_finite(a)) return megcc_f32_is_finite(b) || a == b ? a : MEGCC_F32_NAN;
    return b;
  }
  if ((a & 0x7fffffff) < (b & 0x7fffffff)) {
    const uint32_t larger = b;
    b = a, a = larger;
  }
  // 30 bits below the last one of the larger number: what is cut off the other is no half.
  const uint64_t fa = (uint64_t)megcc_f32_fraction(a, &ea) << 30;
  uint64_t fb = (uint64_t)megcc_f32_fraction(b, &eb) << 30;
  const int32_t down = ea - eb < 63 ? ea - eb : 63;
  fb = fb >> down | ((fb & (((uint64_t)1 << down) - 1)) != 0);
  if (((a ^ b) & 0x80000000u) == 0) return megcc_f32_rounded(a & 0x80000000u, fa + fb, ea - 30);
  if (fa == fb) return 0;
  return megcc_f32_rounded(a & 0x80000000u, fa - fb, ea - 30);
}

// The nearest integer, halves to even, within +-MEGCC_F32_BEYOND; -MEGCC_F32_BEYOND for a NaN, as a
// comparison with the lower limit has it.
MEGCC_COLD static int32_t megcc_f32_nearest(uint32_t bits) {
  int32_t exponent;
  if (megcc_f32_is_nan(bits)) return -MEGCC_F32_BEYOND;
  uint32_t m = megcc_f32_fraction(bits, &exponent);
  if (exponent >= 0) {
    m = exponent > 0 ? MEGCC_F32_BEYOND : m;
  } else if (exponent < -25) {
    m = 0;
  } else {
    const uint32_t below = m & ((1u << -exponent) - 1), half = 1u << (-exponent - 1);
    m >>= -exponent;
    m += below > half || (below == half && (m & 1));
  }
  return bits >> 31 ? -(int32_t)m : (int32_t)m;
}

// An integer of the numbers from `low` to `high`: the nearest one to the number, plus `zero`.
MEGCC_INLINE int32_t megcc_f32_stored(uint32_t bits, int32_t zero, int32_t low, int32_t high) {
  const int32_t v = megcc_f32_nearest(bits) + zero;
  return v < low ? low : v < high ? v : high;
}

#endif  // MEGCC_F32_INTEGER_H
