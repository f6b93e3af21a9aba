// Products and quotients of fractions, for kernels without floats.
#ifndef MEGCC_FIXED_POINT_H
#define MEGCC_FIXED_POINT_H

#include "megcc_kernel.h"

// a * b, by the multiplications of 32 bits that there are.
MEGCC_INLINE uint64_t megcc_product(uint32_t a, uint32_t b) {
#if defined(__thumb__) && !defined(__thumb2__)
  const uint32_t a0 = a & 0xffff, a1 = a >> 16, b0 = b & 0xffff, b1 = b >> 16, low = a0 * b0;
  const uint32_t middle = a1 * b0 + (low >> 16), other = a0 * b1 + (middle & 0xffff);
  const uint32_t high = a1 * b1 + (middle >> 16) + (other >> 16);
  return (uint64_t)high << 32 | (other << 16 | (low & 0xffff));
#else
  return (uint64_t)a * b;
#endif
}

// The fraction of a finite number, with *exponent: the magnitude is fraction * 2^*exponent.
MEGCC_INLINE uint32_t megcc_f32_fraction(uint32_t bits, int32_t *exponent) {
  const int32_t biased = (int32_t)(bits >> 23 & 0xff);
  *exponent = (biased > 0 ? biased : 1) - 150;
  return (bits & 0x7fffff) | (biased > 0 ? 0x800000u : 0);
}

// floor(a / b * 2^bits), a < b; *rest is set where that is not the quotient.
MEGCC_INLINE uint32_t megcc_f32_quotient(uint32_t a, uint32_t b, int32_t bits, uint32_t *rest) {
  uint32_t q = 0;
  for (; bits > 0; --bits) {
    a <<= 1, q <<= 1;
    if (a >= b) a -= b, ++q;
  }
  *rest = a != 0;
  return q;
}

#endif  // MEGCC_FIXED_POINT_H
