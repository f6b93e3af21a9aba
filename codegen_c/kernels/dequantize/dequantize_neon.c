// kernel: dequantize_neon X=i8
// like: dequantize_ref
// arch: arm64, armv7
// when: scale > 2e-38
// rank: 10
// cost: 2
//
// Sixteen elements at a time, the last ones in a buffer. Vectors of Armv7 have no subnormal
// numbers.
#include "megcc_dtype.h"
#include "megcc_kernel.h"
#include "op/dequantize.h"
#include "simd/megcc_centred_neon.h"

#define IS_UNSIGNED ((MEGCC_CTYPE(X)) - 1 > 0)

MEGCC_INLINE void megcc_dequantize_sixteen(const uint8_t *x, uint8x16_t zero, float scale,
                                           float *y) {
  const uint8x16_t v = vld1q_u8(x);
  const int16x8_t low = megcc_centred_low(v, zero, IS_UNSIGNED);
  const int16x8_t high = megcc_centred_high(v, zero, IS_UNSIGNED);
  const float32x4x4_t real = {{vmulq_n_f32(vcvtq_f32_s32(vmovl_s16(vget_low_s16(low))), scale),
                               vmulq_n_f32(vcvtq_f32_s32(vmovl_s16(vget_high_s16(low))), scale),
                               vmulq_n_f32(vcvtq_f32_s32(vmovl_s16(vget_low_s16(high))), scale),
                               vmulq_n_f32(vcvtq_f32_s32(vmovl_s16(vget_high_s16(high))), scale)}};
#if defined(__aarch64__)
  vst1q_f32_x4(y, real);
#else
  for (int k = 0; k < 4; ++k) vst1q_f32(y + 4 * k, real.val[k]);
#endif
}

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  const uint8_t *x = ptr[0];
  float *y = ptr[1];
  const uint8x16_t zero = vdupq_n_u8((uint8_t)attr[DEQUANTIZE_ZERO]);
  const float scale = megcc_attr_f32(attr[DEQUANTIZE_SCALE]);
  int32_t i = begin;
  (void)workspace;
  for (const int32_t last = end - 16; i <= last; i += 16)
    megcc_dequantize_sixteen(x + i, zero, scale, y + i);
  if (i < end) {
    uint8_t in[16] = {0};
    float out[16];
    for (int32_t k = 0; k < end - i; ++k) in[k] = x[i + k];
    megcc_dequantize_sixteen(in, zero, scale, out);
    for (int32_t k = 0; k < end - i; ++k) y[i + k] = out[k];
  }
}
