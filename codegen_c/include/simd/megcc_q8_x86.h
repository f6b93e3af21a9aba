// megcc_q8.h for AVX2 and AVX-512: lanes of 32 bits, whose low half is multiplied (`pmaddwd`).
#ifndef MEGCC_Q8_X86_H
#define MEGCC_Q8_X86_H

#include "simd/megcc_requant_x86.h"
#if OUT == MEGCC_QUANT_REAL
#include "megcc_act.h"
#endif

#define MEGCC_Q8_LANES MEGCC_REQUANT_LANES

typedef megcc_ints megcc_q8x, megcc_q8s, megcc_q8z;

MEGCC_INLINE megcc_q8z megcc_q8_zero(int32_t z) { return MEGCC_X86_(set1_epi32)(z); }

MEGCC_INLINE __m128i megcc_q8_bytes(const void *p) {
#ifdef __AVX512BW__
  return _mm_loadu_si128((const __m128i *)(const void *)p);
#else
  return _mm_loadl_epi64((const __m128i *)(const void *)p);
#endif
}
MEGCC_INLINE megcc_q8x megcc_q8_data_i8(const int8_t *p, megcc_q8z zero) {
  return MEGCC_X86_(sub_epi32)(MEGCC_X86_(cvtepi8_epi32)(megcc_q8_bytes(p)), zero);
}
MEGCC_INLINE megcc_q8x megcc_q8_data_u8(const uint8_t *p, megcc_q8z zero) {
  return MEGCC_X86_(sub_epi32)(MEGCC_X86_(cvtepu8_epi32)(megcc_q8_bytes(p)), zero);
}

// The upper halves are 0, so that those of the data add nothing.
MEGCC_INLINE megcc_q8x megcc_q8_weights(const int8_t *p, megcc_q8z zero) {
  const megcc_ints low = MEGCC_X86_(set1_epi32)(0xffff);
#ifdef __AVX512BW__
  return _mm512_and_si512(megcc_q8_data_i8(p, zero), low);
#else
  return _mm256_and_si256(megcc_q8_data_i8(p, zero), low);
#endif
}

MEGCC_INLINE megcc_q8x megcc_q8_none(void) { return MEGCC_X86_(set1_epi32)(0); }

MEGCC_INLINE megcc_q8s megcc_q8_sums(const int32_t *p) {
#ifdef __AVX512BW__
  return _mm512_loadu_si512(p);
#else
  return _mm256_loadu_si256((const __m256i *)(const void *)p);
#endif
}

MEGCC_INLINE megcc_q8s megcc_q8_plus(megcc_q8s s, int32_t x) {
  return MEGCC_X86_(add_epi32)(s, MEGCC_X86_(set1_epi32)(x));
}

MEGCC_INLINE megcc_q8s megcc_q8_mla(megcc_q8s s, megcc_q8x x, megcc_q8x w) {
#ifdef __AVX512VNNI__
  return _mm512_dpwssd_epi32(s, x, w);
#else
  return MEGCC_X86_(add_epi32)(s, MEGCC_X86_(madd_epi16)(x, w));
#endif
}

typedef struct {
  megcc_reals scale, offset;
  megcc_narrow narrow;
  float act_a, act_b;
} megcc_q8r;

MEGCC_INLINE megcc_q8r megcc_q8_rescale(const megcc_rescale *r) {
  megcc_q8r made;
  made.scale = made.offset = MEGCC_X86_(set1_ps)(OUT && !SCALES ? r->scale[0] : 0.0f);
  made.narrow = megcc_narrow_of(r);
  made.act_a = r->act_a;
  made.act_b = r->act_b;
  return made;
}

MEGCC_INLINE void megcc_q8_channels(megcc_q8r *made, const megcc_rescale *r, int32_t c) {
#if OUT && SCALES
  made->scale = MEGCC_X86_(loadu_ps)(r->scale + c);
#endif
#if OFFSET
  made->offset = MEGCC_X86_(loadu_ps)(r->offset + c);
#endif
  (void)made, (void)r, (void)c;
}

MEGCC_INLINE void megcc_q8_store(const megcc_q8r *r, megcc_q8s s, MEGCC_CTYPE(Y) * dst) {
#if OUT == MEGCC_QUANT_SUMS
  (void)r;
#ifdef __AVX512BW__
  _mm512_storeu_si512(dst, s);
#else
  _mm256_storeu_si256((__m256i *)(void *)dst, s);
#endif
#elif OUT == MEGCC_QUANT_REAL
  // megcc_simd.h may have narrower vectors: sixteen numbers at most, through memory.
  float v[MEGCC_Q8_LANES];
  const megcc_vf a = megcc_vf_dup(r->act_a), b = megcc_vf_dup(r->act_b);
  (void)a, (void)b;
  MEGCC_X86_(storeu_ps)(v, megcc_scaled(s, r->scale, r->offset));
  for (int l = 0; l < MEGCC_Q8_LANES; l += MEGCC_VL) {
    megcc_vf_store(dst + l, megcc_act_vf(megcc_vf_load(v + l), a, b));
  }
#else
  megcc_stored(&r->narrow, megcc_scaled(s, r->scale, r->offset), dst);
#endif
}

MEGCC_INLINE void megcc_q8_store_pair(const megcc_q8r *r, megcc_q8s s, MEGCC_CTYPE(Y) * dst,
                                      megcc_q8s t, MEGCC_CTYPE(Y) * dst2) {
  megcc_q8_store(r, s, dst);
  megcc_q8_store(r, t, dst2);
}

#endif  // MEGCC_Q8_X86_H
