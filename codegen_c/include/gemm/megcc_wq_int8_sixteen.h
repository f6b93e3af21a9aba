// 16 elements by `inverse` as bytes, and their sum, by NEON: megcc_wq_int8_rows.h.
#ifndef MEGCC_WQ_INT8_SIXTEEN_H
#define MEGCC_WQ_INT8_SIXTEEN_H

#include "gemm/megcc_wq_int8_rows.h"

MEGCC_INLINE int32x4_t megcc_wq8_whole(const megcc_elem_t *a, megcc_vf inverse) {
  const float32x4_t v = vmulq_f32(megcc_vf_load(a), inverse);
#if defined(__aarch64__)
  return vcvtnq_s32_f32(v);
#else
  return vcvtq_s32_f32(megcc_vf_round(v));
#endif
}
MEGCC_INLINE int16x8_t megcc_wq8_narrow(int32x4_t a, int32x4_t b) {
#if defined(__aarch64__)
  return vuzp1q_s16(vreinterpretq_s16_s32(a), vreinterpretq_s16_s32(b));
#else
  return vcombine_s16(vmovn_s32(a), vmovn_s32(b));
#endif
}
MEGCC_INLINE int32_t megcc_wq8_sixteen(int8_t *to, int32_t half, const megcc_elem_t *a,
                                       megcc_vf inverse) {
  const int16x8_t low =
      megcc_wq8_narrow(megcc_wq8_whole(a, inverse), megcc_wq8_whole(a + 4, inverse));
  const int16x8_t high =
      megcc_wq8_narrow(megcc_wq8_whole(a + 8, inverse), megcc_wq8_whole(a + 12, inverse));
#if defined(__aarch64__)
  const int8x16_t bytes = vuzp1q_s8(vreinterpretq_s8_s16(low), vreinterpretq_s8_s16(high));
  vst1_s8(to, vget_low_s8(bytes));
  vst1_s8(to + half, vget_high_s8(bytes));
  return MEGCC_WQ8_OFFSET ? vaddvq_s16(vaddq_s16(low, high)) : 0;
#else
  const int32x4_t four = vpaddlq_s16(vaddq_s16(low, high));
  const int32x2_t two = vadd_s32(vget_low_s32(four), vget_high_s32(four));
  vst1_s8(to, vmovn_s16(low));
  vst1_s8(to + half, vmovn_s16(high));
  return MEGCC_WQ8_OFFSET ? vget_lane_s32(vpadd_s32(two, two), 0) : 0;
#endif
}

#endif  // MEGCC_WQ_INT8_SIXTEEN_H
