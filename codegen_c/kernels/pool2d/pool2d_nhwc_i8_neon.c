// kernel: pool2d_nhwc_i8_neon T=i8
// like: pool2d_nhwc_i8
// arch: arm64, armv7
// rank: 10
//
// The largest byte of every window: 64 channels at a time stay in registers over all taps, then 32
// and 16. The last ones are those of a vector that ends with the pixel.
#include "megcc_requant.h"
#include "op/pool2d.h"

#define MEGCC_POOL(name) POOL2D_##name
#include "simd/megcc_pool8_neon.h"

MEGCC_INLINE uint8x16_t megcc_pool8_larger(uint8x16_t a, uint8x16_t b) {
  if (MEGCC_IS_UNSIGNED(T)) return vmaxq_u8(a, b);
  return vreinterpretq_u8_s8(vmaxq_s8(vreinterpretq_s8_u8(a), vreinterpretq_s8_u8(b)));
}

MEGCC_INLINE void megcc_pool8_64(const megcc_pool8_t *t, const uint8_t *src, uint8_t *dst) {
  uint8x16_t a = vld1q_u8(src), b = vld1q_u8(src + 16);
  uint8x16_t c = vld1q_u8(src + 32), d = vld1q_u8(src + 48);
  for (int32_t i = 0; i < t->rows; ++i, src += t->row_step) {
    const uint8_t *p = src;
    for (int32_t j = 0; j < t->cols; ++j, p += t->col_step) {
      a = megcc_pool8_larger(a, vld1q_u8(p));
      b = megcc_pool8_larger(b, vld1q_u8(p + 16));
      c = megcc_pool8_larger(c, vld1q_u8(p + 32));
      d = megcc_pool8_larger(d, vld1q_u8(p + 48));
    }
  }
  vst1q_u8(dst, a), vst1q_u8(dst + 16, b), vst1q_u8(dst + 32, c), vst1q_u8(dst + 48, d);
}

// Two vectors, `apart` bytes from one another.
MEGCC_INLINE void megcc_pool8_pair(const megcc_pool8_t *t, const uint8_t *src, uint8_t *dst,
                                   int32_t apart) {
  uint8x16_t a = vld1q_u8(src), b = vld1q_u8(src + apart);
  for (int32_t i = 0; i < t->rows; ++i, src += t->row_step) {
    const uint8_t *p = src;
    for (int32_t j = 0; j < t->cols; ++j, p += t->col_step) {
      a = megcc_pool8_larger(a, vld1q_u8(p));
      b = megcc_pool8_larger(b, vld1q_u8(p + apart));
    }
  }
  vst1q_u8(dst, a), vst1q_u8(dst + apart, b);
}

MEGCC_INLINE void megcc_pool8_16(const megcc_pool8_t *t, const uint8_t *src, uint8_t *dst) {
  uint8x16_t a = vld1q_u8(src);
  for (int32_t i = 0; i < t->rows; ++i, src += t->row_step) {
    const uint8_t *p = src;
    for (int32_t j = 0; j < t->cols; ++j, p += t->col_step) a = megcc_pool8_larger(a, vld1q_u8(p));
  }
  vst1q_u8(dst, a);
}

MEGCC_INLINE void megcc_pool8_few(const megcc_pool8_t *t, uint8_t *dst) {
  uint8x16_t a = megcc_pool8_load(t, 0);
  for (int32_t i = 0; i < t->rows; ++i) {
    for (int32_t j = 0; j < t->cols; ++j)
      a = megcc_pool8_larger(a, megcc_pool8_load(t, i * t->row_step + j * t->col_step));
  }
  megcc_pool8_store(t, dst, a);
}

MEGCC_INLINE void megcc_pool8_max(const void *how, const megcc_pool8_t *t, uint8_t *dst) {
  const int32_t channels = t->channels;
  int32_t c = 0;
  (void)how;
  if (channels < 16) {
    if (channels) megcc_pool8_few(t, dst);
    return;
  }
  for (; channels - c >= 64; c += 64) megcc_pool8_64(t, t->src + c, dst + c);
  for (; channels - c > 16; c += 32) {
    const int32_t rest = channels - c - 16;
    megcc_pool8_pair(t, t->src + c, dst + c, rest < 16 ? rest : 16);
  }
  if (c < channels) megcc_pool8_16(t, t->src + channels - 16, dst + channels - 16);
}

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  (void)workspace;
  megcc_pool8(ptr, attr, begin, end, megcc_pool8_max, NULL);
}
