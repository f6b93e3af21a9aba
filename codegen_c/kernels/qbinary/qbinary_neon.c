// kernel: qbinary_neon A=i8 B=i8 FUNC=QBINARY_ADD
// op: qbinary
// dtype: a=i8,u8 b=i8,u8 y=i8,u8
// arch: arm64, armv7
// isa: none
// rank: 10
// params: A=A B=B Y=Y FUNC=func OFFSET=(offset != 0) LIMITS=(high - low < 255)
// inplace: a, b
// work: size
// cost: 4
//
// Sixteen elements at a time, the last ones in a buffer.
#include "megcc_qbinary.h"
#include "simd/megcc_centred_neon.h"
#include "simd/megcc_requant_neon.h"
#include "simd/megcc_simd.h"

typedef struct {
  uint8x16_t a_zero, b_zero;
  float32x4_t a_scale, b_scale, scale, offset;
  megcc_narrow narrow;
} megcc_qbinary_t;

// The real number of four elements; it is rounded, whatever the compiler may contract.
MEGCC_INLINE float32x4_t megcc_qbinary_real(int32x4_t v, float32x4_t scale) {
  float32x4_t real = vmulq_f32(vcvtq_f32_s32(v), scale);
  __asm__("" : "+w"(real));
  return real;
}

MEGCC_INLINE float32x4_t megcc_qbinary_four(const megcc_qbinary_t *q, int32x4_t a, int32x4_t b) {
  const float32x4_t left = megcc_qbinary_real(a, q->a_scale);
  const float32x4_t right = megcc_qbinary_real(b, q->b_scale);
  const float32x4_t v = FUNC == QBINARY_MUL ? vmulq_f32(left, right) : vaddq_f32(left, right);
  const float32x4_t steps = megcc_vf_div(v, q->scale);
  return OFFSET ? vaddq_f32(steps, q->offset) : steps;
}

MEGCC_INLINE uint8x16_t megcc_qbinary_sixteen(const megcc_qbinary_t *q, const uint8_t *a,
                                              const uint8_t *b) {
  const uint8x16_t x = vld1q_u8(a), y = vld1q_u8(b);
  const int16x8_t a0 = megcc_centred_low(x, q->a_zero, MEGCC_IS_UNSIGNED(A));
  const int16x8_t a1 = megcc_centred_high(x, q->a_zero, MEGCC_IS_UNSIGNED(A));
  const int16x8_t b0 = megcc_centred_low(y, q->b_zero, MEGCC_IS_UNSIGNED(B));
  const int16x8_t b1 = megcc_centred_high(y, q->b_zero, MEGCC_IS_UNSIGNED(B));
  return megcc_stored_16(
      &q->narrow, megcc_qbinary_four(q, vmovl_s16(vget_low_s16(a0)), vmovl_s16(vget_low_s16(b0))),
      megcc_qbinary_four(q, vmovl_s16(vget_high_s16(a0)), vmovl_s16(vget_high_s16(b0))),
      megcc_qbinary_four(q, vmovl_s16(vget_low_s16(a1)), vmovl_s16(vget_low_s16(b1))),
      megcc_qbinary_four(q, vmovl_s16(vget_high_s16(a1)), vmovl_s16(vget_high_s16(b1))));
}

static void megcc_qbinary_run(const void *how, const uint8_t *a, const uint8_t *b, uint8_t *y,
                              int32_t n, int32_t step) {
  const megcc_qbinary_t *q = how;
  for (; n >= 16; n -= 16, a += 16, b += 16 * step, y += 16)
    vst1q_u8(y, megcc_qbinary_sixteen(q, a, b));
  if (n > 0) {
    uint8_t left[16] = {0}, right[16] = {0};
    for (int32_t k = 0; k < n; ++k) left[k] = a[k], right[k] = b[k];
    vst1q_u8(left, megcc_qbinary_sixteen(q, left, right));
    for (int32_t k = 0; k < n; ++k) y[k] = left[k];
  }
}

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  const megcc_rescale limits = {
      NULL, NULL, attr[QBINARY_Y_ZERO], attr[QBINARY_LOW], attr[QBINARY_HIGH], 0.0f, 0.0f};
  const megcc_qbinary_t q = {vdupq_n_u8((uint8_t)attr[QBINARY_A_ZERO]),
                             vdupq_n_u8((uint8_t)attr[QBINARY_B_ZERO]),
                             vdupq_n_f32(megcc_attr_f32(attr[QBINARY_A_SCALE])),
                             vdupq_n_f32(megcc_attr_f32(attr[QBINARY_B_SCALE])),
                             vdupq_n_f32(megcc_attr_f32(attr[QBINARY_Y_SCALE])),
                             vdupq_n_f32(megcc_attr_f32(attr[QBINARY_OFFSET])),
                             megcc_narrow_of(&limits)};
  (void)workspace;
  megcc_qbinary(ptr, attr, begin, end, megcc_qbinary_run, &q);
}
