// kernel: qpool2d_neon X=i8 FUNC=QPOOL2D_AVG
// like: qpool2d_ref
// arch: arm64, armv7
// rank: 10
// params: X=X Y=Y FUNC=func OFFSET=(offset != 0) LIMITS=(high - low < 255)
//
// Sums of 32 channels stay in registers over the taps, then of 16: of 16 bits, which hold those of
// TAPS taps less their zero points, and are added to sums of 32 bits then. The last channels are
// those of a vector that ends with the pixel.
#include "op/qpool2d.h"
#include "simd/megcc_requant_neon.h"
#include "simd/megcc_simd.h"

#define MEGCC_POOL(name) QPOOL2D_##name
#include "simd/megcc_pool8_neon.h"

#define TAPS 128  // 128 * 255 is less than 2^15

typedef struct {
  int32_t zero, rows, cols;  // a piece of a window has TAPS taps at most
  float32x4_t scale, offset;
  megcc_narrow narrow;
} megcc_qpool_t;

// The sums of 16 channels.
typedef struct {
  int16x8_t low, high;
} megcc_qpool_16_t;
typedef struct {
  int32x4_t a, b, c, d;
} megcc_qpool_wide_t;

MEGCC_INLINE void megcc_qpool_add(megcc_qpool_16_t *s, uint8x16_t v) {
  if (MEGCC_IS_UNSIGNED(X)) {
    const uint16x8_t low = vreinterpretq_u16_s16(s->low), high = vreinterpretq_u16_s16(s->high);
    s->low = vreinterpretq_s16_u16(vaddw_u8(low, vget_low_u8(v)));
    s->high = vreinterpretq_s16_u16(vaddw_u8(high, vget_high_u8(v)));
  } else {
    const int8x16_t w = vreinterpretq_s8_u8(v);
    s->low = vaddw_s8(s->low, vget_low_s8(w));
    s->high = vaddw_s8(s->high, vget_high_s8(w));
  }
}

MEGCC_INLINE void megcc_qpool_widen(megcc_qpool_wide_t *w, const megcc_qpool_16_t *s) {
  w->a = vaddw_s16(w->a, vget_low_s16(s->low));
  w->b = vaddw_s16(w->b, vget_high_s16(s->low));
  w->c = vaddw_s16(w->c, vget_low_s16(s->high));
  w->d = vaddw_s16(w->d, vget_high_s16(s->high));
}

MEGCC_INLINE float32x4_t megcc_qpool_four(const megcc_qpool_t *q, int32x4_t sum, float32x4_t n) {
  float32x4_t v = vcvtq_f32_s32(sum);
  if (FUNC == QPOOL2D_AVG) v = megcc_vf_div(v, n);
  v = vmulq_f32(v, q->scale);
#if OFFSET
  __asm__("" : "+w"(v));  // rounded, whatever the compiler may contract
  v = vaddq_f32(v, q->offset);
#endif
  return v;
}

MEGCC_INLINE uint8x16_t megcc_qpool_stored(const megcc_qpool_t *q, const megcc_pool8_t *t,
                                           const megcc_qpool_wide_t *w) {
  const float32x4_t n = vdupq_n_f32((float)t->count);
  return megcc_stored_16(&q->narrow, megcc_qpool_four(q, w->a, n), megcc_qpool_four(q, w->b, n),
                         megcc_qpool_four(q, w->c, n), megcc_qpool_four(q, w->d, n));
}

MEGCC_INLINE int32_t megcc_qpool_least(int32_t a, int32_t b) { return a < b ? a : b; }

// For each piece of the window: `i`, `j` is its first tap, `rows` and `cols` its size, `none` what
// its sums begin with.
#define MEGCC_QPOOL_PIECES(q, t)                                                                 \
  for (int32_t i = 0, rows; (rows = megcc_qpool_least((q)->rows, (t)->rows - i)) > 0; i += rows) \
    for (int32_t j = 0, cols; (cols = megcc_qpool_least((q)->cols, (t)->cols - j)) > 0; j += cols)

// Two vectors, `apart` bytes from one another.
MEGCC_INLINE void megcc_qpool_pair(const megcc_qpool_t *q, const megcc_pool8_t *t,
                                   const uint8_t *src, uint8_t *dst, int32_t apart) {
  const int32x4_t nothing = vdupq_n_s32(0);
  megcc_qpool_wide_t w0 = {nothing, nothing, nothing, nothing}, w1 = w0;
  MEGCC_QPOOL_PIECES(q, t) {
    const int16x8_t none = vdupq_n_s16((int16_t)(-rows * cols * q->zero));
    megcc_qpool_16_t s0 = {none, none}, s1 = s0;
    const uint8_t *line = src + i * t->row_step + j * t->col_step;
    for (int32_t r = 0; r < rows; ++r, line += t->row_step) {
      const uint8_t *p = line;
      for (int32_t k = 0; k < cols; ++k, p += t->col_step) {
        megcc_qpool_add(&s0, vld1q_u8(p));
        megcc_qpool_add(&s1, vld1q_u8(p + apart));
      }
    }
    megcc_qpool_widen(&w0, &s0);
    megcc_qpool_widen(&w1, &s1);
  }
  vst1q_u8(dst, megcc_qpool_stored(q, t, &w0));
  vst1q_u8(dst + apart, megcc_qpool_stored(q, t, &w1));
}

// 16 channels from number `c` on, or all of fewer.
MEGCC_INLINE uint8x16_t megcc_qpool_16(const megcc_qpool_t *q, const megcc_pool8_t *t, int32_t c,
                                       int is_few) {
  const int32x4_t nothing = vdupq_n_s32(0);
  megcc_qpool_wide_t w = {nothing, nothing, nothing, nothing};
  MEGCC_QPOOL_PIECES(q, t) {
    const int16x8_t none = vdupq_n_s16((int16_t)(-rows * cols * q->zero));
    megcc_qpool_16_t s = {none, none};
    ptrdiff_t line = i * t->row_step + j * t->col_step;
    for (int32_t r = 0; r < rows; ++r, line += t->row_step) {
      ptrdiff_t at = line;
      for (int32_t k = 0; k < cols; ++k, at += t->col_step)
        megcc_qpool_add(&s, is_few ? megcc_pool8_load(t, at) : vld1q_u8(t->src + c + at));
    }
    megcc_qpool_widen(&w, &s);
  }
  return megcc_qpool_stored(q, t, &w);
}

static void megcc_qpool_pixel(const void *how, const megcc_pool8_t *t, uint8_t *dst) {
  const megcc_qpool_t *q = how;
  const int32_t channels = t->channels;
  int32_t c = 0;
  if (channels < 16) {
    if (channels) megcc_pool8_store(t, dst, megcc_qpool_16(q, t, 0, 1));
    return;
  }
  for (; channels - c > 16; c += 32) {
    const int32_t rest = channels - c - 16;
    megcc_qpool_pair(q, t, t->src + c, dst + c, rest < 16 ? rest : 16);
  }
  if (c < channels) vst1q_u8(dst + channels - 16, megcc_qpool_16(q, t, channels - 16, 0));
}

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  const int32_t kw = attr[QPOOL2D_KW];
  const megcc_rescale limits = {
      NULL, NULL, attr[QPOOL2D_Y_ZERO], attr[QPOOL2D_LOW], attr[QPOOL2D_HIGH], 0.0f, 0.0f};
  const megcc_qpool_t q = {attr[QPOOL2D_X_ZERO],
                           kw > 0 && kw < TAPS ? TAPS / kw : 1,
                           TAPS,
                           vdupq_n_f32(megcc_attr_f32(attr[QPOOL2D_SCALE])),
                           vdupq_n_f32(megcc_attr_f32(attr[QPOOL2D_OFFSET])),
                           megcc_narrow_of(&limits)};
  (void)workspace;
  megcc_pool8(ptr, attr, begin, end, megcc_qpool_pixel, &q);
}
