// megcc_elem.h for f16 that is stored only: vectors are of float, and load and store convert.
// From here on megcc_vf_load and the functions like it read and write f16.
#ifndef MEGCC_SIMD_HALF_H
#define MEGCC_SIMD_HALF_H

#include "megcc_act.h"
#include "simd/megcc_f16.h"

typedef uint16_t megcc_elem_t;
MEGCC_INLINE float megcc_elem_f32(megcc_elem_t e) { return megcc_f16_to_f32(e); }
MEGCC_INLINE megcc_elem_t megcc_elem_of(float x) { return megcc_f32_to_f16(x); }

MEGCC_INLINE void megcc_vf_lanes(float *lanes, megcc_vf v) { megcc_vf_store(lanes, v); }
MEGCC_INLINE void megcc_vf_lanes_n(float *lanes, megcc_vf v, int32_t n) {
  megcc_vf_store_n(lanes, v, n);
}
MEGCC_INLINE megcc_vf megcc_vf_of(const float *lanes, int32_t n) {
  return megcc_vf_load_n(lanes, n);
}

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
MEGCC_INLINE megcc_vf megcc_vh_load_move(const uint16_t **p, ptrdiff_t bytes) {
  const megcc_vf v = megcc_vh_load(*p);
  *p = (const uint16_t *)(const void *)((const char *)*p + bytes);
  return v;
}
MEGCC_INLINE void megcc_vh_store_move(uint16_t **p, megcc_vf v, ptrdiff_t bytes) {
  megcc_vh_store(*p, v);
  *p = (uint16_t *)(void *)((char *)*p + bytes);
}

#define megcc_vf_load megcc_vh_load
#define megcc_vf_store megcc_vh_store
#define megcc_vf_spread megcc_vh_spread
#define megcc_vf_load_n megcc_vh_load_n
#define megcc_vf_store_n megcc_vh_store_n
#define megcc_vf_load_move megcc_vh_load_move
#define megcc_vf_store_move megcc_vh_store_move

#endif  // MEGCC_SIMD_HALF_H
