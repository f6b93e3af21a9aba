// kernel: qresize2d_neon X=i8 ROUND=QRESIZE2D_EVEN SIXTEENTHS=0 SAME=0
// like: qresize2d_ref
// arch: arm64, armv7
// rank: 10
// params: X=X Y=Y ROUND=round SIXTEENTHS=sixteenths SAME=(scale == 1 and x_zero == y_zero)
//    LIMITS=(high - low < 255)
// workspace: 12 * ow + (2 if sixteenths else 4) * (w * c + LANES)
// cost: (2 if sixteenths else 4) * ow * max(c, 8)
//
// Two rows become one, then two columns of it a pixel, sixteen channels at a time. The last ones of
// a pixel overlap those before; pixels of fewer channels are put side by side first. Sixteenths:
// bytes without a sign, times weights of together 256, fill 16 bits. Where both scales and zero
// points are equal, they become bytes again without floats.
#include "megcc_qresize.h"
#include "simd/megcc_centred_neon.h"
#include "simd/megcc_requant_neon.h"

enum { LANES = 16 };   // channels at a time
enum { PIXELS = 16 };  // of few channels, side by side

typedef struct {
  uint16x8_t whole, odd;  // 256 times x's zero point; it, of which the last bit matters
  uint8x16_t zero;        // x's
  float32x4_t scale;
  megcc_narrow narrow;
  uint8x16_t low, high;
} megcc_qresize_t;

// 128 where that makes bytes of X ones without a sign.
#define MEGCC_QRESIZE_SIGN (MEGCC_IS_UNSIGNED(X) ? 0 : 128)

#if SIXTEENTHS

MEGCC_INLINE uint8x16_t megcc_qresize_load(const uint8_t *x) {
  const uint8x16_t v = vld1q_u8(x);
  return MEGCC_IS_UNSIGNED(X) ? v : veorq_u8(v, vdupq_n_u8(128));
}

typedef uint16_t megcc_qresize_value_t;  // 16 times a byte without a sign, then 256 times

// Sixteen values.
typedef struct {
  uint16x8_t low, high;
} megcc_qresize_values_t;

MEGCC_INLINE megcc_qresize_values_t megcc_qresize_get(const uint16_t *v) {
  const megcc_qresize_values_t s = {vld1q_u16(v), vld1q_u16(v + 8)};
  return s;
}

MEGCC_INLINE void megcc_qresize_put(uint16_t *y, const megcc_qresize_values_t *v) {
  vst1q_u16(y, v->low), vst1q_u16(y + 8, v->high);
}

MEGCC_INLINE megcc_qresize_values_t megcc_qresize_down(const megcc_qresize_t *q, const uint8_t *a,
                                                       const uint8_t *b, float weight) {
  const int32_t lower = (int32_t)(weight * 16.0f);
  const uint8x8_t u = vdup_n_u8((uint8_t)(16 - lower)), v = vdup_n_u8((uint8_t)lower);
  const uint8x16_t x = megcc_qresize_load(a), z = megcc_qresize_load(b);
  const megcc_qresize_values_t s = {vmlal_u8(vmull_u8(vget_low_u8(x), u), vget_low_u8(z), v),
                                    vmlal_u8(vmull_u8(vget_high_u8(x), u), vget_high_u8(z), v)};
  (void)q;
  return s;
}

MEGCC_INLINE megcc_qresize_values_t megcc_qresize_across(const uint16_t *a, const uint16_t *b,
                                                         float weight) {
  const uint16_t right = (uint16_t)(weight * 16.0f), left = (uint16_t)(16 - right);
  const megcc_qresize_values_t x = megcc_qresize_get(a), z = megcc_qresize_get(b);
  const megcc_qresize_values_t s = {vmlaq_n_u16(vmulq_n_u16(x.low, left), z.low, right),
                                    vmlaq_n_u16(vmulq_n_u16(x.high, left), z.high, right)};
  return s;
}

#if ROUND == QRESIZE2D_CUT
MEGCC_INLINE uint8x8_t megcc_qresize_half(const megcc_qresize_t *q, uint16x8_t sum) {
  (void)q;
  if (MEGCC_IS_UNSIGNED(X)) return vshrn_n_u16(sum, 8);
  const uint16x8_t v = veorq_u16(sum, vdupq_n_u16(0x8000));
  const uint16x8_t sign = vreinterpretq_u16_s16(vshrq_n_s16(vreinterpretq_s16_u16(v), 15));
  return vshrn_n_u16(vaddq_u16(v, vshrq_n_u16(sign, 8)), 8);  // towards 0
}
#else
// Rounded; a half goes to where the distance from the zero point is even.
MEGCC_INLINE uint8x8_t megcc_qresize_half(const megcc_qresize_t *q, uint16x8_t sum) {
  const uint16x8_t odd = vandq_u16(veorq_u16(vshrq_n_u16(sum, 8), q->odd), vdupq_n_u16(1));
  const uint8x8_t v = vaddhn_u16(sum, vaddq_u16(odd, vdupq_n_u16(127)));
  return MEGCC_IS_UNSIGNED(X) ? v : veor_u8(v, vdup_n_u8(128));
}
#endif

MEGCC_INLINE float32x4_t megcc_qresize_real(const megcc_qresize_t *q, uint16x4_t sum) {
  const int32x4_t v = vreinterpretq_s32_u32(vsubl_u16(sum, vget_low_u16(q->whole)));
  return vmulq_f32(vcvtq_n_f32_s32(v, 8), q->scale);
}

MEGCC_INLINE uint8x16_t megcc_qresize_stored(const megcc_qresize_t *q, megcc_qresize_values_t s) {
  if (ROUND == QRESIZE2D_CUT || (SAME && MEGCC_IS_UNSIGNED(X) == MEGCC_IS_UNSIGNED(Y))) {
    const uint8x16_t y = vcombine_u8(megcc_qresize_half(q, s.low), megcc_qresize_half(q, s.high));
    if (!LIMITS) return y;
    if (MEGCC_IS_UNSIGNED(Y)) return vminq_u8(vmaxq_u8(y, q->low), q->high);
    const int8x16_t low = vreinterpretq_s8_u8(q->low), high = vreinterpretq_s8_u8(q->high);
    return vreinterpretq_u8_s8(vminq_s8(vmaxq_s8(vreinterpretq_s8_u8(y), low), high));
  }
  return megcc_stored_16(&q->narrow, megcc_qresize_real(q, vget_low_u16(s.low)),
                         megcc_qresize_real(q, vget_high_u16(s.low)),
                         megcc_qresize_real(q, vget_low_u16(s.high)),
                         megcc_qresize_real(q, vget_high_u16(s.high)));
}

#else

typedef float megcc_qresize_value_t;

// Sixteen values.
typedef struct {
  float32x4_t a, b, c, d;
} megcc_qresize_values_t;

MEGCC_INLINE megcc_qresize_values_t megcc_qresize_get(const float *v) {
  const megcc_qresize_values_t s = {vld1q_f32(v), vld1q_f32(v + 4), vld1q_f32(v + 8),
                                    vld1q_f32(v + 12)};
  return s;
}

MEGCC_INLINE void megcc_qresize_put(float *y, const megcc_qresize_values_t *v) {
  vst1q_f32(y, v->a), vst1q_f32(y + 4, v->b), vst1q_f32(y + 8, v->c), vst1q_f32(y + 12, v->d);
}

MEGCC_INLINE megcc_qresize_values_t megcc_qresize_numbers(const megcc_qresize_t *q,
                                                          const uint8_t *x) {
  const uint8x16_t v = vld1q_u8(x);
  const int16x8_t low = megcc_centred_low(v, q->zero, MEGCC_IS_UNSIGNED(X));
  const int16x8_t high = megcc_centred_high(v, q->zero, MEGCC_IS_UNSIGNED(X));
  const megcc_qresize_values_t n = {
      vcvtq_f32_s32(vmovl_s16(vget_low_s16(low))), vcvtq_f32_s32(vmovl_s16(vget_high_s16(low))),
      vcvtq_f32_s32(vmovl_s16(vget_low_s16(high))), vcvtq_f32_s32(vmovl_s16(vget_high_s16(high)))};
  return n;
}

// a + (b - a) * weight; the product is rounded, whatever the compiler may contract.
MEGCC_INLINE float32x4_t megcc_qresize_between(float32x4_t a, float32x4_t b, float32x4_t weight) {
  float32x4_t part = vmulq_f32(vsubq_f32(b, a), weight);
  __asm__("" : "+w"(part));
  return vaddq_f32(a, part);
}

MEGCC_INLINE megcc_qresize_values_t megcc_qresize_mixed(megcc_qresize_values_t p,
                                                        megcc_qresize_values_t q, float weight) {
  const float32x4_t u = vdupq_n_f32(weight);
  const megcc_qresize_values_t n = {
      megcc_qresize_between(p.a, q.a, u), megcc_qresize_between(p.b, q.b, u),
      megcc_qresize_between(p.c, q.c, u), megcc_qresize_between(p.d, q.d, u)};
  return n;
}

MEGCC_INLINE megcc_qresize_values_t megcc_qresize_down(const megcc_qresize_t *q, const uint8_t *a,
                                                       const uint8_t *b, float weight) {
  return megcc_qresize_mixed(megcc_qresize_numbers(q, a), megcc_qresize_numbers(q, b), weight);
}

MEGCC_INLINE megcc_qresize_values_t megcc_qresize_across(const float *a, const float *b,
                                                         float weight) {
  return megcc_qresize_mixed(megcc_qresize_get(a), megcc_qresize_get(b), weight);
}

MEGCC_INLINE uint8x8_t megcc_qresize_cut(float32x4_t a, float32x4_t b) {
  const int16x8_t v = vcombine_s16(vmovn_s32(vcvtq_s32_f32(a)), vmovn_s32(vcvtq_s32_f32(b)));
  return vreinterpret_u8_s8(vmovn_s16(v));
}

MEGCC_INLINE uint8x16_t megcc_qresize_stored(const megcc_qresize_t *q, megcc_qresize_values_t v) {
  if (ROUND == QRESIZE2D_CUT)
    return vcombine_u8(megcc_qresize_cut(v.a, v.b), megcc_qresize_cut(v.c, v.d));
  return megcc_stored_16(&q->narrow, vmulq_f32(v.a, q->scale), vmulq_f32(v.b, q->scale),
                         vmulq_f32(v.c, q->scale), vmulq_f32(v.d, q->scale));
}

#endif

// Mixes both rows into the workspace, which has room for LANES values more.
MEGCC_INLINE void megcc_qresize_rows(const megcc_qresize_t *q, const megcc_qresize_row_t *row) {
  const ptrdiff_t n = (ptrdiff_t)row->width * row->channels;
  megcc_qresize_value_t *to = row->mixed;
  ptrdiff_t i = 0;
  for (; n - i >= LANES; i += LANES) {
    const megcc_qresize_values_t v =
        megcc_qresize_down(q, row->upper + i, row->lower + i, row->weight);
    megcc_qresize_put(to + i, &v);
  }
  if (i < n) {
    uint8_t a[LANES] = {0}, b[LANES] = {0};
    for (int32_t k = 0; k < n - i; ++k) a[k] = row->upper[i + k], b[k] = row->lower[i + k];
    const megcc_qresize_values_t v = megcc_qresize_down(q, a, b, row->weight);
    megcc_qresize_put(to + i, &v);
  }
}

// The inputs of an output pixel: two pixels of the mixed row.
typedef struct {
  const megcc_qresize_value_t *left, *right;
  float weight;
} megcc_qresize_pixel_t;

MEGCC_INLINE megcc_qresize_pixel_t megcc_qresize_pixel(const megcc_qresize_row_t *row, int32_t i) {
  const megcc_resize_tap_t *tap = row->taps + i;
  const megcc_qresize_value_t *v = row->mixed;
  const megcc_qresize_pixel_t p = {v + (ptrdiff_t)tap->lo * row->channels,
                                   v + (ptrdiff_t)tap->hi * row->channels, tap->weight};
  return p;
}

MEGCC_INLINE uint8x16_t megcc_qresize_sixteen(const megcc_qresize_t *q,
                                              const megcc_qresize_pixel_t *p, int32_t c) {
  return megcc_qresize_stored(q, megcc_qresize_across(p->left + c, p->right + c, p->weight));
}

MEGCC_INLINE void megcc_qresize_wide(const megcc_qresize_t *how, const megcc_qresize_row_t *row,
                                     uint8_t *y) {
  const megcc_qresize_t q = *how;
  const int32_t channels = row->channels, last = channels - LANES, out = row->out;
  for (int32_t i = 0; i < out; ++i, y += channels) {
    const megcc_qresize_pixel_t p = megcc_qresize_pixel(row, i);
    for (int32_t c = 0; c < last; c += LANES) vst1q_u8(y + c, megcc_qresize_sixteen(&q, &p, c));
    vst1q_u8(y + last, megcc_qresize_sixteen(&q, &p, last));
  }
}

// For fewer channels than LANES: a pixel's other lanes are overwritten by the pixels behind it.
MEGCC_INLINE void megcc_qresize_slim(const megcc_qresize_t *how, const megcc_qresize_row_t *row,
                                     uint8_t *y) {
  const megcc_qresize_t q = *how;
  const int32_t channels = row->channels, out = row->out;
  megcc_qresize_value_t line[PIXELS * LANES];
  uint8_t last[LANES];
  for (int32_t first = 0, n; first < out; first += PIXELS, y += n) {
    const int32_t pixels = out - first < PIXELS ? out - first : PIXELS;
    n = pixels * channels;
    for (int32_t i = 0; i < pixels; ++i) {
      const megcc_qresize_pixel_t p = megcc_qresize_pixel(row, first + i);
      const megcc_qresize_values_t v = megcc_qresize_across(p.left, p.right, p.weight);
      megcc_qresize_put(line + i * channels, &v);
    }
    int32_t i = 0;
    for (; n - i >= LANES; i += LANES)
      vst1q_u8(y + i, megcc_qresize_stored(&q, megcc_qresize_get(line + i)));
    if (i < n) vst1q_u8(last, megcc_qresize_stored(&q, megcc_qresize_get(line + i)));
    for (int32_t k = 0; k < n - i; ++k) y[i + k] = last[k];
  }
}

static void megcc_qresize_row(const void *how, const megcc_qresize_row_t *row, uint8_t *y) {
  megcc_qresize_rows(how, row);
  if (row->channels < LANES) {
    megcc_qresize_slim(how, row, y);
  } else {
    megcc_qresize_wide(how, row, y);
  }
}

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  const int32_t low = attr[QRESIZE2D_LOW], high = attr[QRESIZE2D_HIGH];
  const int32_t zero = attr[QRESIZE2D_X_ZERO] + MEGCC_QRESIZE_SIGN;
  const megcc_rescale limits = {NULL, NULL, attr[QRESIZE2D_Y_ZERO], low, high, 0.0f, 0.0f};
  const megcc_qresize_t q = {vdupq_n_u16((uint16_t)(zero << 8)),
                             vdupq_n_u16((uint16_t)zero),
                             vdupq_n_u8((uint8_t)attr[QRESIZE2D_X_ZERO]),
                             vdupq_n_f32(megcc_attr_f32(attr[QRESIZE2D_SCALE])),
                             megcc_narrow_of(&limits),
                             vdupq_n_u8((uint8_t)low),
                             vdupq_n_u8((uint8_t)high)};
  megcc_qresize(ptr, attr, workspace, begin, end, megcc_qresize_row, &q);
}
