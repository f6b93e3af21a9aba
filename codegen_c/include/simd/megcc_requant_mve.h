// megcc_requant.h for Helium: rows of sums to elements of Y, to the bit.
//
// The macros that megcc_requant.h wants are defined before. Sums become bytes 16 or 4 at a time.
// With vectors of floats (mve.fp) an instruction rounds, halves to even, and saturates. Without, a
// number is rounded as in megcc_requant_integer.h, and four of which one is next to a half are left
// to it. Scales and offsets are finite where y has 8 bits, so no number is a NaN.
#ifndef MEGCC_REQUANT_MVE_H
#define MEGCC_REQUANT_MVE_H

#include <arm_mve.h>

#include "megcc_requant.h"

// Whether sums become bytes by vectors.
#define MEGCC_MVE_FLOATS ((__ARM_FEATURE_MVE & 2) != 0)
#define MEGCC_MVE_STORES (OUT == MEGCC_QUANT_STORED && (MEGCC_MVE_FLOATS || !OFFSET))

#if MEGCC_MVE_STORES

#if MEGCC_MVE_FLOATS

typedef float32x4_t megcc_mve_scale;

// The scales of four channels, or of those of `p`.
MEGCC_INLINE megcc_mve_scale megcc_mve_scales(const float *scale, mve_pred16_t p) {
  return SCALES ? vldrwq_z_f32(scale, p) : vdupq_n_f32(scale[0]);
}

// round(f32(sum) * scale + offset), saturated.
MEGCC_INLINE int32x4_t megcc_mve_whole(int32x4_t sum, megcc_mve_scale scale, const float *offset,
                                       mve_pred16_t p) {
  float32x4_t v = vmulq_f32(vcvtq_f32_s32(sum), scale);
#if OFFSET
  __asm__("" : "+w"(v));  // rounded, though packages are compiled with contraction
  v = vaddq_f32(v, vldrwq_z_f32(offset, p));
#else
  (void)offset, (void)p;
#endif
  return vcvtnq_s32_f32(v);
}

#else

typedef uint32x4_t megcc_mve_scale;

// Floats as their bits: constants, which nothing writes.
MEGCC_INLINE const uint32_t *megcc_mve_bits(const float *scale) {
  const uint32_t *bits;
  __asm__("" : "=r"(bits) : "0"(scale));
  return bits;
}

MEGCC_INLINE megcc_mve_scale megcc_mve_scales(const float *scale, mve_pred16_t p) {
  const uint32_t *bits = megcc_mve_bits(scale);
  return SCALES ? vldrwq_z_u32(bits, p) : vdupq_n_u32(bits[0]);
}

// Four numbers one by one.
MEGCC_COLD static int32x4_t megcc_mve_singly(int32x4_t sum, uint32x4_t scale) {
  int32_t s[4];
  uint32_t f[4];
  vstrwq_s32(s, sum);
  vstrwq_u32(f, scale);
  for (int l = 0; l < 4; ++l) {
    s[l] = megcc_requant_integer(s[l], f[l], 0, -MEGCC_REQUANT_BEYOND, MEGCC_REQUANT_BEYOND);
  }
  return vldrwq_s32(s);
}

// round(f32(sum) * scale), or a number beyond all limits: megcc_requant_integer, in its order.
MEGCC_INLINE int32x4_t megcc_mve_whole(int32x4_t sum, megcc_mve_scale scale, const float *offset,
                                       mve_pred16_t p) {
  (void)offset;
  const uint32x4_t m = vreinterpretq_u32_s32(vabsq_s32(sum));
  const uint32x4_t bits = vsubq_u32(vdupq_n_u32(150 + 7 - 33), vshrq_n_u32(scale, 23));
  const uint32x4_t fraction = vorrq_u32(vandq_u32(scale, vdupq_n_u32(0x7fffff)),
                                        vdupq_n_u32(0x800000));
  const uint32x4_t up = vshlq_n_u32(m, 7);
  const uint32x4_t high = vmulhq_u32(up, fraction), low = vmulq_u32(up, fraction);
  const int32x4_t left = vsubq_s32(vdupq_n_s32(31), vreinterpretq_s32_u32(bits));
  const int32x4_t right = vsubq_n_s32(left, 32);
  const uint32x4_t part = vorrq_u32(vshlq_u32(high, left), vshlq_u32(low, right));
  const uint32x4_t q = vaddq_u32(vshlq_u32(high, right), vshrq_n_u32(part, 31));
  const uint32x4_t from = vsubq_n_u32(part, 0x7fff0000);
  const mve_pred16_t near = (mve_pred16_t)(~vcmphiq_n_u32(from, 0x20000) |
                                           vcmpcsq_n_u32(bits, 31) | vcmpcsq_n_u32(m, 1u << 24));
  if ((near & p) != 0) return megcc_mve_singly(sum, scale);
  const int32x4_t v = vreinterpretq_s32_u32(q);
  return vnegq_m_s32(v, v, vcmpltq_n_s32(sum, 0));
}

#endif

#define MEGCC_MVE_ALL ((mve_pred16_t)0xffff)

// 16 rounded numbers as bytes: `a` those of channels 0, 4, 8 and 12, `b` of 1, 5, 9 and 13, `c` of
// 2, 6, 10 and 14, `d` of the others.
MEGCC_INLINE uint8x16_t megcc_mve_narrow(const megcc_rescale *r, int32x4_t a, int32x4_t b,
                                         int32x4_t c, int32x4_t d) {
  const int16_t zero = (int16_t)r->zero;
  const int16x8_t none = vuninitializedq_s16();
  const int16x8_t even = vqaddq_n_s16(vqmovntq_s32(vqmovnbq_s32(none, a), c), zero);
  const int16x8_t odd = vqaddq_n_s16(vqmovntq_s32(vqmovnbq_s32(none, b), d), zero);
  if (MEGCC_IS_UNSIGNED(Y)) {
    const uint8x16_t y = vqmovuntq_s16(vqmovunbq_s16(vuninitializedq_u8(), even), odd);
    return vminq_u8(vmaxq_u8(y, vdupq_n_u8((uint8_t)r->low)), vdupq_n_u8((uint8_t)r->high));
  }
  const int8x16_t y = vqmovntq_s16(vqmovnbq_s16(vuninitializedq_s8(), even), odd);
  return vreinterpretq_u8_s8(
      vminq_s8(vmaxq_s8(y, vdupq_n_s8((int8_t)r->low)), vdupq_n_s8((int8_t)r->high)));
}

// Channels c to c + 15 of a rescaling, whose sums are in the order of megcc_mve_narrow.
MEGCC_INLINE uint8x16_t megcc_mve_sixteen(const megcc_rescale *r, int32x4x4_t sum, ptrdiff_t c) {
  int32x4_t v[4];
#if SCALES && MEGCC_MVE_FLOATS
  const float32x4x4_t scale = vld4q_f32(r->scale + c);
#elif SCALES
  const uint32x4x4_t scale = vld4q_u32(megcc_mve_bits(r->scale + c));
#endif
#if OFFSET
  const float32x4x4_t offset = vld4q_f32(r->offset + c);
#endif
  for (int l = 0; l < 4; ++l) {
#if SCALES
    const megcc_mve_scale s = scale.val[l];
#else
    const megcc_mve_scale s = megcc_mve_scales(r->scale, MEGCC_MVE_ALL);
#endif
#if OFFSET
    v[l] = megcc_mve_whole(sum.val[l], s, (const float *)&offset.val[l], MEGCC_MVE_ALL);
#else
    v[l] = megcc_mve_whole(sum.val[l], s, NULL, MEGCC_MVE_ALL);
#endif
  }
  (void)c;
  return megcc_mve_narrow(r, v[0], v[1], v[2], v[3]);
}

#endif  // MEGCC_MVE_STORES

// The sums of `n` channels from c on as elements of the output.
MEGCC_HOT static void megcc_mve_row(const megcc_rescale *given, const int32_t *sums, ptrdiff_t c,
                                    int32_t n, MEGCC_CTYPE(Y) * dst) {
  const megcc_rescale copy = *given, *r = &copy;  // which no store to Y changes
#if MEGCC_MVE_STORES
  for (; n >= 16; n -= 16, sums += 16, dst += 16, c += 16) {
    vstrbq_u8((uint8_t *)dst, megcc_mve_sixteen(r, vld4q_s32(sums), c));
  }
  for (; n > 0; n -= 4, sums += 4, dst += 4, c += 4) {
    const mve_pred16_t p = vctp32q((uint32_t)n);
    int32x4_t v = megcc_mve_whole(vldrwq_z_s32(sums, p), megcc_mve_scales(r->scale + (SCALES ? c : 0), p),
                                  OFFSET ? r->offset + c : NULL, p);
    v = vqaddq_n_s32(v, r->zero);
    v = vminq_s32(vmaxq_s32(v, vdupq_n_s32(r->low)), vdupq_n_s32(r->high));
    vstrbq_p_s32((int8_t *)dst, v, p);
  }
#else
  for (int32_t l = 0; l < n; ++l) dst[l] = megcc_rescaled(r, sums[l], (int32_t)c + l);
#endif
}

#endif  // MEGCC_REQUANT_MVE_H
