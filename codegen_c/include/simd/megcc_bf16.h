// Weights in bf16, the upper halves of floats: widened as they are loaded, or all at once.
#ifndef MEGCC_BF16_H
#define MEGCC_BF16_H

#include "math/megcc_int.h"
#include "simd/megcc_simd.h"

#if defined(MEGCC_SIMD_PORTABLE) || defined(MEGCC_SIMD_SCALAR)
#elif defined(__ARM_NEON) && MEGCC_VL == 4
#define MEGCC_BF16_NEON
#elif defined(__AVX512F__) && MEGCC_VL == 16
#define MEGCC_BF16_AVX512
#elif defined(__AVX2__) && MEGCC_VL == 8
#define MEGCC_BF16_AVX2
#endif

// A vector of floats from as many bf16.
MEGCC_INLINE megcc_vf megcc_vf_load_bf16(const uint16_t *p) {
#if defined(MEGCC_BF16_NEON)
  return vreinterpretq_f32_u32(vshll_n_u16(vld1_u16(p), 16));
#elif defined(MEGCC_SIMD_MVE_H)
  return vreinterpretq_f32_u32(vshlq_n_u32(vldrhq_u32(p), 16));
#elif defined(MEGCC_BF16_AVX512)
  const __m256i half = _mm256_loadu_si256((const __m256i *)(const void *)p);
  return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(half), 16));
#elif defined(MEGCC_BF16_AVX2)
  const __m128i half = _mm_loadu_si128((const __m128i *)(const void *)p);
  return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(half), 16));
#else
  float wide[MEGCC_VL];
  for (int k = 0; k < MEGCC_VL; ++k) wide[k] = megcc_f32_from_bits((uint32_t)p[k] << 16);
  return megcc_vf_load(wide);
#endif
}

// n bf16 as floats.
MEGCC_INLINE void megcc_bf16_widen(const uint16_t *from, float *to, size_t n) {
#if defined(MEGCC_BF16_NEON)
  for (; n >= 8; n -= 8, from += 8, to += 8) {
    const uint16x8_t half = vld1q_u16(from);
    vst1q_f32(to, vreinterpretq_f32_u32(vshll_n_u16(vget_low_u16(half), 16)));
    vst1q_f32(to + 4, vreinterpretq_f32_u32(vshll_n_u16(vget_high_u16(half), 16)));
  }
#endif
  for (; n >= MEGCC_VL; n -= MEGCC_VL, from += MEGCC_VL, to += MEGCC_VL) {
    megcc_vf_store(to, megcc_vf_load_bf16(from));
  }
  for (; n > 0; --n) *to++ = megcc_f32_from_bits((uint32_t)*from++ << 16);
}

#endif  // MEGCC_BF16_H
