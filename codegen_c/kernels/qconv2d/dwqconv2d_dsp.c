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
  uint32_t minus;
} megcc_part;

MEGCC_INLINE void megcc_four(const megcc_part *p, ptrdiff_t c, const int32_t *bias,
                             const megcc_rescale *rescale, MEGCC_CTYPE(Y) * dst) {
  uint32_t s0 = (uint32_t)bias[c], s1 = (uint32_t)bias[c + 1];
  uint32_t s2 = (uint32_t)bias[c + 2], s3 = (uint32_t)bias[c + 3];
  const MEGCC_CTYPE(X) *x_row = p->x + c;
  const int8_t *w_row = p->w + c;
  for (int32_t i = p->rows; i > 0; --i, x_row += p->x_row, w_row += p->w_row) {
    const MEGCC_CTYPE(X) *x = x_row;
    const int8_t *w = w_row;
    for (int32_t j = p->columns; j > 0; --j, x += p->x_col, w += p->channels) {
      const uint32_t data = megcc_dsp_word(x), tap = megcc_dsp_word(w);
      const uint32_t x_even = megcc_dsp_even_from(p->minus, data), w_even = megcc_dsp_even(tap);
      const uint32_t x_odd = megcc_dsp_odd_from(p->minus, data), w_odd = megcc_dsp_odd(tap);
      s0 = megcc_dsp_low(x_even, w_even, s0);
      s1 = megcc_dsp_low(x_odd, w_odd, s1);
      s2 = megcc_dsp_high(x_even, w_even, s2);
      s3 = megcc_dsp_high(x_odd, w_odd, s3);
    }
  }
  dst[c] = megcc_rescaled(rescale, (int32_t)s0, (int32_t)c);
  dst[c + 1] = megcc_rescaled(rescale, (int32_t)s1, (int32_t)c + 1);
  dst[c + 2] = megcc_rescaled(rescale, (int32_t)s2, (int32_t)c + 2);
  dst[c + 3] = megcc_rescaled(rescale, (int32_t)s3, (int32_t)c + 3);
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
  const megcc_rescale own = *how, *rescale = &own;
  const ptrdiff_t last = p->channels - CHANNELS;
  for (ptrdiff_t c = 0; last >= 0 && c < p->channels; c += CHANNELS) {
    megcc_four(p, c < last ? c : last, bias, rescale, dst);
  }
  for (ptrdiff_t c = 0; last < 0 && c < p->channels; ++c) {
    dst[c] = megcc_rescaled(rescale, (int32_t)megcc_single(p, c, bias[c]), (int32_t)c);
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
  p.minus = megcc_dsp_minus(ZERO ? point[0] : attr[QCONV2D_X_ZERO]);
  for (int32_t row = begin; row < end; ++row) {
    const MEGCC_CTYPE(X) *image =
        (const MEGCC_CTYPE(X) *)ptr[0] + (ptrdiff_t)(row / oh) * h * w * c;
    const megcc_window_t v = megcc_window(row % oh, attr[QCONV2D_KH], attr[QCONV2D_SH],
                                          attr[QCONV2D_DH], h, attr[QCONV2D_PT], attr[QCONV2D_PB]);
    p.rows = v.end - v.begin;
    for (int32_t col = 0; col < ow; ++col) {
      const megcc_window_t u = megcc_window(col, kw, attr[QCONV2D_SW], attr[QCONV2D_DW], w,
                                            attr[QCONV2D_PL], attr[QCONV2D_PR]);
      p.columns = u.end - u.begin;
      p.x =
          image + ((ptrdiff_t)v.origin * w + u.origin) * c + v.begin * p.x_row + u.begin * p.x_col;
      p.w = (const int8_t *)ptr[1] + v.begin * p.w_row + (ptrdiff_t)u.begin * c;
      megcc_pixel(&p, ptr[2], &rescale,
                  (MEGCC_CTYPE(Y) *)MEGCC_QUANT_DST(ptr, 3) + ((ptrdiff_t)row * ow + col) * c);
    }
  }
}
