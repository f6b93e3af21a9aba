// kernel: qsoftmax_mve X=i8 Y=i8
// like: qsoftmax_rows
// arch: cortexm
// isa: mve.fp
// when: inner == 1 and y_scale > 1e-9
// rank: 10
// cost: 8 * axis
//
// Along rows: one load gathers four exponentials. They are added one after the other, as
// op/qsoftmax.h says. Helium's vectors have no subnormal numbers: with this scale of y, those are 0
// in any case.
#include <arm_mve.h>

#include "megcc_requant.h"
#include "op/qsoftmax.h"

typedef struct {
  const float *exp;  // of an element's distance from the largest one
  float scale;
  int32_t zero, low, high;
} megcc_qsoftmax_t;

#define MEGCC_WIDENED MEGCC_CAT(MEGCC_WIDENED_, X)
#define MEGCC_WIDENED_i8 vldrbq_z_s32
#define MEGCC_WIDENED_u8(p, some) vreinterpretq_s32_u32(vldrbq_z_u32(p, some))

MEGCC_INLINE int32_t megcc_qsoftmax_most(const MEGCC_CTYPE(X) * x, int32_t n) {
  int32_t most = MEGCC_IS_UNSIGNED(X) ? 0 : -128;
  for (; n > 0; n -= 16, x += 16) {
    const mve_pred16_t some = vctp8q((uint32_t)n);
#if MEGCC_IS_UNSIGNED(X)
    most = vmaxvq_p_u8((uint8_t)most, vldrbq_z_u8(x, some), some);
#else
    most = vmaxvq_p_s8((int8_t)most, vldrbq_z_s8(x, some), some);
#endif
  }
  return most;
}

// The exponentials of four elements, or of `some` of them: the others are 0.
MEGCC_INLINE float32x4_t megcc_qsoftmax_four(const megcc_qsoftmax_t *q, const MEGCC_CTYPE(X) * x,
                                             int32_t most, mve_pred16_t some) {
  const int32x4_t apart = vsubq_s32(vdupq_n_s32(most), MEGCC_WIDENED(x, some));
  return vldrwq_gather_shifted_offset_z_f32(q->exp, vreinterpretq_u32_s32(apart), some);
}

MEGCC_INLINE float megcc_qsoftmax_sum(const megcc_qsoftmax_t *q, const MEGCC_CTYPE(X) * x,
                                      int32_t most, int32_t n) {
  float sum = 0.0f;
  for (; n > 0; n -= 4, x += 4) {
    float e[4];
    vstrwq_f32(e, megcc_qsoftmax_four(q, x, most, vctp32q((uint32_t)n)));
    sum += e[0], sum += e[1], sum += e[2], sum += e[3];
  }
  return sum;
}

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  const int32_t n = attr[QSOFTMAX_AXIS];
  const megcc_qsoftmax_t q = {ptr[1], megcc_attr_f32(attr[QSOFTMAX_Y_SCALE]), attr[QSOFTMAX_Y_ZERO],
                              attr[QSOFTMAX_LOW], attr[QSOFTMAX_HIGH]};
  const int32x4_t low = vdupq_n_s32(q.low), high = vdupq_n_s32(q.high);
  (void)workspace;
  for (int32_t row = begin; row < end; ++row) {
    const MEGCC_CTYPE(X) *x = (const MEGCC_CTYPE(X) *)ptr[0] + (ptrdiff_t)row * n;
    int8_t *y = (int8_t *)ptr[2] + (ptrdiff_t)row * n;
    const int32_t most = megcc_qsoftmax_most(x, n);
    const float factor = 1.0f / (megcc_qsoftmax_sum(&q, x, most, n) * q.scale);
    for (int32_t left = n; left > 0; left -= 4, x += 4, y += 4) {
      const mve_pred16_t some = vctp32q((uint32_t)left);
      const float32x4_t v = vmulq_n_f32(megcc_qsoftmax_four(&q, x, most, some), factor);
      const int32x4_t whole = vqaddq_n_s32(vcvtnq_s32_f32(v), q.zero);
      vstrbq_p_s32(y, vminq_s32(vmaxq_s32(whole, low), high), some);
    }
  }
}
