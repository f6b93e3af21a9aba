// Elements of an output by channels: the scale of a channel is prepared once for many sums, where
// that is cheaper (MEGCC_SOFT_FLOATS), else this is megcc_rescaled.
#ifndef MEGCC_REQUANT_CHANNEL_H
#define MEGCC_REQUANT_CHANNEL_H

#include "megcc_requant.h"

#if OUT == MEGCC_QUANT_STORED && MEGCC_SOFT_FLOATS && !OFFSET

#include "megcc_requant_fixed.h"

typedef megcc_fixed_t megcc_channel_t;

MEGCC_INLINE uint32_t megcc_channel_scale(const megcc_rescale *r, int32_t c) {
  const union {
    float f;
    uint32_t bits;
  } scale = {r->scale[SCALES ? c : 0]};
  return scale.bits;
}

// Channel `c`, whose sums are `bias` and `products` products of two bytes.
MEGCC_INLINE megcc_channel_t megcc_channel(const megcc_rescale *r, int32_t c, int32_t bias,
                                           size_t products) {
  const uint32_t magnitude = bias < 0 ? 0 - (uint32_t)bias : (uint32_t)bias;
  const uint32_t most = products < 65536 ? (uint32_t)products << 15 : 0x7fffffff;
  return megcc_fixed_of(megcc_channel_scale(r, c), magnitude + most);
}

// megcc_rescaled, called.
MEGCC_COLD static int32_t megcc_channel_exact(const megcc_rescale *r, int32_t sum, int32_t c) {
  return megcc_requant_integer(sum, megcc_channel_scale(r, c), r->zero, r->low, r->high);
}

// The element of channel `c`, prepared as `v`, whose sum is `sum`; `start` is megcc_channel_start.
MEGCC_INLINE MEGCC_CTYPE(Y) megcc_channel_rescaled(const megcc_channel_t *v, const megcc_rescale *r,
                                                   int32_t start, int32_t sum, int32_t c) {
  const int32_t low = r->low, high = r->high;
  int near;
  int32_t q = megcc_fixed(v, sum, start, &near);
  if (near) q = megcc_channel_exact(r, sum, c);
  if ((uint32_t)q - (uint32_t)low > (uint32_t)high - (uint32_t)low) q = q < low ? low : high;
  return (MEGCC_CTYPE(Y))q;
}

#define megcc_channel_start(r) megcc_fixed_start((r)->zero)

#else

typedef int32_t megcc_channel_t;

MEGCC_INLINE megcc_channel_t megcc_channel(const megcc_rescale *r, int32_t c, int32_t bias,
                                           size_t products) {
  (void)r, (void)bias, (void)products;
  return c;
}

MEGCC_INLINE MEGCC_CTYPE(Y) megcc_channel_rescaled(const megcc_channel_t *v, const megcc_rescale *r,
                                                   int32_t start, int32_t sum, int32_t c) {
  (void)v, (void)start;
  return megcc_rescaled(r, sum, c);
}

#define megcc_channel_start(r) 0
#define megcc_channel_exact megcc_rescaled

#endif

#endif  // MEGCC_REQUANT_CHANNEL_H
