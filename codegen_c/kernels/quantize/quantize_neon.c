// kernel: quantize_neon
// like: quantize_ref
// arch: arm64, armv7
// rank: 10
// cost: 3
//
// Sixteen elements at a time, the last ones in a buffer.
#define LIMITS 0
#include "op/quantize.h"
#include "simd/megcc_requant_neon.h"
#include "simd/megcc_simd.h"

typedef struct {
  float32x4_t scale, low, high;
  float32x4_t inverse;  // of the scale
  int has_inverse;      // both are far from the ends of what floats are
  megcc_narrow narrow;
} megcc_quantize_t;

// Numbers below the lower limit become the limit, and so does a NaN.
MEGCC_INLINE float32x4_t megcc_quantize_least(const megcc_quantize_t *q, float32x4_t v) {
#if defined(__aarch64__)
  return vmaxnmq_f32(v, q->low);
#else
  return megcc_vf_select(megcc_vf_le(q->low, v), v, q->low);
#endif
}

MEGCC_INLINE float32x4_t megcc_quantize_four(const megcc_quantize_t *q, const float *x) {
  return megcc_quantize_least(q, megcc_vf_div(vld1q_f32(x), q->scale));
}

MEGCC_INLINE uint8x16_t megcc_quantize_divided(const megcc_quantize_t *q, const float *x) {
  return megcc_stored_16(&q->narrow, megcc_quantize_four(q, x), megcc_quantize_four(q, x + 4),
                         megcc_quantize_four(q, x + 8), megcc_quantize_four(q, x + 12));
}

#if defined(__aarch64__)
MEGCC_INLINE uint8x16_t megcc_quantize_sixteen(const megcc_quantize_t *q, const float *x) {
  return megcc_quantize_divided(q, x);
}
#else
// Armv7 divides one number at a time. x * (1 / scale) is three roundings from the quotient, so less
// than 512 * 3 * 2^-24 = 1e-4 where it is not clamped: both round to the same integer unless they
// are so close to a half. Then, for a NaN, and where there is no inverse, the sixteen are divided.
MEGCC_COLD static uint8x16_t megcc_quantize_close(const megcc_quantize_t *q, const float *x) {
  return megcc_quantize_divided(q, x);
}

MEGCC_INLINE float32x4_t megcc_quantize_about(const megcc_quantize_t *q, const float *x) {
  return vminq_f32(vmaxq_f32(vmulq_f32(vld1q_f32(x), q->inverse), q->low), q->high);
}

// The distance of numbers from integers.
MEGCC_INLINE float32x4_t megcc_quantize_off(float32x4_t v) {
  const float32x4_t magic = vdupq_n_f32(12582912.0f);  // 1.5 * 2^23
  return vabdq_f32(v, vsubq_f32(vaddq_f32(v, magic), magic));
}

MEGCC_INLINE uint8x16_t megcc_quantize_sixteen(const megcc_quantize_t *q, const float *x) {
  const float32x4_t a = megcc_quantize_about(q, x), b = megcc_quantize_about(q, x + 4);
  const float32x4_t c = megcc_quantize_about(q, x + 8), d = megcc_quantize_about(q, x + 12);
  const float32x4_t ab = vmaxq_f32(megcc_quantize_off(a), megcc_quantize_off(b));
  const float32x4_t cd = vmaxq_f32(megcc_quantize_off(c), megcc_quantize_off(d));
  // Compared as integers, of which a NaN is the largest: GCC compares floats one by one.
  const uint32x4_t off = vreinterpretq_u32_f32(vmaxq_f32(ab, cd));
  const uint32x4_t far = vcgeq_u32(off, vreinterpretq_u32_f32(vdupq_n_f32(0.4999f)));
  const uint32x2_t any = vorr_u32(vget_low_u32(far), vget_high_u32(far));
  if (!q->has_inverse || vget_lane_u64(vreinterpret_u64_u32(any), 0)) {
    return megcc_quantize_close(q, x);
  }
  return megcc_stored_16(&q->narrow, a, b, c, d);
}
#endif

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  const float *x = ptr[0];
  uint8_t *y = ptr[1];
  const int32_t zero = attr[QUANTIZE_ZERO], low = MEGCC_IS_UNSIGNED(Y) ? 0 : -128;
  const megcc_rescale limits = {NULL, NULL, zero, low, low + 255, 0.0f, 0.0f};
  const float scale = megcc_attr_f32(attr[QUANTIZE_SCALE]);
  const megcc_quantize_t q = {vdupq_n_f32(scale),
                              vdupq_n_f32((float)(low - zero)),
                              vdupq_n_f32((float)(low + 255 - zero)),
                              vdupq_n_f32(1.0f / scale),
                              scale > 1e-30f && scale < 1e30f,
                              megcc_narrow_of(&limits)};
  int32_t i = begin;
  (void)workspace;
  for (; end - i >= 16; i += 16) vst1q_u8(y + i, megcc_quantize_sixteen(&q, x + i));
  if (i < end) {
    float in[16] = {0};
    uint8_t out[16];
    for (int32_t k = 0; k < end - i; ++k) in[k] = x[i + k];
    vst1q_u8(out, megcc_quantize_sixteen(&q, in));
    for (int32_t k = 0; k < end - i; ++k) y[i + k] = out[k];
  }
}
