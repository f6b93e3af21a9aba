// megcc_requant_fixed.h for Helium: four integers at a time, in fixed point.
//
// Results are those of up to six steps in f32, to the bit. Each rounds a number below 512 by at
// most 1/8 of the last bit below the point, so the error is below MEGCC_MVE_ERROR of them.
#ifndef MEGCC_FIXED_MVE_H
#define MEGCC_FIXED_MVE_H

#include <arm_mve.h>

#include "megcc_requant_fixed.h"

// Whether vectors of floats are missing.
#define MEGCC_MVE_FIXED ((__ARM_FEATURE_MVE & 2) == 0)

#define MEGCC_MVE_ERROR (MEGCC_FIXED_ERROR + 1)

// The scale of integers of at most `bound`, from its float.
MEGCC_INLINE megcc_fixed_t megcc_mve_fixed_of(float value, uint32_t bound) {
  const union {
    float f;
    uint32_t bits;
  } scale = {value};
  megcc_fixed_t v = megcc_fixed_of(scale.bits, bound);
  if (v.window != 0xffffffff) v.window = (2u * MEGCC_MVE_ERROR) << (32 - MEGCC_FIXED_BITS);
  return v;
}

// megcc_fixed_start for these.
MEGCC_INLINE int32_t megcc_mve_fixed_start(int32_t zero) {
  return megcc_fixed_start(zero) + MEGCC_MVE_ERROR - MEGCC_FIXED_ERROR;
}

// Whether an offset is an integer that a zero point may be.
MEGCC_INLINE int megcc_mve_is_whole(float offset) {
  return offset >= -255 && offset <= 255 && (float)(int32_t)offset == offset;
}

// megcc_fixed of four integers; *near is set for those of `some` that may be other numbers.
MEGCC_INLINE int32x4_t megcc_mve_fixed(const megcc_fixed_t *v, int32x4_t n, int32_t start,
                                       mve_pred16_t some, mve_pred16_t *near) {
  const int32x4_t t = vshlq_r_s32(n, (int32_t)v->up);
  const int32x4_t found = vaddq_n_s32(vmulhq_s32(t, vdupq_n_s32(v->factor)), start);
  const uint32x4_t part = vshlq_n_u32(vreinterpretq_u32_s32(found), 32 - MEGCC_FIXED_BITS);
  *near = vcmpcsq_m_u32(vdupq_n_u32(v->window), part, some);
  return vshrq_n_s32(found, MEGCC_FIXED_BITS);
}

// Whether `near` is set for a lane.
MEGCC_INLINE int megcc_mve_is_near(mve_pred16_t near, int lane) { return near >> (4 * lane) & 1; }

#endif  // MEGCC_FIXED_MVE_H
