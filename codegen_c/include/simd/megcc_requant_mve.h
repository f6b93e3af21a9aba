// megcc_requant.h for Helium: rows of sums to elements of Y, to the bit.
//
// The macros that megcc_requant.h wants are defined before. Sums become bytes 4 at a time.
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

#if MEGCC_MVE_STORES && !MEGCC_MVE_FLOATS

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
MEGCC_INLINE int32x4_t megcc_mve_whole(int32x4_t sum, megcc_mve_scale scale, mve_pred16_t p) {
  const uint32x4_t m = vreinterpretq_u32_s32(vabsq_s32(sum));
  const uint32x4_t bits = vsubq_u32(vdupq_n_u32(150 + 7 - 33), vshrq_n_u32(scale, 23));
  const uint32x4_t fraction =
      vorrq_u32(vandq_u32(scale, vdupq_n_u32(0x7fffff)), vdupq_n_u32(0x800000));
  const uint32x4_t up = vshlq_n_u32(m, 7);
  const uint32x4_t high = vmulhq_u32(up, fraction), low = vmulq_u32(up, fraction);
  const int32x4_t left = vsubq_s32(vdupq_n_s32(31), vreinterpretq_s32_u32(bits));
  const int32x4_t right = vsubq_n_s32(left, 32);
  const uint32x4_t part = vorrq_u32(vshlq_u32(high, left), vshlq_u32(low, right));
  const uint32x4_t q = vaddq_u32(vshlq_u32(high, right), vshrq_n_u32(part, 31));
  const uint32x4_t from = vsubq_n_u32(part, 0x7fff0000);
  const mve_pred16_t near = (mve_pred16_t)(~vcmphiq_n_u32(from, 0x20000) | vcmpcsq_n_u32(bits, 31) |
                                           vcmpcsq_n_u32(m, 1u << 24));
  if ((near & p) != 0) return megcc_mve_singly(sum, scale);
  const int32x4_t v = vreinterpretq_s32_u32(q);
  return vnegq_m_s32(v, v, vcmpltq_n_s32(sum, 0));
}

#endif  // integers

// The sums of `n` channels from c on as elements of the output.
MEGCC_HOT static void megcc_mve_row(const megcc_rescale *given, const int32_t *sums, ptrdiff_t c,
                                    int32_t n, MEGCC_CTYPE(Y) * dst) {
  const megcc_rescale copy = *given, *r = &copy;  // which no store to Y changes
#if MEGCC_MVE_STORES && MEGCC_MVE_FLOATS
  // q0 numbers, q1 their scales, q2 offsets.
  const float *scale = r->scale + (SCALES ? c : 0), *offset = OFFSET ? r->offset + c : NULL;
  const float32x4_t same = vdupq_n_f32(scale[0]);
  const int32x4_t low = vdupq_n_s32(r->low), high = vdupq_n_s32(r->high);
  if (n <= 0) return;
  __asm__ volatile(
      "vmov q1, %q[same]\n\t"
      "dlstp.32 lr, %[n]\n"
      "1:\n\t"
      "vldrw.32 q0, [%[sums]], #16\n\t"
#if SCALES
      "vldrw.32 q1, [%[scale]], #16\n\t"
#endif
      "vcvt.f32.s32 q0, q0\n\t"
      "vmul.f32 q0, q0, q1\n\t"
#if OFFSET
      "vldrw.32 q2, [%[offset]], #16\n\t"
      "vadd.f32 q0, q0, q2\n\t"
#endif
      "vcvtn.s32.f32 q0, q0\n\t"
      "vqadd.s32 q0, q0, %[zero]\n\t"
      "vmax.s32 q0, q0, %q[low]\n\t"
      "vmin.s32 q0, q0, %q[high]\n\t"
      "vstrb.32 q0, [%[dst]], #4\n\t"
      "letp lr, 1b"
      : [sums] "+r"(sums), [scale] "+r"(scale), [offset] "+r"(offset), [dst] "+l"(dst)
      : [n] "r"(n), [zero] "r"(r->zero), [same] "w"(same), [low] "w"(low), [high] "w"(high)
      : "lr", "q0", "q1", "q2", "memory");
#elif MEGCC_MVE_STORES
  for (; n > 0; n -= 4, sums += 4, dst += 4, c += 4) {
    const mve_pred16_t p = vctp32q((uint32_t)n);
    const megcc_mve_scale scale = megcc_mve_scales(r->scale + (SCALES ? c : 0), p);
    int32x4_t v = vqaddq_n_s32(megcc_mve_whole(vldrwq_z_s32(sums, p), scale, p), r->zero);
    v = vminq_s32(vmaxq_s32(v, vdupq_n_s32(r->low)), vdupq_n_s32(r->high));
    vstrbq_p_s32((int8_t *)dst, v, p);
  }
#else
  for (int32_t l = 0; l < n; ++l) dst[l] = megcc_rescaled(r, sums[l], (int32_t)c + l);
#endif
}

#endif  // MEGCC_REQUANT_MVE_H
