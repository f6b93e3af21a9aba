// Sixteen floats as one value, in as many vectors of megcc_simd.h as it takes; conversions to it
// from sixteen bytes, or from the four-bit halves of sixteen bytes.
//
//   w16 dup(x) load(p) store(p, w) add sub mul      as of one vector
//   w16 fma(c, x, w)     c + x * w; x is a vector of one number
//   w16 MEGCC_W16_FMA4(c, x, lane, w)    the same of number `lane` of x = megcc_four_load(p)
//   w16 i8(p)            int8_t -> float
//   w16 i4_low(p), i4_high(p)    the lower and the upper four bits of each byte, -8 .. 7
//   w16 i4_low_less(p, z), i4_high_less(p, z)    less z = megcc_z16_load(q) or dup(x), -8 .. 7, too
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
#if defined(MEGCC_SIMD_NEON_H) && defined(__aarch64__)
  const float32x4x4_t v = vld1q_f32_x4(p);
  const megcc_w16 w = {v.val[0], v.val[1], v.val[2], v.val[3]};
#else
  megcc_w16 w;
  MEGCC_W16_EACH(MEGCC_W16_LOAD)
#endif
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

// Four floats that follow each other, of which each multiplies a value.
#if defined(MEGCC_SIMD_NEON_H)
typedef float32x4_t megcc_four;
MEGCC_INLINE megcc_four megcc_four_load(const float *p) { return vld1q_f32(p); }
#if defined(__aarch64__)
#define MEGCC_FOUR_FMA(c, w, x, lane) vfmaq_laneq_f32(c, w, x, lane)
#else
#define MEGCC_FOUR_FMA(c, w, x, lane) \
  vmlaq_lane_f32(c, w, (lane) < 2 ? vget_low_f32(x) : vget_high_f32(x), (lane)&1)
#endif
#define MEGCC_W16_FMA4(c, x, lane, w)                \
  do {                                               \
    const megcc_w16 w_ = (w);                        \
    (c).v0 = MEGCC_FOUR_FMA((c).v0, w_.v0, x, lane); \
    (c).v1 = MEGCC_FOUR_FMA((c).v1, w_.v1, x, lane); \
    (c).v2 = MEGCC_FOUR_FMA((c).v2, w_.v2, x, lane); \
    (c).v3 = MEGCC_FOUR_FMA((c).v3, w_.v3, x, lane); \
  } while (0)
#else
typedef const float *megcc_four;
MEGCC_INLINE megcc_four megcc_four_load(const float *p) { return p; }
#define MEGCC_W16_FMA4(c, x, lane, w) (c) = megcc_w16_fma(c, megcc_vf_dup((x)[lane]), w)
#endif

#if defined(MEGCC_SIMD_NEON_H) && defined(__aarch64__) && !defined(__AARCH64EB__)
// Each byte goes to the top of a word by one lookup, and the conversion divides by 2^24: two
// instructions for four numbers.
#define MEGCC_W16_TOP(i) (vqtbl1q_s8(bytes, vld1q_u8(megcc_w16_places + 16 * (i))))
static const uint8_t megcc_w16_places[64] = {
    255, 255, 255, 0,  255, 255, 255, 1,  255, 255, 255, 2,  255, 255, 255, 3,
    255, 255, 255, 4,  255, 255, 255, 5,  255, 255, 255, 6,  255, 255, 255, 7,
    255, 255, 255, 8,  255, 255, 255, 9,  255, 255, 255, 10, 255, 255, 255, 11,
    255, 255, 255, 12, 255, 255, 255, 13, 255, 255, 255, 14, 255, 255, 255, 15};
#define MEGCC_W16_OF_I8(i) w.v##i = vcvtq_n_f32_s32(vreinterpretq_s32_s8(MEGCC_W16_TOP(i)), 24);
MEGCC_INLINE megcc_w16 megcc_w16_widened(int8x16_t bytes) {
  megcc_w16 w;
  MEGCC_W16_EACH(MEGCC_W16_OF_I8)
  return w;
}
MEGCC_INLINE megcc_w16 megcc_w16_i8(const int8_t *p) { return megcc_w16_widened(vld1q_s8(p)); }
// The upper byte of the f16 of each four-bit number; the lower byte is 0, as two bits of mantissa
// are enough for -8 .. 7.
static const uint8_t megcc_w16_halves[16] = {0x00, 0x3c, 0x40, 0x42, 0x44, 0x45, 0x46, 0x47,
                                             0xc8, 0xc7, 0xc6, 0xc5, 0xc4, 0xc2, 0xc0, 0xbc};
MEGCC_INLINE megcc_w16 megcc_w16_of_i4(uint8x16_t numbers) {
  const uint8x16_t upper = vqtbl1q_u8(vld1q_u8(megcc_w16_halves), numbers), zero = vdupq_n_u8(0);
  const float16x8_t low = vreinterpretq_f16_u8(vzip1q_u8(zero, upper));
  const float16x8_t high = vreinterpretq_f16_u8(vzip2q_u8(zero, upper));
  megcc_w16 w;
  w.v0 = vcvt_f32_f16(vget_low_f16(low)), w.v1 = vcvt_high_f32_f16(low);
  w.v2 = vcvt_f32_f16(vget_low_f16(high)), w.v3 = vcvt_high_f32_f16(high);
  return w;
}
MEGCC_INLINE megcc_w16 megcc_w16_i4_low(const int8_t *p) {
  return megcc_w16_of_i4(vandq_u8(vreinterpretq_u8_s8(vld1q_s8(p)), vdupq_n_u8(15)));
}
MEGCC_INLINE megcc_w16 megcc_w16_i4_high(const int8_t *p) {
  return megcc_w16_of_i4(vshrq_n_u8(vreinterpretq_u8_s8(vld1q_s8(p)), 4));
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
#elif defined(MEGCC_SIMD_X86_H)
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
#endif

#if defined(MEGCC_SIMD_NEON_H)  // while they are bytes: one instruction for all sixteen
typedef int8x16_t megcc_z16;
MEGCC_INLINE megcc_z16 megcc_z16_load(const int8_t *p) { return vld1q_s8(p); }
MEGCC_INLINE megcc_z16 megcc_z16_dup(int8_t x) { return vdupq_n_s8(x); }
MEGCC_INLINE megcc_w16 megcc_w16_i4_low_less(const int8_t *p, megcc_z16 z) {
  return megcc_w16_widened(vsubq_s8(vshrq_n_s8(vshlq_n_s8(vld1q_s8(p), 4), 4), z));
}
MEGCC_INLINE megcc_w16 megcc_w16_i4_high_less(const int8_t *p, megcc_z16 z) {
  return megcc_w16_widened(vsubq_s8(vshrq_n_s8(vld1q_s8(p), 4), z));
}
#else
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
typedef megcc_w16 megcc_z16;
MEGCC_INLINE megcc_z16 megcc_z16_load(const int8_t *p) { return megcc_w16_i8(p); }
MEGCC_INLINE megcc_z16 megcc_z16_dup(int8_t x) { return megcc_w16_dup((float)x); }
MEGCC_INLINE megcc_w16 megcc_w16_i4_low_less(const int8_t *p, megcc_z16 z) {
  return megcc_w16_sub(megcc_w16_i4_low(p), z);
}
MEGCC_INLINE megcc_w16 megcc_w16_i4_high_less(const int8_t *p, megcc_z16 z) {
  return megcc_w16_sub(megcc_w16_i4_high(p), z);
}
#endif

#endif  // MEGCC_SIMD_WIDE_H
