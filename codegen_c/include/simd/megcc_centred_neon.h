// Bytes less their zero point, for NEON.
#ifndef MEGCC_CENTRED_NEON_H
#define MEGCC_CENTRED_NEON_H

#include <arm_neon.h>

#include "megcc_kernel.h"

// The lower eight of sixteen bytes.
MEGCC_INLINE int16x8_t megcc_centred_low(uint8x16_t v, uint8x16_t zero, int is_unsigned) {
  if (is_unsigned) return vreinterpretq_s16_u16(vsubl_u8(vget_low_u8(v), vget_low_u8(zero)));
  return vsubl_s8(vreinterpret_s8_u8(vget_low_u8(v)), vreinterpret_s8_u8(vget_low_u8(zero)));
}

// The upper eight of sixteen bytes.
MEGCC_INLINE int16x8_t megcc_centred_high(uint8x16_t v, uint8x16_t zero, int is_unsigned) {
#if defined(__aarch64__)
  if (is_unsigned) return vreinterpretq_s16_u16(vsubl_high_u8(v, zero));
  return vsubl_high_s8(vreinterpretq_s8_u8(v), vreinterpretq_s8_u8(zero));
#else
  if (is_unsigned) return vreinterpretq_s16_u16(vsubl_u8(vget_high_u8(v), vget_high_u8(zero)));
  return vsubl_s8(vreinterpret_s8_u8(vget_high_u8(v)), vreinterpret_s8_u8(vget_high_u8(zero)));
#endif
}

#endif  // MEGCC_CENTRED_NEON_H
