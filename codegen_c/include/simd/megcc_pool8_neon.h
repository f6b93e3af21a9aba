// Pixels of fewer than 16 bytes for megcc_pool8.h: 16 bytes are read and written wherever there are
// as many, those of the next pixels among them.
#ifndef MEGCC_POOL8_NEON_H
#define MEGCC_POOL8_NEON_H

#include <arm_neon.h>

#include "megcc_pool8.h"

MEGCC_COLD static uint8x16_t megcc_pool8_last(const uint8_t *p, int32_t channels) {
  uint8_t held[16] = {0};
  for (int32_t k = 0; k < channels; ++k) held[k] = p[k];
  return vld1q_u8(held);
}

// The pixel at `at` bytes from the first one of the window.
MEGCC_INLINE uint8x16_t megcc_pool8_load(const megcc_pool8_t *t, ptrdiff_t at) {
  return t->left - at >= 16 ? vld1q_u8(t->src + at) : megcc_pool8_last(t->src + at, t->channels);
}

MEGCC_COLD static void megcc_pool8_end(uint8_t *dst, uint8x16_t v, int32_t channels) {
  uint8_t held[16];
  vst1q_u8(held, v);
  for (int32_t k = 0; k < channels; ++k) dst[k] = held[k];
}

// Bytes behind the pixel are overwritten by the next pixel of the row.
MEGCC_INLINE void megcc_pool8_store(const megcc_pool8_t *t, uint8_t *dst, uint8x16_t v) {
  if (t->room >= 16) {
    vst1q_u8(dst, v);
  } else {
    megcc_pool8_end(dst, v, t->channels);
  }
}

#endif  // MEGCC_POOL8_NEON_H
