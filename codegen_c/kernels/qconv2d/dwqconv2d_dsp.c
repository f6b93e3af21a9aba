// kernel: dwqconv2d_dsp
// like: dwqconv2d
// arch: cortexm
// isa: dsp
// when: g == ic and oc == ic and w_zero == 0
// rank: 40
// params: X=X Y=Y OUT=out ACT=act SCALES=channel_scales OFFSET=offset ZERO=zero_operand
//
// Depthwise, any kernel, stride, dilation and padding: four channels of a pixel at a time, whose
// data and weights are widened as they are read and multiplied by smlabb and smlatt. The last
// channels are those of four that end with them; fewer than four are plain.
#include "simd/megcc_q8_dsp.h"
#include "megcc_window.h"
#include "op/qconv2d.h"

#define CHANNELS 4  // at a time

typedef struct {
  const MEGCC_CTYPE(X) * x;  // of the first tap that lies in the image
  const int8_t *w;
  ptrdiff_t x_row, x_col, w_row, channels;  // elements from tap to tap
  int32_t rows, columns;                    // of the part of the window that lies in the image
  int32_t touching;                         // its columns, if they touch
  uint32_t minus;
} megcc_part;

typedef struct {
  uint32_t s[CHANNELS];
} megcc_sums;

// The sums with the products of four channels of a tap.
MEGCC_INLINE megcc_sums megcc_tap(megcc_sums v, const MEGCC_CTYPE(X) * x, const int8_t *w,
                                  uint32_t minus) {
  const uint32_t data = megcc_dsp_word(x), tap = megcc_dsp_word(w);
  const uint32_t x_even = megcc_dsp_even_from(minus, data), w_even = megcc_dsp_even(tap);
  const uint32_t x_odd = megcc_dsp_odd_from(minus, data), w_odd = megcc_dsp_odd(tap);
  v.s[0] = megcc_dsp_low(x_even, w_even, v.s[0]);
  v.s[1] = megcc_dsp_low(x_odd, w_odd, v.s[1]);
  v.s[2] = megcc_dsp_high(x_even, w_even, v.s[2]);
  v.s[3] = megcc_dsp_high(x_odd, w_odd, v.s[3]);
  return v;
}

#ifdef __OPTIMIZE__

// The instruction that widens data onto minus the zero point.
#define MEGCC_XTAB(X) MEGCC_CAT(MEGCC_XTAB_, X)
#define MEGCC_XTAB_i8 "sxtab16"
#define MEGCC_XTAB_u8 "uxtab16"
// One tap: data at x + `at`, weights at w + `at`.
#define MEGCC_ONE_TAP(at) \
  "ldr %[d], [%[x]" at "]\n\t"                             \
  "ldr %[t], [%[w]" at "]\n\t" MEGCC_XTAB(X)              \
  " %[e], %[minus], %[d]\n\t" MEGCC_XTAB(X)              \
  " %[d], %[minus], %[d], ror #8\n\t"                     \
  "sxtb16 %[f], %[t]\n\t"                                 \
  "sxtb16 %[t], %[t], ror #8\n\t"                         \
  "smlabb %[s0], %[e], %[f], %[s0]\n\t"                   \
  "smlabb %[s1], %[d], %[t], %[s1]\n\t"                   \
  "smlatt %[s2], %[e], %[f], %[s2]\n\t"                   \
  "smlatt %[s3], %[d], %[t], %[s3]\n\t"
#define MEGCC_TWO_TAPS MEGCC_ONE_TAP("") MEGCC_ONE_TAP(", %[c]")
#define MEGCC_THREE_TAPS MEGCC_TWO_TAPS MEGCC_ONE_TAP(", %[c], lsl #1")

// Taps of four channels that touch along a row: the compiler would keep half of this in memory.
// `c`: channels, which are the bytes from tap to tap. Twelve registers.
//
//   d e   data of a tap: channels 1 and 3, 0 and 2
//   t f   its weights, likewise
//   s0 s1 s2 s3   sums of the channels
#define MEGCC_TAPS(name, text)                                                            \
  MEGCC_INLINE megcc_sums name(megcc_sums v, const MEGCC_CTYPE(X) * x, const int8_t *w,   \
                               ptrdiff_t c, uint32_t minus) {                             \
    uint32_t d, e, t, f;                                                                  \
    __asm__(text                                                                          \
            : [s0] "+r"(v.s[0]), [s1] "+r"(v.s[1]), [s2] "+r"(v.s[2]), [s3] "+r"(v.s[3]), \
              [d] "=&r"(d), [e] "=&r"(e), [t] "=&r"(t), [f] "=&r"(f)                      \
            : [x] "r"(x), [w] "r"(w), [c] "r"(c), [minus] "r"(minus)                      \
            : "memory");                                                                  \
    return v;                                                                             \
  }
MEGCC_TAPS(megcc_two, MEGCC_TWO_TAPS)
MEGCC_TAPS(megcc_three, MEGCC_THREE_TAPS)

#else  // without optimisation compilers have no registers left

MEGCC_INLINE megcc_sums megcc_two(megcc_sums v, const MEGCC_CTYPE(X) * x, const int8_t *w,
                                  ptrdiff_t c, uint32_t minus) {
  v = megcc_tap(v, x, w, minus);
  return megcc_tap(v, x + c, w + c, minus);
}
MEGCC_INLINE megcc_sums megcc_three(megcc_sums v, const MEGCC_CTYPE(X) * x, const int8_t *w,
                                    ptrdiff_t c, uint32_t minus) {
  v = megcc_two(v, x, w, c, minus);
  return megcc_tap(v, x + 2 * c, w + 2 * c, minus);
}

#endif

// A 3x3 window inside the image.
MEGCC_INLINE megcc_sums megcc_nine(const megcc_part *p, megcc_sums v, const MEGCC_CTYPE(X) * x,
                                   const int8_t *w) {
  const ptrdiff_t c = p->channels, row = p->x_row;
  v = megcc_three(v, x, w, c, p->minus);
  v = megcc_three(v, x + row, w + 3 * c, c, p->minus);
  return megcc_three(v, x + 2 * row, w + 6 * c, c, p->minus);
}

// The products of all taps of four channels.
MEGCC_INLINE megcc_sums megcc_window_sums(const megcc_part *p, megcc_sums v,
                                          const MEGCC_CTYPE(X) * x, const int8_t *w) {
  const ptrdiff_t channels = p->channels, row = p->x_row;
  for (int32_t i = p->rows; i > 0; --i, x += row, w += p->w_row) {
    if (p->touching > 0) {
      int32_t j = p->touching;
      const MEGCC_CTYPE(X) *at = x;
      const int8_t *tap = w;
      for (; j >= 3; j -= 3, at += 3 * channels, tap += 3 * channels) {
        v = megcc_three(v, at, tap, channels, p->minus);
      }
      if (j == 2) v = megcc_two(v, at, tap, channels, p->minus);
      if (j == 1) v = megcc_tap(v, at, tap, p->minus);
    } else {
      for (int32_t j = 0; j < p->columns; ++j) {
        v = megcc_tap(v, x + j * p->x_col, w + j * channels, p->minus);
      }
    }
  }
  return v;
}

// Four channels at a time, from channel c to the last four; `nine`: of a window that is 3x3.
MEGCC_INLINE void megcc_fours(const megcc_part *p, const int32_t *bias, megcc_rescale rescale,
                              MEGCC_CTYPE(Y) * dst, int nine) {
  const MEGCC_CTYPE(X) *x = p->x;
  const int8_t *w = p->w;
  for (ptrdiff_t left = p->channels; left > 0;) {
    megcc_sums v;
    for (int k = 0; k < CHANNELS; ++k) v.s[k] = (uint32_t)bias[k];
    v = nine ? megcc_nine(p, v, x, w) : megcc_window_sums(p, v, x, w);
    for (int k = 0; k < CHANNELS; ++k) dst[k] = megcc_rescaled(&rescale, (int32_t)v.s[k], k);
    left -= CHANNELS;
    const ptrdiff_t next = left < CHANNELS ? left : CHANNELS;  // the last four end with the last
    x += next, w += next, bias += next, dst += next;
    if (SCALES) rescale.scale += next;
    if (OFFSET) rescale.offset += next;
  }
}

// One channel, where there are fewer than four; the lower half of `minus` is minus the zero point.
MEGCC_INLINE uint32_t megcc_single(const megcc_part *p, ptrdiff_t c, int32_t bias) {
  uint32_t sum = (uint32_t)bias;
  for (int32_t i = 0; i < p->rows; ++i) {
    for (int32_t j = 0; j < p->columns; ++j) {
      const int32_t x = p->x[i * p->x_row + j * p->x_col + c] + (int16_t)(p->minus & 0xffff);
      sum += (uint32_t)(x * p->w[i * p->w_row + j * p->channels + c]);
    }
  }
  return sum;
}

MEGCC_HOT static void megcc_pixel(const megcc_part *given, const int32_t *bias,
                                  const megcc_rescale *how, MEGCC_CTYPE(Y) * dst) {
  const megcc_part copy = *given, *p = &copy;  // which no store to Y changes
  const megcc_rescale rescale = *how;
  if (p->channels < CHANNELS) {
    for (int32_t c = 0; c < p->channels; ++c) {
      dst[c] = megcc_rescaled(&rescale, (int32_t)megcc_single(p, c, bias[c]), c);
    }
  } else if (p->rows == 3 && p->touching == 3 && p->w_row == 3 * p->channels) {
    megcc_fours(p, bias, rescale, dst, 1);
  } else {
    megcc_fours(p, bias, rescale, dst, 0);
  }
}

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  const MEGCC_CTYPE(X) *point = MEGCC_ZERO(ptr, 3);
  const int32_t h = attr[QCONV2D_H], w = attr[QCONV2D_W], c = attr[QCONV2D_IC];
  const int32_t oh = attr[QCONV2D_OH], ow = attr[QCONV2D_OW], kw = attr[QCONV2D_KW];
  const megcc_rescale rescale = megcc_rescale_of(ptr, 3, attr + QCONV2D_Y_ZERO);
  megcc_part p;
  (void)workspace;
  p.channels = c;
  p.x_row = (ptrdiff_t)attr[QCONV2D_DH] * w * c;
  p.x_col = (ptrdiff_t)attr[QCONV2D_DW] * c;
  p.w_row = (ptrdiff_t)kw * c;
  const int is_column = kw == 1 && p.x_row == c;  // of an image that has no other
  if (is_column) p.x_col = c;
  p.minus = megcc_dsp_minus(ZERO ? point[0] : attr[QCONV2D_X_ZERO]);
  for (int32_t row = begin; row < end; ++row) {
    const MEGCC_CTYPE(X) *image =
        (const MEGCC_CTYPE(X) *)ptr[0] + (ptrdiff_t)(row / oh) * h * w * c;
    const megcc_window_t v = megcc_window(row % oh, attr[QCONV2D_KH], attr[QCONV2D_SH],
                                          attr[QCONV2D_DH], h, attr[QCONV2D_PT], attr[QCONV2D_PB]);
    for (int32_t col = 0; col < ow; ++col) {
      const megcc_window_t u = megcc_window(col, kw, attr[QCONV2D_SW], attr[QCONV2D_DW], w,
                                            attr[QCONV2D_PL], attr[QCONV2D_PR]);
      p.rows = v.end - v.begin;
      p.columns = u.end - u.begin;
      if (is_column) p.columns = p.rows, p.rows = 1;
      p.touching = p.x_col == c ? p.columns : 0;
      p.x =
          image + ((ptrdiff_t)v.origin * w + u.origin) * c + v.begin * p.x_row + u.begin * p.x_col;
      p.w = (const int8_t *)ptr[1] + v.begin * p.w_row + (ptrdiff_t)u.begin * c;
      megcc_pixel(&p, ptr[2], &rescale,
                  (MEGCC_CTYPE(Y) *)MEGCC_QUANT_DST(ptr, 3) + ((ptrdiff_t)row * ow + col) * c);
    }
  }
}
