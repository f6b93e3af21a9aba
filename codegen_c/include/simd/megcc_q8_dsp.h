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
#if defined(__ARM_FP) && (__ARM_FP & 4)
MEGCC_INLINE int32_t megcc_dsp_nearest(float v) {
  int32_t i;
  __asm__("vcvtr.s32.f32 %0, %1" : "=t"(i) : "t"(v));
  return i;
}
#define MEGCC_NEAREST megcc_dsp_nearest
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
