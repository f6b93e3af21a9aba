// kernel: quantize_mve
// like: quantize_ref
// arch: cortexm
// isa: mve.fp
// rank: 10
// cost: 4
//
// Four elements at a time. Helium does not divide: x / SCALE is x times 1 / SCALE, which differs by
// less than 2^-13 where y is within its limits. A block with an element that near to a half is
// computed again by divisions, which are exact.
#include <arm_mve.h>

#include "math/megcc_round.h"
#include "megcc_requant.h"
#include "op/quantize.h"
#include "simd/megcc_mve_bytes.h"

#define MOST 16  // elements of a block
// How far from its integer a number may be, whose rounding is beyond doubt.
#define CLEAR 0.4998f

typedef struct {
  float scale, inverse, low, high;  // inverse: 0 where there is none
  int32_t zero;
} megcc_quantize_t;

MEGCC_COLD static void megcc_quantize_exact(const megcc_quantize_t *q, const float *x, uint8_t *y,
                                            int32_t n) {
  for (int32_t k = 0; k < n; ++k) {
    float v = megcc_roundf(x[k] / q->scale);
    v = v > q->low ? v : q->low;
    y[k] = (uint8_t)((int32_t)(v < q->high ? v : q->high) + q->zero);
  }
}

// At most MOST elements to `y`; whether all are right. What is beyond the limits, infinities among
// it, becomes the limit, a NaN the lower one.
MEGCC_INLINE int megcc_quantize_block(const megcc_quantize_t *q, const float *x, uint8_t *y,
                                      int32_t n) {
  const float32x4_t low = vdupq_n_f32(q->low), high = vdupq_n_f32(q->high);
  float32x4_t most = vdupq_n_f32(0.0f);
  for (; n > 0; n -= 4, x += 4, y += 4) {
    const mve_pred16_t some = vctp32q((uint32_t)n);
    float32x4_t v = vmulq_n_f32(vldrwq_z_f32(x, some), q->inverse);
    v = vminnmq_f32(vmaxnmq_f32(v, low), high);
    const float32x4_t whole = vrndnq_f32(v);
    most = vmaxnmaq_f32(most, vsubq_f32(v, whole));
    vstrbq_p_s32((int8_t *)y, vaddq_n_s32(vcvtq_s32_f32(whole), q->zero), some);
  }
  return vcmpgtq_n_f32(most, CLEAR) == 0;
}

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  const float *x = (const float *)ptr[0] + begin;
  uint8_t *y = (uint8_t *)ptr[1] + begin, kept[MOST];  // y may begin where x does
  const int32_t zero = attr[QUANTIZE_ZERO], low = MEGCC_IS_UNSIGNED(Y) ? 0 : -128;
  const float scale = megcc_attr_f32(attr[QUANTIZE_SCALE]);
  const megcc_quantize_t q = {scale, scale > 1e-30f && scale < 1e30f ? 1.0f / scale : 0.0f,
                              (float)(low - zero), (float)(low + 255 - zero), zero};
  (void)workspace;
  for (int32_t left = end - begin; left > 0; left -= MOST, x += MOST, y += MOST) {
    const int32_t n = left < MOST ? left : MOST;
    if (q.inverse == 0 || !megcc_quantize_block(&q, x, kept, n)) {
      megcc_quantize_exact(&q, x, kept, n);
    }
    megcc_mve_move(y, kept, n);
  }
}
