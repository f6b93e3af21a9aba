// Vectors of floats from f16 in memory and to it: load, store, spread, load_n, store_n, widen.
#ifndef MEGCC_VH_H
#define MEGCC_VH_H

#include "simd/megcc_f16.h"
#include "simd/megcc_simd.h"

#if defined(__ARM_NEON) && defined(__ARM_FP16_FORMAT_IEEE) && (__ARM_FP & 2) && MEGCC_VL == 4
MEGCC_INLINE megcc_vf megcc_vh_load(const uint16_t *p) {
  return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(p)));
}
MEGCC_INLINE void megcc_vh_store(uint16_t *p, megcc_vf v) {
  vst1_u16(p, vreinterpret_u16_f16(vcvt_f16_f32(v)));
}
#elif defined(__ARM_NEON) && defined(__arm__) && (__ARM_FP & 2) && MEGCC_VL == 4
// Compilers have no type for it without an option of its own.
MEGCC_INLINE megcc_vf megcc_vh_wide(uint16x4_t half) {
  megcc_vf v;
  __asm__("vcvt.f32.f16 %q0, %P1" : "=w"(v) : "w"(half));
  return v;
}
MEGCC_INLINE megcc_vf megcc_vh_load(const uint16_t *p) { return megcc_vh_wide(vld1_u16(p)); }
#define MEGCC_VH_SPREAD
MEGCC_INLINE megcc_vf megcc_vh_spread(const uint16_t *p) { return megcc_vh_wide(vld1_dup_u16(p)); }
MEGCC_INLINE void megcc_vh_store(uint16_t *p, megcc_vf v) {
  uint16x4_t half;
  __asm__("vcvt.f16.f32 %P0, %q1" : "=w"(half) : "w"(v));
  vst1_u16(p, half);
}
#elif defined(MEGCC_SIMD_MVE_H)
// f16 in the lower halves of the lanes. Conversions (vcvtb) are given as their bits: binutils 2.40
// encodes other registers than q0 wrongly.
#define MEGCC_VH_MVE(bits, to, from)                                               \
  __asm__(                                                                         \
      ".equ megcc_q0, 0; .equ megcc_q1, 1; .equ megcc_q2, 2; .equ megcc_q3, 3\n\t" \
      ".equ megcc_q4, 4; .equ megcc_q5, 5; .equ megcc_q6, 6; .equ megcc_q7, 7\n\t" \
      ".inst.w " #bits " + (megcc_%q0 << 13) + (megcc_%q1 << 1)"                   \
      : "=w"(to)                                                                   \
      : "w"(from))
MEGCC_INLINE megcc_vf megcc_vh_wide(uint32x4_t halves) {
  megcc_vf v;
  MEGCC_VH_MVE(0xfe3f0e01, v, halves);
  return v;
}
MEGCC_INLINE uint32x4_t megcc_vh_narrow(megcc_vf v) {
  uint32x4_t halves;
  MEGCC_VH_MVE(0xee3f0e01, halves, v);
  return halves;
}
MEGCC_INLINE megcc_vf megcc_vh_load(const uint16_t *p) { return megcc_vh_wide(vldrhq_u32(p)); }
#define MEGCC_VH_SPREAD
MEGCC_INLINE megcc_vf megcc_vh_spread(const uint16_t *p) { return megcc_vh_wide(vdupq_n_u32(*p)); }
MEGCC_INLINE void megcc_vh_store(uint16_t *p, megcc_vf v) { vstrhq_u32(p, megcc_vh_narrow(v)); }
#elif defined(__F16C__) && MEGCC_VL == 8
MEGCC_INLINE megcc_vf megcc_vh_load(const uint16_t *p) {
  return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)p));
}
#define MEGCC_VH_SPREAD
MEGCC_INLINE megcc_vf megcc_vh_spread(const uint16_t *p) {
  return _mm256_cvtph_ps(_mm_set1_epi16((short)*p));
}
MEGCC_INLINE void megcc_vh_store(uint16_t *p, megcc_vf v) {
  _mm_storeu_si128((__m128i *)(void *)p, _mm256_cvtps_ph(v, 0));
}
#elif defined(__AVX512F__) && MEGCC_VL == 16
MEGCC_INLINE megcc_vf megcc_vh_load(const uint16_t *p) {
  return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(const void *)p));
}
#define MEGCC_VH_SPREAD
MEGCC_INLINE megcc_vf megcc_vh_spread(const uint16_t *p) {
  return _mm512_cvtph_ps(_mm256_set1_epi16((short)*p));
}
MEGCC_INLINE void megcc_vh_store(uint16_t *p, megcc_vf v) {
  _mm256_storeu_si256((__m256i *)(void *)p, _mm512_cvtps_ph(v, 0));
}
#else
MEGCC_INLINE megcc_vf megcc_vh_load(const uint16_t *p) {
  float wide[MEGCC_VL];
  for (int k = 0; k < MEGCC_VL; ++k) wide[k] = megcc_f16_to_f32(p[k]);
  return megcc_vf_load(wide);
}
MEGCC_INLINE void megcc_vh_store(uint16_t *p, megcc_vf v) {
  float wide[MEGCC_VL];
  megcc_vf_store(wide, v);
  for (int k = 0; k < MEGCC_VL; ++k) p[k] = megcc_f32_to_f16(wide[k]);
}
#endif

#ifndef MEGCC_VH_SPREAD
MEGCC_INLINE megcc_vf megcc_vh_spread(const uint16_t *p) {
  return megcc_vf_dup(megcc_f16_to_f32(*p));
}
#endif

// n f16 as floats, n a multiple of 8.
MEGCC_INLINE void megcc_vh_widen(const uint16_t *from, float *to, size_t n) {
  for (; n > 0; n -= 8, from += 8, to += 8) {
#if defined(__aarch64__) && !defined(MEGCC_SIMD_PORTABLE) && !defined(MEGCC_SIMD_SCALAR)
    const float16x8_t half = vreinterpretq_f16_u16(vld1q_u16(from));
    vst1q_f32(to, vcvt_f32_f16(vget_low_f16(half)));
    vst1q_f32(to + 4, vcvt_high_f32_f16(half));
#else
    for (int k = 0; k < 8; k += MEGCC_VL) megcc_vf_store(to + k, megcc_vh_load(from + k));
#endif
  }
}

MEGCC_INLINE megcc_vf megcc_vh_load_n(const uint16_t *p, int32_t n) {
  uint16_t lanes[MEGCC_VL] = {0};
  if (n >= MEGCC_VL) return megcc_vh_load(p);
  for (int32_t k = 0; k < n; ++k) lanes[k] = p[k];
  return megcc_vh_load(lanes);
}
MEGCC_INLINE void megcc_vh_store_n(uint16_t *p, megcc_vf v, int32_t n) {
  uint16_t lanes[MEGCC_VL];
  if (n >= MEGCC_VL) {
    megcc_vh_store(p, v);
    return;
  }
  megcc_vh_store(lanes, v);
  for (int32_t k = 0; k < n; ++k) p[k] = lanes[k];
}

// Each lane rounded to f16.
MEGCC_INLINE megcc_vf megcc_vh_round(megcc_vf v) {
#if defined(__ARM_NEON) && defined(__ARM_FP16_FORMAT_IEEE) && (__ARM_FP & 2) && MEGCC_VL == 4
  return vcvt_f32_f16(vcvt_f16_f32(v));
#elif defined(MEGCC_SIMD_MVE_H)
  return megcc_vh_wide(megcc_vh_narrow(v));
#else
  uint16_t lanes[MEGCC_VL];
  megcc_vh_store(lanes, v);
  return megcc_vh_load(lanes);
#endif
}

#endif  // MEGCC_VH_H
