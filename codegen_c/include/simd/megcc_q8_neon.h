// megcc_q8.h for NEON, AArch64 and Armv7: 8 lanes of 16 bits, products added to two vectors of i32.
#ifndef MEGCC_Q8_NEON_H
#define MEGCC_Q8_NEON_H

#include "simd/megcc_requant_neon.h"
#if OUT == MEGCC_QUANT_REAL
#include "megcc_act.h"
#endif

#define MEGCC_Q8_LANES 8

typedef int16x8_t megcc_q8x;
typedef struct {
  int32x4_t a, b;
} megcc_q8s;
typedef uint8x8_t megcc_q8z;

MEGCC_INLINE megcc_q8z megcc_q8_zero(int32_t z) { return vdup_n_u8((uint8_t)z); }

MEGCC_INLINE megcc_q8x megcc_q8_data_i8(const int8_t *p, megcc_q8z zero) {
  return vsubl_s8(vld1_s8(p), vreinterpret_s8_u8(zero));
}
MEGCC_INLINE megcc_q8x megcc_q8_data_u8(const uint8_t *p, megcc_q8z zero) {
  return vreinterpretq_s16_u16(vsubl_u8(vld1_u8(p), zero));
}

// By name: compilers add to the pointer in an instruction of its own.
#define MEGCC_Q8_MOVES
#if defined(__aarch64__)
#define MEGCC_Q8_LD1 "ld1 {%0.8b}, [%1], %2"
#else
#define MEGCC_Q8_LD1 "vld1.8 {%P0}, [%1], %2"
#endif
MEGCC_INLINE megcc_q8x megcc_q8_data_move_i8(const int8_t **p, ptrdiff_t bytes, megcc_q8z zero) {
  const int8_t(*from)[8] = (const int8_t(*)[8]) * p;
  int8x8_t v;
  __asm__(MEGCC_Q8_LD1 : "=w"(v), "+r"(*p) : "r"(bytes), "m"(*from));
  return vsubl_s8(v, vreinterpret_s8_u8(zero));
}
MEGCC_INLINE megcc_q8x megcc_q8_data_move_u8(const uint8_t **p, ptrdiff_t bytes, megcc_q8z zero) {
  const uint8_t(*from)[8] = (const uint8_t(*)[8]) * p;
  uint8x8_t v;
  __asm__(MEGCC_Q8_LD1 : "=w"(v), "+r"(*p) : "r"(bytes), "m"(*from));
  return vreinterpretq_s16_u16(vsubl_u8(v, zero));
}

MEGCC_INLINE megcc_q8x megcc_q8_weights(const int8_t *p, megcc_q8z zero) {
  return megcc_q8_data_i8(p, zero);
}
MEGCC_INLINE megcc_q8x megcc_q8_none(void) { return vdupq_n_s16(0); }

MEGCC_INLINE megcc_q8s megcc_q8_sums(const int32_t *p) {
  const megcc_q8s s = {vld1q_s32(p), vld1q_s32(p + 4)};
  return s;
}

MEGCC_INLINE megcc_q8s megcc_q8_plus(megcc_q8s s, int32_t x) {
  s.a = vaddq_s32(s.a, vdupq_n_s32(x));
  s.b = vaddq_s32(s.b, vdupq_n_s32(x));
  return s;
}

// By name on arm64: gcc keeps the two halves of a vector of which the lower one is taken by
// `vget_low_s16` in two registers.
MEGCC_INLINE megcc_q8s megcc_q8_mla(megcc_q8s s, megcc_q8x x, megcc_q8x w) {
#if defined(__aarch64__)
  __asm__("smlal %0.4s, %1.4h, %2.4h" : "+w"(s.a) : "w"(x), "w"(w));
  __asm__("smlal2 %0.4s, %1.8h, %2.8h" : "+w"(s.b) : "w"(x), "w"(w));
#else
  s.a = vmlal_s16(s.a, vget_low_s16(x), vget_low_s16(w));
  s.b = vmlal_s16(s.b, vget_high_s16(x), vget_high_s16(w));
#endif
  return s;
}

typedef struct {
  float32x4_t scale[2], offset[2];
  megcc_narrow narrow;
  float act_a, act_b;
} megcc_q8r;

MEGCC_INLINE megcc_q8r megcc_q8_rescale(const megcc_rescale *r) {
  megcc_q8r made;
  made.scale[0] = made.scale[1] = vdupq_n_f32(OUT && !SCALES ? r->scale[0] : 0.0f);
  made.offset[0] = made.offset[1] = made.scale[0];
  made.narrow = megcc_narrow_of(r);
  made.act_a = r->act_a;
  made.act_b = r->act_b;
  return made;
}

MEGCC_INLINE void megcc_q8_channels(megcc_q8r *made, const megcc_rescale *r, int32_t c) {
#if OUT && SCALES
  made->scale[0] = vld1q_f32(r->scale + c);
  made->scale[1] = vld1q_f32(r->scale + c + 4);
#endif
#if OFFSET
  made->offset[0] = vld1q_f32(r->offset + c);
  made->offset[1] = vld1q_f32(r->offset + c + 4);
#endif
  (void)made, (void)r, (void)c;
}

#if OUT == MEGCC_QUANT_SUMS
MEGCC_INLINE void megcc_q8_store(const megcc_q8r *r, megcc_q8s s, int32_t *dst) {
  (void)r;
  vst1q_s32(dst, s.a);
  vst1q_s32(dst + 4, s.b);
}
#else
// Scales four sums, of the lanes from `half` * 4 on.
MEGCC_INLINE float32x4_t megcc_q8_scaled(const megcc_q8r *r, int32x4_t s, int half) {
  return megcc_scaled(s, r->scale[half], r->offset[half]);
}
#if OUT == MEGCC_QUANT_REAL
MEGCC_INLINE void megcc_q8_store(const megcc_q8r *r, megcc_q8s s, float *dst) {
  const float32x4_t a = vdupq_n_f32(r->act_a), b = vdupq_n_f32(r->act_b);
  (void)a, (void)b;
  vst1q_f32(dst, megcc_act_vf(megcc_q8_scaled(r, s.a, 0), a, b));
  vst1q_f32(dst + 4, megcc_act_vf(megcc_q8_scaled(r, s.b, 1), a, b));
}
#else
MEGCC_INLINE void megcc_q8_store(const megcc_q8r *r, megcc_q8s s, MEGCC_CTYPE(Y) * dst) {
  const float32x4_t a = megcc_q8_scaled(r, s.a, 0), b = megcc_q8_scaled(r, s.b, 1);
  vst1_u8((uint8_t *)dst, megcc_stored_8(&r->narrow, a, b));
}
#endif
#endif

MEGCC_INLINE void megcc_q8_store_pair(const megcc_q8r *r, megcc_q8s s, MEGCC_CTYPE(Y) * dst,
                                      megcc_q8s t, MEGCC_CTYPE(Y) * dst2) {
#if OUT == MEGCC_QUANT_STORED
  const uint8x16_t v =
      megcc_stored_16(&r->narrow, megcc_q8_scaled(r, s.a, 0), megcc_q8_scaled(r, s.b, 1),
                      megcc_q8_scaled(r, t.a, 0), megcc_q8_scaled(r, t.b, 1));
  vst1_u8((uint8_t *)dst, vget_low_u8(v));
  vst1_u8((uint8_t *)dst2, vget_high_u8(v));
#else
  megcc_q8_store(r, s, dst);
  megcc_q8_store(r, t, dst2);
#endif
}

#endif  // MEGCC_Q8_NEON_H
