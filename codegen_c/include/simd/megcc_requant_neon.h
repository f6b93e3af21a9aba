// megcc_requant.h for NEON: four sums to real numbers, 8 or 16 real numbers to 8 bits, to the bit.
//
// The macros that megcc_requant.h wants are defined before, those of a kernel with an 8-bit Y.
// `megcc_scaled` then `megcc_stored_16` (or _8) is `megcc_rescaled`, but for a NaN: that is the
// zero point here and the lower limit there. Scales and offsets are finite where y has 8 bits, so
// no sum gives one. Arm64 rounds by an instruction, which saturates, and narrows with saturation;
// limits cost a minimum and a maximum of 16 bytes. Armv7 has no such instruction: there the numbers
// are clamped first, and 1.5 * 2^23 is added to them, whose unit in the last place is 1: the sum
// rounds as it should, halves to even, and its low byte is that of the integer.
#ifndef MEGCC_REQUANT_NEON_H
#define MEGCC_REQUANT_NEON_H

#include <arm_neon.h>

#include "megcc_requant.h"

// 0 where the limits of y are those of its type: Arm64 then needs no instructions for them.
#ifndef LIMITS
#define LIMITS 1
#endif

// A call's numbers in every lane.
#if defined(__aarch64__)
typedef struct {
  int16x8_t zero;
  uint8x16_t low, high;
} megcc_narrow;
#else
typedef struct {
  uint8x16_t zero;
  float32x4_t low, high;
} megcc_narrow;
#endif

MEGCC_INLINE megcc_narrow megcc_narrow_of(const megcc_rescale *r) {
  megcc_narrow n;
#if defined(__aarch64__)
  n.zero = vdupq_n_s16((int16_t)r->zero);
  n.low = vdupq_n_u8((uint8_t)r->low);
  n.high = vdupq_n_u8((uint8_t)r->high);
#else
  n.zero = vdupq_n_u8((uint8_t)r->zero);
  n.low = vdupq_n_f32((float)(r->low - r->zero));
  n.high = vdupq_n_f32((float)(r->high - r->zero));
#endif
  return n;
}

// sum * scale, plus `offset` if OFFSET; the product is rounded, whatever the compiler may contract.
MEGCC_INLINE float32x4_t megcc_scaled(int32x4_t sum, float32x4_t scale, float32x4_t offset) {
  float32x4_t v = vmulq_f32(vcvtq_f32_s32(sum), scale);
#if OFFSET
  __asm__("" : "+w"(v));
  v = vaddq_f32(v, offset);
#else
  (void)offset;
#endif
  return v;
}

#if defined(__aarch64__)

MEGCC_INLINE int16x8_t megcc_whole_8(const megcc_narrow *n, float32x4_t a, float32x4_t b) {
  const int16x4_t low = vqmovn_s32(vcvtnq_s32_f32(a));
  return vqaddq_s16(vqmovn_high_s32(low, vcvtnq_s32_f32(b)), n->zero);
}

MEGCC_INLINE uint8x8_t megcc_stored_8(const megcc_narrow *n, float32x4_t a, float32x4_t b) {
  const int16x8_t v = megcc_whole_8(n, a, b);
  if (MEGCC_IS_UNSIGNED(Y)) {
    const uint8x8_t y = vqmovun_s16(v);
    return LIMITS ? vmin_u8(vmax_u8(y, vget_low_u8(n->low)), vget_low_u8(n->high)) : y;
  } else {
    const int8x8_t low = vreinterpret_s8_u8(vget_low_u8(n->low));
    const int8x8_t high = vreinterpret_s8_u8(vget_low_u8(n->high));
    const int8x8_t y = vqmovn_s16(v);
    return vreinterpret_u8_s8(LIMITS ? vmin_s8(vmax_s8(y, low), high) : y);
  }
}

MEGCC_INLINE uint8x16_t megcc_stored_16(const megcc_narrow *n, float32x4_t a, float32x4_t b,
                                        float32x4_t c, float32x4_t d) {
  const int16x8_t v = megcc_whole_8(n, a, b), w = megcc_whole_8(n, c, d);
  if (MEGCC_IS_UNSIGNED(Y)) {
    const uint8x16_t y = vqmovun_high_s16(vqmovun_s16(v), w);
    return LIMITS ? vminq_u8(vmaxq_u8(y, n->low), n->high) : y;
  } else {
    const int8x16_t low = vreinterpretq_s8_u8(n->low), high = vreinterpretq_s8_u8(n->high);
    const int8x16_t y = vqmovn_high_s16(vqmovn_s16(v), w);
    return vreinterpretq_u8_s8(LIMITS ? vminq_s8(vmaxq_s8(y, low), high) : y);
  }
}

#else

MEGCC_INLINE uint16x4_t megcc_whole_4(const megcc_narrow *n, float32x4_t v) {
  const float32x4_t in = vminq_f32(vmaxq_f32(v, n->low), n->high);
  return vmovn_u32(vreinterpretq_u32_f32(vaddq_f32(in, vdupq_n_f32(12582912.0f))));
}

MEGCC_INLINE uint8x8_t megcc_stored_8(const megcc_narrow *n, float32x4_t a, float32x4_t b) {
  const uint16x8_t v = vcombine_u16(megcc_whole_4(n, a), megcc_whole_4(n, b));
  return vadd_u8(vmovn_u16(v), vget_low_u8(n->zero));
}

MEGCC_INLINE uint8x16_t megcc_stored_16(const megcc_narrow *n, float32x4_t a, float32x4_t b,
                                        float32x4_t c, float32x4_t d) {
  const uint16x8_t v = vcombine_u16(megcc_whole_4(n, a), megcc_whole_4(n, b));
  const uint16x8_t w = vcombine_u16(megcc_whole_4(n, c), megcc_whole_4(n, d));
  return vaddq_u8(vcombine_u8(vmovn_u16(v), vmovn_u16(w)), n->zero);
}

#endif

#endif  // MEGCC_REQUANT_NEON_H
