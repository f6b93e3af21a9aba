// Pixels of a depthwise convolution of 8-bit integers: any kernel, stride, dilation and padding,
// and any number of outputs for an input channel.
//
// One vector of output channels after another sums its taps over MEGCC_QDW_PIXELS pixels of a row,
// where none of their windows is cut, else over one pixel, whose window is cut to the image first.
// The last channels that fill no vector are those of a whole one that ends with them; of fewer
// channels than a vector has, the sums are plain. Machines with few registers sum four channels of
// a pixel, and prepare their scales once for a row; with Thumb-2 they sum whole 3x3 windows of a
// channel along a row. Weights are [KH * KW][OC] (packing.py, dw_taps).
//
// The including kernel defines what megcc_q8.h wants, and MULTIPLIER: 1, or another number where
// OC is a multiple of IC.
#ifndef MEGCC_QDW_PIXEL_H
#define MEGCC_QDW_PIXEL_H

#include "megcc_few_registers.h"
#include "megcc_requant_channel.h"
#include "megcc_thumb2.h"
#include "megcc_unroll.h"
#include "megcc_window.h"
#include "op/qconv2d.h"
#include "simd/megcc_q8.h"

#define MEGCC_QDW_PIXELS 4
#define MEGCC_QDW_NINES (MEGCC_FEW_REGISTERS && MEGCC_THUMB2 && MULTIPLIER == 1)

typedef struct {
  megcc_window_t v, u;           // rows and columns of the window that lie in the image
  const MEGCC_CTYPE(X) * pixel;  // the image's pixel under tap (0, 0); may point outside
  const int8_t *w;
  const int32_t *bias;
  MEGCC_CTYPE(Y) * dst;
  ptrdiff_t row_step, col_step;  // elements from tap to tap
  ptrdiff_t across;              // and from an output column's window to the next one's
  ptrdiff_t channels, multiplier;
  int32_t kw, zero, w_zero;
  megcc_rescale rescale;
} megcc_qdw_pixel_t;

// The input channels of the output channels from c on, whose pixel begins at `p`.
MEGCC_INLINE megcc_q8x megcc_qdw_data(const megcc_qdw_pixel_t *d, const MEGCC_CTYPE(X) * p,
                                      ptrdiff_t c, megcc_q8z zero) {
  if (MULTIPLIER == 1) return MEGCC_Q8_DATA(p + c, zero);
  MEGCC_CTYPE(X) lanes[MEGCC_Q8_LANES];
  for (int l = 0; l < MEGCC_Q8_LANES; ++l) lanes[l] = p[(c + l) / d->multiplier];
  return MEGCC_Q8_DATA(lanes, zero);
}

// One vector of channels of `count` pixels, one of them or MEGCC_QDW_PIXELS.
MEGCC_INLINE void megcc_qdw_vector(const megcc_qdw_pixel_t *d, ptrdiff_t c, int count) {
  megcc_q8r rescale = megcc_q8_rescale(&d->rescale);
  const megcc_q8z zero = megcc_q8_zero(d->zero), w_zero = megcc_q8_zero(d->w_zero);
  MEGCC_CTYPE(Y) *dst = d->dst + c;
  megcc_q8s s0 = megcc_q8_sums(d->bias + c), s1 = s0, s2 = s0, s3 = s0;
  megcc_q8_channels(&rescale, &d->rescale, (int32_t)c);
  for (int32_t i = d->v.begin; i < d->v.end; ++i) {
    const MEGCC_CTYPE(X) *x = d->pixel + i * d->row_step + d->u.begin * d->col_step;
    const int8_t *w = d->w + ((ptrdiff_t)i * d->kw + d->u.begin) * d->channels + c;
    for (int32_t j = d->u.begin; j < d->u.end; ++j, x += d->col_step, w += d->channels) {
      const megcc_q8x tap = megcc_q8_weights(w, w_zero);
      s0 = megcc_q8_mla(s0, megcc_qdw_data(d, x, c, zero), tap);
      if (count > 1) {
        s1 = megcc_q8_mla(s1, megcc_qdw_data(d, x + d->across, c, zero), tap);
        s2 = megcc_q8_mla(s2, megcc_qdw_data(d, x + 2 * d->across, c, zero), tap);
        s3 = megcc_q8_mla(s3, megcc_qdw_data(d, x + 3 * d->across, c, zero), tap);
      }
    }
  }
  if (count > 1) {
    megcc_q8_store_pair(&rescale, s0, dst, s1, dst + d->channels);
    megcc_q8_store_pair(&rescale, s2, dst + 2 * d->channels, s3, dst + 3 * d->channels);
  } else {
    megcc_q8_store(&rescale, s0, dst);
  }
}

// One channel of one pixel, where channels fill no vector.
MEGCC_INLINE void megcc_qdw_scalar(const megcc_qdw_pixel_t *d, ptrdiff_t c) {
  uint32_t sum = (uint32_t)d->bias[c];
  for (int32_t i = d->v.begin; i < d->v.end; ++i) {
    for (int32_t j = d->u.begin; j < d->u.end; ++j) {
      const int32_t x = d->pixel[i * d->row_step + j * d->col_step + c / d->multiplier];
      const int32_t w = d->w[((ptrdiff_t)i * d->kw + j) * d->channels + c];
      sum += (uint32_t)((x - d->zero) * (w - d->w_zero));
    }
  }
  d->dst[c] = megcc_rescaled(&d->rescale, (int32_t)sum, (int32_t)c);
}

#if MEGCC_FEW_REGISTERS
// The row's columns, by their windows; megcc_qdw_nine sums those from `first` to `stop`.
typedef struct {
  int32_t outs, stride, dilation, width, before, after;
  int32_t first, stop;
} megcc_qdw_columns_t;

#if MEGCC_QDW_NINES
#define MEGCC_QDW_SUMS 16  // pixels at once, at most

// Pixels of one channel, whose windows are 3x3 and not cut; the assembly knows the fields' places.
typedef struct {
  const MEGCC_CTYPE(X) * x;
  ptrdiff_t col_step, row_step, across;
  const int8_t *w;
  ptrdiff_t w_step;
  int32_t bias, zero;
  int32_t *sums;
  int32_t count;  // at least 1
} megcc_qdw_nine_t;

#define MEGCC_QDW_NINE_MLA(at, w) \
  MEGCC_THUMB2_LOAD(X) " r12, [" at "]\n\tmla r3, r12, " w ", r3\n\t"

// Sums of nine taps, whose weights stay in registers: 30 instructions for each. The zero point is
// taken from the bias.
//
//   r0 r1      data of the pixel, step from column to column
//   r2 r3      sums, the one that grows
//   r4 to r11  weights of taps 0 to 7
//   r12 lr     a number; the row, weight 8
//   sp         + 0: weight 8, + 4: the bias, + 8: row_step, + 12: across, + 16: where r2 ends
MEGCC_NAKED static void megcc_qdw_nine(const megcc_qdw_nine_t *v MEGCC_UNUSED) {
  __asm__(
      "push {r4-r11, lr}\n\t"
      "sub sp, #20\n\t"
      "ldrd r2, r3, [r0, #16]\n\t"
      "ldrsb r4, [r2]\n\t"
      "ldrsb r5, [r2, r3]\n\t"
      "ldrsb r6, [r2, r3, lsl #1]\n\t"
      "add r2, r3\n\t"
      "add r2, r2, r3, lsl #1\n\t"
      "ldrsb r7, [r2]\n\t"
      "ldrsb r8, [r2, r3]\n\t"
      "ldrsb r9, [r2, r3, lsl #1]\n\t"
      "add r2, r3\n\t"
      "add r2, r2, r3, lsl #1\n\t"
      "ldrsb r10, [r2]\n\t"
      "ldrsb r11, [r2, r3]\n\t"
      "ldrsb lr, [r2, r3, lsl #1]\n\t"
      "str lr, [sp]\n\t"
      "add r12, r4, r5\n\t"
      "add r12, r6\n\t"
      "add r12, r7\n\t"
      "add r12, r8\n\t"
      "add r12, r9\n\t"
      "add r12, r10\n\t"
      "add r12, r11\n\t"
      "add r12, lr\n\t"
      "ldrd r2, r3, [r0, #24]\n\t"
      "mls r2, r3, r12, r2\n\t"
      "str r2, [sp, #4]\n\t"
      "ldrd r2, r3, [r0, #8]\n\t"
      "strd r2, r3, [sp, #8]\n\t"
      "ldrd r2, r3, [r0, #32]\n\t"
      "add r3, r2, r3, lsl #2\n\t"
      "str r3, [sp, #16]\n\t"
      "ldrd r0, r1, [r0]\n\t"
      "1:\n\t"
      "ldr r3, [sp, #4]\n\t"
      MEGCC_QDW_NINE_MLA("r0", "r4")
      MEGCC_QDW_NINE_MLA("r0, r1", "r5")
      MEGCC_QDW_NINE_MLA("r0, r1, lsl #1", "r6")
      "ldr lr, [sp, #8]\n\t"
      "add lr, r0\n\t"
      MEGCC_QDW_NINE_MLA("lr", "r7")
      MEGCC_QDW_NINE_MLA("lr, r1", "r8")
      MEGCC_QDW_NINE_MLA("lr, r1, lsl #1", "r9")
      "ldr r12, [sp, #8]\n\t"
      "add lr, r12\n\t"
      MEGCC_QDW_NINE_MLA("lr", "r10")
      MEGCC_QDW_NINE_MLA("lr, r1", "r11")
      MEGCC_THUMB2_LOAD(X) " r12, [lr, r1, lsl #1]\n\t"
      "ldr lr, [sp]\n\t"
      "mla r3, r12, lr, r3\n\t"
      "str r3, [r2], #4\n\t"
      "ldr r12, [sp, #12]\n\t"
      "add r0, r12\n\t"
      "ldr r12, [sp, #16]\n\t"
      "cmp r2, r12\n\t"
      "bne 1b\n\t"
      "add sp, #20\n\t"
      "pop {r4-r11, pc}\n\t");
}

// The columns from `first` to `stop` of channel c, whose scale is `how`.
MEGCC_INLINE void megcc_qdw_nines(const megcc_qdw_pixel_t *d, const megcc_qdw_columns_t *cols,
                                  ptrdiff_t c, const megcc_rescale *rescale,
                                  const megcc_channel_t *how) {
  const megcc_channel_t channel = *how;
  const int32_t start = megcc_channel_start(rescale);
  const ptrdiff_t step = d->channels;
  MEGCC_CTYPE(Y) *dst = d->dst + cols->first * step + c;
  int32_t sums[MEGCC_QDW_SUMS];
  megcc_qdw_nine_t v;
  v.x = d->pixel + cols->first * d->across + c;
  v.col_step = d->col_step, v.row_step = d->row_step, v.across = d->across;
  v.w = d->w + c;
  v.w_step = step;
  v.bias = d->bias[c], v.zero = d->zero;
  v.sums = sums;
  for (int32_t left = cols->stop - cols->first; left > 0; left -= v.count) {
    v.count = left < MEGCC_QDW_SUMS ? left : MEGCC_QDW_SUMS;
    megcc_qdw_nine(&v);
    v.x += v.count * v.across;
    for (const int32_t *sum = sums; sum < sums + v.count; ++sum, dst += step) {
      *dst = megcc_channel_rescaled(&channel, rescale, start, *sum, (int32_t)c);
    }
  }
}
#endif

// Four output channels along a row, whose weights have no zero point, of as many input channels or,
// `one`, of one.
MEGCC_INLINE void megcc_qdw_four(const megcc_qdw_pixel_t *d, const megcc_qdw_columns_t *cols,
                                 ptrdiff_t c, int one) {
  const megcc_rescale rescale = d->rescale;
  const int32_t *bias = d->bias + c, zero = d->zero, kw = d->kw;
  const int32_t start = megcc_channel_start(&rescale);
  const ptrdiff_t x_step = d->col_step, w_step = d->channels;
  const MEGCC_CTYPE(X) *pixel = d->pixel + (one ? c / d->multiplier : c);
  MEGCC_CTYPE(Y) *dst = d->dst + c;
  megcc_channel_t how[4];
  MEGCC_UNROLL(1)
  for (int32_t k = 0; k < 4; ++k) {
    const size_t taps = (size_t)(d->v.end - d->v.begin) * (size_t)kw;
    how[k] = megcc_channel(&rescale, (int32_t)c + k, bias[k], taps);
  }
#if MEGCC_QDW_NINES
  for (int32_t k = 0; k < 4 && cols->first < cols->stop; ++k) {
    megcc_qdw_nines(d, cols, c + k, &rescale, &how[k]);
  }
#endif
  for (int32_t col = 0; col < cols->outs; ++col, pixel += d->across, dst += w_step) {
    if (MEGCC_QDW_NINES && col == cols->first) {
      const int32_t done = cols->stop - col;
      col += done, pixel += done * d->across, dst += done * w_step;
      if (col == cols->outs) break;
    }
    const megcc_window_t u =
        megcc_window(col, kw, cols->stride, cols->dilation, cols->width, cols->before, cols->after);
    uint32_t s0 = (uint32_t)bias[0], s1 = (uint32_t)bias[1];
    uint32_t s2 = (uint32_t)bias[2], s3 = (uint32_t)bias[3];
    for (int32_t i = d->v.begin; i < d->v.end; ++i) {
      const MEGCC_CTYPE(X) *x = pixel + (i * d->row_step + u.begin * x_step);
      const int8_t *w = d->w + (((ptrdiff_t)i * kw + u.begin) * w_step + c);
      for (int32_t j = u.end - u.begin; j > 0; --j, x += x_step, w += w_step) {
        const int32_t n = x[0] - zero;
        s0 += (uint32_t)(n * w[0]);
        s1 += (uint32_t)((one ? n : x[1] - zero) * w[1]);
        s2 += (uint32_t)((one ? n : x[2] - zero) * w[2]);
        s3 += (uint32_t)((one ? n : x[3] - zero) * w[3]);
      }
    }
    const uint32_t sums[4] = {s0, s1, s2, s3};
    MEGCC_UNROLL(1)
    for (int32_t k = 0; k < 4; ++k) {
      const int32_t sum = (int32_t)sums[k];
      dst[k] = megcc_channel_rescaled(&how[k], &rescale, start, sum, (int32_t)c + k);
    }
  }
}

// The channels of a row, four at a time; the last ones are those of four that end with them.
MEGCC_HOT static void megcc_qdw_fours(const megcc_qdw_pixel_t *given,
                                      const megcc_qdw_columns_t *cols) {
  const megcc_qdw_pixel_t copy = *given, *d = &copy;  // which no store to Y changes
  const ptrdiff_t last = d->channels - 4;
  for (ptrdiff_t c = 0; c < d->channels; c += 4) {
    megcc_qdw_four(d, cols, c < last ? c : last, MULTIPLIER != 1);
  }
}

// All channels of a pixel.
MEGCC_INLINE void megcc_qdw_channels(const megcc_qdw_pixel_t *d, int count) {
  (void)count;
  for (ptrdiff_t c = 0; c < d->channels; ++c) megcc_qdw_scalar(d, c);
}
#else
// All channels of `count` pixels.
MEGCC_HOT static void megcc_qdw_channels(const megcc_qdw_pixel_t *d, int count) {
  const ptrdiff_t last = d->channels - MEGCC_Q8_LANES;
  if (last < 0) {
    for (ptrdiff_t c = 0; c < d->channels; ++c) megcc_qdw_scalar(d, c);
    return;
  }
  for (ptrdiff_t c = 0; c < d->channels; c += MEGCC_Q8_LANES) {
    const ptrdiff_t from = c < last ? c : last;
    if (count > 1) {
      megcc_qdw_vector(d, from, MEGCC_QDW_PIXELS);
    } else {
      megcc_qdw_vector(d, from, 1);
    }
  }
}

#endif

// The fields that all pixels share.
MEGCC_INLINE megcc_qdw_pixel_t megcc_qdw_pixel_setup(void *const *ptr, const int32_t *attr) {
  const MEGCC_CTYPE(X) *point = MEGCC_ZERO(ptr, 3);
  const megcc_rescale rescale = megcc_rescale_of(ptr, 3, attr + QCONV2D_Y_ZERO);
  megcc_qdw_pixel_t d;
  d.w = ptr[1];
  d.bias = ptr[2];
  d.channels = attr[QCONV2D_OC];
  d.multiplier = attr[QCONV2D_OC] / attr[QCONV2D_IC];
  d.row_step = (ptrdiff_t)attr[QCONV2D_DH] * attr[QCONV2D_W] * attr[QCONV2D_IC];
  d.col_step = (ptrdiff_t)attr[QCONV2D_DW] * attr[QCONV2D_IC];
  d.across = (ptrdiff_t)attr[QCONV2D_SW] * attr[QCONV2D_IC];
  d.kw = attr[QCONV2D_KW];
  d.zero = ZERO ? point[0] : attr[QCONV2D_X_ZERO];
  d.w_zero = attr[QCONV2D_W_ZERO];
  d.rescale = rescale;
  return d;
}

// Output row `row` of n * oh.
MEGCC_INLINE void megcc_qdw_pixels(megcc_qdw_pixel_t *d, void *const *ptr, const int32_t *attr,
                                   int32_t row) {
  const int32_t h = attr[QCONV2D_H], w = attr[QCONV2D_W], ic = attr[QCONV2D_IC];
  const int32_t oh = attr[QCONV2D_OH], ow = attr[QCONV2D_OW], kw = attr[QCONV2D_KW];
  const int32_t sw = attr[QCONV2D_SW], wide = (kw - 1) * attr[QCONV2D_DW];
  const MEGCC_CTYPE(X) *image = (const MEGCC_CTYPE(X) *)ptr[0] + (ptrdiff_t)(row / oh) * h * w * ic;
  d->v = megcc_window(row % oh, attr[QCONV2D_KH], attr[QCONV2D_SH], attr[QCONV2D_DH], h,
                      attr[QCONV2D_PT], attr[QCONV2D_PB]);
#if MEGCC_FEW_REGISTERS
  const int fours =
      d->w_zero == 0 && d->channels >= 4 && (MULTIPLIER == 1 || d->multiplier % 4 == 0);
  if (fours) {
    megcc_qdw_columns_t cols = {ow, sw, attr[QCONV2D_DW], w, attr[QCONV2D_PL], attr[QCONV2D_PR],
                                0,  0};
    if (MEGCC_QDW_NINES && kw == 3 && attr[QCONV2D_KH] == 3 && d->v.end - d->v.begin == 3) {
      const int32_t whole = w + cols.before - wide;  // places of windows that end in the image
      const int32_t stop = whole > 0 ? (whole + sw - 1) / sw : 0;
      cols.first = (cols.before + sw - 1) / sw;
      cols.stop = stop < ow ? stop : ow;
      if (cols.stop < cols.first) cols.stop = cols.first;
    }
    d->pixel = image + ((ptrdiff_t)d->v.origin * w - cols.before) * ic;
    d->dst = (MEGCC_CTYPE(Y) *)MEGCC_QUANT_DST(ptr, 3) + (ptrdiff_t)row * ow * d->channels;
    megcc_qdw_fours(d, &cols);
    return;
  }
#endif
  for (int32_t col = 0; col < ow;) {
    d->u = megcc_window(col, kw, sw, attr[QCONV2D_DW], w, attr[QCONV2D_PL], attr[QCONV2D_PR]);
    const int32_t last = d->u.origin + (MEGCC_QDW_PIXELS - 1) * sw + wide;
    const int whole = !MEGCC_FEW_REGISTERS && d->u.origin >= 0 && last < w &&
                      col + MEGCC_QDW_PIXELS <= ow && d->channels >= MEGCC_Q8_LANES;
    d->pixel = image + ((ptrdiff_t)d->v.origin * w + d->u.origin) * ic;
    d->dst = (MEGCC_CTYPE(Y) *)MEGCC_QUANT_DST(ptr, 3) + ((ptrdiff_t)row * ow + col) * d->channels;
    megcc_qdw_channels(d, whole ? MEGCC_QDW_PIXELS : 1);
    col += whole ? MEGCC_QDW_PIXELS : 1;
  }
}

// Output rows [begin, end) of n * oh.
MEGCC_INLINE void megcc_qdw_by_pixels(void *const *ptr, const int32_t *attr, int32_t begin,
                                      int32_t end) {
  megcc_qdw_pixel_t d = megcc_qdw_pixel_setup(ptr, attr);
  for (int32_t row = begin; row < end; ++row) {
    megcc_qdw_pixels(&d, ptr, attr, row);
  }
}

#endif  // MEGCC_QDW_PIXEL_H
