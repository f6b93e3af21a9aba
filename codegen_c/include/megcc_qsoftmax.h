// Shared by the kernels of qsoftmax: exponentials become 8-bit integers.
//
// The including kernel defines X and Y, the types of the operands.
#ifndef MEGCC_QSOFTMAX_H
#define MEGCC_QSOFTMAX_H

#include "megcc_dtype.h"
#include "op/qsoftmax.h"
#include "simd/megcc_simd.h"

#ifndef X
#define X i8
#endif
#ifndef Y
#define Y i8
#endif

enum { BLOCK = 64 };  // elements at a time, whole vectors of every machine

typedef struct {
  const float *exp;  // of an element's distance from the largest one
  float scale, low, high, zero;
} megcc_qsoftmax_t;

MEGCC_INLINE megcc_qsoftmax_t megcc_qsoftmax_of(void *const *ptr, const int32_t *attr) {
  const int32_t zero = attr[QSOFTMAX_Y_ZERO];
  const megcc_qsoftmax_t q = {ptr[1], megcc_attr_f32(attr[QSOFTMAX_Y_SCALE]),
                              (float)(attr[QSOFTMAX_LOW] - zero),
                              (float)(attr[QSOFTMAX_HIGH] - zero), (float)zero};
  return q;
}

// y[k] = v[k] * factor[k * step] in whole steps, for n <= BLOCK of them. Arrays have BLOCK
// elements, which are numbers; `step` is 0 or 1.
MEGCC_INLINE void megcc_qsoftmax_store(const megcc_qsoftmax_t *q, const float *v,
                                       const float *factor, int32_t step, MEGCC_CTYPE(Y) * y,
                                       int32_t n) {
  const megcc_vf low = megcc_vf_dup(q->low), high = megcc_vf_dup(q->high);
  const megcc_vf zero = megcc_vf_dup(q->zero);
  float whole[BLOCK];
  for (int32_t i = 0; i < n; i += MEGCC_VL) {
    const megcc_vf f = step ? megcc_vf_load(factor + i) : megcc_vf_dup(*factor);
    const megcc_vf r = megcc_vf_round(megcc_vf_mul(megcc_vf_load(v + i), f));
    megcc_vf_store(whole + i, megcc_vf_add(megcc_vf_min(megcc_vf_max(r, low), high), zero));
  }
  int32_t k = 0;
#if defined(__ARM_NEON) && MEGCC_VL == 4
  for (; n - k >= 8; k += 8) {
    const int16x4_t a = vmovn_s32(vcvtq_s32_f32(vld1q_f32(whole + k)));
    const int16x4_t b = vmovn_s32(vcvtq_s32_f32(vld1q_f32(whole + k + 4)));
    vst1_u8((uint8_t *)y + k, vreinterpret_u8_s8(vmovn_s16(vcombine_s16(a, b))));
  }
#endif
  for (; k < n; ++k) y[k] = (MEGCC_CTYPE(Y))(int32_t)whole[k];
}

#endif  // MEGCC_QSOFTMAX_H
