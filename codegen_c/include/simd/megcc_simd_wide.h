// Sixteen floats as one value, in as many vectors of megcc_simd.h as it takes, and sixteen bytes,
// or the halves of sixteen bytes, as such floats.
//
//   w16 dup(x) load(p) store(p, w) add sub mul      as of one vector
//   w16 fma(c, x, w)     c + x * w; x is a vector of one number
//   w16 i8(p)            int8_t -> float
//   w16 i4_low(p), i4_high(p)    the lower and the upper four bits of each byte, -8 .. 7
#ifndef MEGCC_SIMD_WIDE_H
#define MEGCC_SIMD_WIDE_H

#include "simd/megcc_simd.h"

#define MEGCC_W16 16

// Named one by one, because GCC keeps arrays of vectors in memory.
#if MEGCC_VL == 16
#define MEGCC_W16_EACH(M) M(0)
#elif MEGCC_VL == 8
#define MEGCC_W16_EACH(M) M(0) M(1)
#elif MEGCC_VL == 4
#define MEGCC_W16_EACH(M) M(0) M(1) M(2) M(3)
#else
#define MEGCC_W16_EACH(M) \
  M(0) M(1) M(2) M(3) M(4) M(5) M(6) M(7) M(8) M(9) M(10) M(11) M(12) M(13) M(14) M(15)
#endif

#define MEGCC_W16_FIELD(i) megcc_vf v##i;
typedef struct {
  MEGCC_W16_EACH(MEGCC_W16_FIELD)
} megcc_w16;

#define MEGCC_W16_DUP(i) w.v##i = v;
MEGCC_INLINE megcc_w16 megcc_w16_dup(float x) {
  const megcc_vf v = megcc_vf_dup(x);
  megcc_w16 w;
  MEGCC_W16_EACH(MEGCC_W16_DUP)
  return w;
}
#define MEGCC_W16_LOAD(i) w.v##i = megcc_vf_load(p + (i)*MEGCC_VL);
MEGCC_INLINE megcc_w16 megcc_w16_load(const float *p) {
  megcc_w16 w;
  MEGCC_W16_EACH(MEGCC_W16_LOAD)
  return w;
}
#define MEGCC_W16_STORE(i) megcc_vf_store(p + (i)*MEGCC_VL, w.v##i);
MEGCC_INLINE void megcc_w16_store(float *p, megcc_w16 w){MEGCC_W16_EACH(MEGCC_W16_STORE)}
#define MEGCC_W16_SUB(i) a.v##i = megcc_vf_sub(a.v##i, b.v##i);
MEGCC_INLINE megcc_w16 megcc_w16_sub(megcc_w16 a, megcc_w16 b) {
  MEGCC_W16_EACH(MEGCC_W16_SUB)
  return a;
}
#define MEGCC_W16_MUL(i) a.v##i = megcc_vf_mul(a.v##i, b.v##i);
MEGCC_INLINE megcc_w16 megcc_w16_mul(megcc_w16 a, megcc_w16 b) {
  MEGCC_W16_EACH(MEGCC_W16_MUL)
  return a;
}
#define MEGCC_W16_FMA(i) c.v##i = megcc_vf_fma(c.v##i, x, w.v##i);
MEGCC_INLINE megcc_w16 megcc_w16_fma(megcc_w16 c, megcc_vf x, megcc_w16 w) {
  MEGCC_W16_EACH(MEGCC_W16_FMA)
  return c;
}
#define MEGCC_W16_FMAS(i) c.v##i = megcc_vf_fma(c.v##i, a.v##i, b.v##i);
MEGCC_INLINE megcc_w16 megcc_w16_fmas(megcc_w16 c, megcc_w16 a, megcc_w16 b) {
  MEGCC_W16_EACH(MEGCC_W16_FMAS)
  return c;
}

#if defined(MEGCC_SIMD_NEON_H) && defined(__aarch64__) && !defined(__AARCH64EB__)
// Each byte goes to the top of a word by one lookup, and the conversion divides by 2^24 (2^28 for
// four bits): two instructions for four numbers.
#define MEGCC_W16_TOP(i) (vqtbl1q_s8(bytes, vld1q_u8(megcc_w16_places + 16 * (i))))
static const uint8_t megcc_w16_places[64] = {
    255, 255, 255, 0,  255, 255, 255, 1,  255, 255, 255, 2,  255, 255, 255, 3,
    255, 255, 255, 4,  255, 255, 255, 5,  255, 255, 255, 6,  255, 255, 255, 7,
    255, 255, 255, 8,  255, 255, 255, 9,  255, 255, 255, 10, 255, 255, 255, 11,
    255, 255, 255, 12, 255, 255, 255, 13, 255, 255, 255, 14, 255, 255, 255, 15};
#define MEGCC_W16_OF_I8(i) w.v##i = vcvtq_n_f32_s32(vreinterpretq_s32_s8(MEGCC_W16_TOP(i)), 24);
#define MEGCC_W16_OF_I4(i) w.v##i = vcvtq_n_f32_s32(vreinterpretq_s32_s8(MEGCC_W16_TOP(i)), 28);
MEGCC_INLINE megcc_w16 megcc_w16_i8(const int8_t *p) {
  const int8x16_t bytes = vld1q_s8(p);
  megcc_w16 w;
  MEGCC_W16_EACH(MEGCC_W16_OF_I8)
  return w;
}
MEGCC_INLINE megcc_w16 megcc_w16_i4_low(const int8_t *p) {
  const int8x16_t bytes = vshlq_n_s8(vld1q_s8(p), 4);
  megcc_w16 w;
  MEGCC_W16_EACH(MEGCC_W16_OF_I4)
  return w;
}
MEGCC_INLINE megcc_w16 megcc_w16_i4_high(const int8_t *p) {
  const int8x16_t bytes = vandq_s8(vld1q_s8(p), vdupq_n_s8(-16));
  megcc_w16 w;
  MEGCC_W16_EACH(MEGCC_W16_OF_I4)
  return w;
}
#elif defined(MEGCC_SIMD_NEON_H)
MEGCC_INLINE megcc_w16 megcc_w16_widened(int8x16_t bytes) {
  const int16x8_t low = vmovl_s8(vget_low_s8(bytes)), high = vmovl_s8(vget_high_s8(bytes));
  megcc_w16 w;
  w.v0 = vcvtq_f32_s32(vmovl_s16(vget_low_s16(low)));
  w.v1 = vcvtq_f32_s32(vmovl_s16(vget_high_s16(low)));
  w.v2 = vcvtq_f32_s32(vmovl_s16(vget_low_s16(high)));
  w.v3 = vcvtq_f32_s32(vmovl_s16(vget_high_s16(high)));
  return w;
}
MEGCC_INLINE megcc_w16 megcc_w16_i8(const int8_t *p) { return megcc_w16_widened(vld1q_s8(p)); }
MEGCC_INLINE megcc_w16 megcc_w16_i4_low(const int8_t *p) {
  return megcc_w16_widened(vshrq_n_s8(vshlq_n_s8(vld1q_s8(p), 4), 4));
}
MEGCC_INLINE megcc_w16 megcc_w16_i4_high(const int8_t *p) {
  return megcc_w16_widened(vshrq_n_s8(vld1q_s8(p), 4));
}
#elif defined(MEGCC_SIMD_AVX512_H) || defined(MEGCC_SIMD_AVX2_H)
#if MEGCC_VL == 16
#define MEGCC_W16_I32(i) _mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i *)(const void *)p))
#else
#define MEGCC_W16_I32(i) \
  _mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)(const void *)(p + (i)*MEGCC_VL)))
#endif
#define MEGCC_W16_OF_I8(i) w.v##i = megcc_vi_to_vf(MEGCC_W16_I32(i));
#define MEGCC_W16_OF_LOW(i) \
  w.v##i = megcc_vi_to_vf(megcc_vi_shr(megcc_vi_shl(MEGCC_W16_I32(i), 28), 28));
#define MEGCC_W16_OF_HIGH(i) w.v##i = megcc_vi_to_vf(megcc_vi_shr(MEGCC_W16_I32(i), 4));
MEGCC_INLINE megcc_w16 megcc_w16_i8(const int8_t *p) {
  megcc_w16 w;
  MEGCC_W16_EACH(MEGCC_W16_OF_I8)
  return w;
}
MEGCC_INLINE megcc_w16 megcc_w16_i4_low(const int8_t *p) {
  megcc_w16 w;
  MEGCC_W16_EACH(MEGCC_W16_OF_LOW)
  return w;
}
MEGCC_INLINE megcc_w16 megcc_w16_i4_high(const int8_t *p) {
  megcc_w16 w;
  MEGCC_W16_EACH(MEGCC_W16_OF_HIGH)
  return w;
}
#else
#define MEGCC_W16_LOW(b) ((float)((((b)&15) ^ 8) - 8))
#define MEGCC_W16_HIGH(b) ((float)(((((b) >> 4) & 15) ^ 8) - 8))
#if MEGCC_VL == 4
#define MEGCC_W16_LANES(i, of) \
  w.v##i = (megcc_vf){of(p[4 * (i)]), of(p[4 * (i) + 1]), of(p[4 * (i) + 2]), of(p[4 * (i) + 3])};
#else
#define MEGCC_W16_LANES(i, of) w.v##i = of(p[i]);
#endif
#define MEGCC_W16_OF_I8(i) MEGCC_W16_LANES(i, (float))
#define MEGCC_W16_OF_LOW(i) MEGCC_W16_LANES(i, MEGCC_W16_LOW)
#define MEGCC_W16_OF_HIGH(i) MEGCC_W16_LANES(i, MEGCC_W16_HIGH)
MEGCC_INLINE megcc_w16 megcc_w16_i8(const int8_t *p) {
  megcc_w16 w;
  MEGCC_W16_EACH(MEGCC_W16_OF_I8)
  return w;
}
MEGCC_INLINE megcc_w16 megcc_w16_i4_low(const int8_t *p) {
  megcc_w16 w;
  MEGCC_W16_EACH(MEGCC_W16_OF_LOW)
  return w;
}
MEGCC_INLINE megcc_w16 megcc_w16_i4_high(const int8_t *p) {
  megcc_w16 w;
  MEGCC_W16_EACH(MEGCC_W16_OF_HIGH)
  return w;
}
#endif

#endif  // MEGCC_SIMD_WIDE_H
