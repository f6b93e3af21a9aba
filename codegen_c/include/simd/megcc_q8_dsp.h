// Four 8-bit integers of a word at a time, by the DSP extension of Armv7E-M (Cortex-M4, M7, M33):
// they are widened to 16 bits, two in a register, and multiplied so.
//
// sxtb16 takes bytes 0 and 2 of a word, and with a rotation bytes 1 and 3: where data and weights
// are both widened by it, equal bytes meet and nothing is shuffled. Sums are those of i32 modulo
// 2^32, as everywhere.
#ifndef MEGCC_Q8_DSP_H
#define MEGCC_Q8_DSP_H

#include "megcc_kernel.h"

// The floating-point unit of a Cortex-M4 converts as it rounds, which it has no instruction for.
// Numbers outside i32 become its limits, and NaN 0; so do sums with the zero point, which are
// limited to 8 bits by one instruction where the limits are the type's.
#if defined(__ARM_FP) && (__ARM_FP & 4)
MEGCC_INLINE int32_t megcc_dsp_nearest(float v, int32_t zero, int32_t low, int32_t high,
                                       int is_unsigned) {
  int32_t i;
  __asm__("vcvtr.s32.f32 %0, %1" : "=t"(v) : "t"(v));
  __asm__("vmov %0, %1" : "=r"(i) : "t"(v));
  __asm__("qadd %0, %1, %2" : "=r"(i) : "r"(i), "r"(zero));
  if (high - low == 255) {
    if (is_unsigned) {
      __asm__("usat %0, #8, %1" : "=r"(i) : "r"(i));
    } else {
      __asm__("ssat %0, #8, %1" : "=r"(i) : "r"(i));
    }
    return i;
  }
  i = i > low ? i : low;
  return i < high ? i : high;
}
#define MEGCC_NEAREST(v, zero, low, high) \
  megcc_dsp_nearest(v, zero, low, high, MEGCC_IS_UNSIGNED(Y))
#endif

#include "megcc_requant.h"

#ifndef X
#define X i8
#endif

// A word that need not be aligned, as loads of these machines need not.
MEGCC_INLINE uint32_t megcc_dsp_word(const void *p) {
  const struct __attribute__((packed, may_alias)) { uint32_t word; } *from = p;
  return from->word;
}

// Two words at a multiple of 4, as packed weights and workspaces are: ldrd faults elsewhere.
MEGCC_INLINE void megcc_dsp_two_words(const uint32_t **p, uint32_t *first, uint32_t *second) {
  const uint32_t(*from)[2] = (const uint32_t(*)[2]) * p;
  __asm__("ldrd %0, %1, [%2], #8" : "=&r"(*first), "=&r"(*second), "+r"(*p) : "m"(*from));
}

// Bytes 0 and 2 (even), 1 and 3 (odd) of a word as signed 16 bits.
MEGCC_INLINE uint32_t megcc_dsp_even(uint32_t word) {
  uint32_t v;
  __asm__("sxtb16 %0, %1" : "=r"(v) : "r"(word));
  return v;
}
MEGCC_INLINE uint32_t megcc_dsp_odd(uint32_t word) {
  uint32_t v;
  __asm__("sxtb16 %0, %1, ror #8" : "=r"(v) : "r"(word));
  return v;
}

#define MEGCC_DSP_UNSIGNED ((MEGCC_CTYPE(X)) - 1 > 0)  // whether X is

// The same of X, added to the two halves of `to`.
MEGCC_INLINE uint32_t megcc_dsp_even_from(uint32_t to, uint32_t word) {
  uint32_t v;
  if (MEGCC_DSP_UNSIGNED) {
    __asm__("uxtab16 %0, %1, %2" : "=r"(v) : "r"(to), "r"(word));
  } else {
    __asm__("sxtab16 %0, %1, %2" : "=r"(v) : "r"(to), "r"(word));
  }
  return v;
}
MEGCC_INLINE uint32_t megcc_dsp_odd_from(uint32_t to, uint32_t word) {
  uint32_t v;
  if (MEGCC_DSP_UNSIGNED) {
    __asm__("uxtab16 %0, %1, %2, ror #8" : "=r"(v) : "r"(to), "r"(word));
  } else {
    __asm__("sxtab16 %0, %1, %2, ror #8" : "=r"(v) : "r"(to), "r"(word));
  }
  return v;
}

// `sum` and the two products of halves.
MEGCC_INLINE uint32_t megcc_dsp_pairs(uint32_t a, uint32_t b, uint32_t sum) {
  uint32_t v;
  __asm__("smlad %0, %1, %2, %3" : "=r"(v) : "r"(a), "r"(b), "r"(sum));
  return v;
}

// `sum` and the product of the lower halves, or of the upper ones.
MEGCC_INLINE uint32_t megcc_dsp_low(uint32_t a, uint32_t b, uint32_t sum) {
  uint32_t v;
  __asm__("smlabb %0, %1, %2, %3" : "=r"(v) : "r"(a), "r"(b), "r"(sum));
  return v;
}
MEGCC_INLINE uint32_t megcc_dsp_high(uint32_t a, uint32_t b, uint32_t sum) {
  uint32_t v;
  __asm__("smlatt %0, %1, %2, %3" : "=r"(v) : "r"(a), "r"(b), "r"(sum));
  return v;
}

// Minus the zero point in both halves, which data is widened onto.
MEGCC_INLINE uint32_t megcc_dsp_minus(int32_t zero) {
  const uint32_t half = (uint32_t)-zero & 0xffff;
  return half << 16 | half;
}

#endif  // MEGCC_Q8_DSP_H
