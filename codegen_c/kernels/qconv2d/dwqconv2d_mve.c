// kernel: dwqconv2d_mve
// like: dwqconv2d
// arch: cortexm
// isa: mve
// when: g == ic and oc == ic and w_zero == 0 and ic > 0 and kh * kw > 0
// rank: 60
// params: X=X Y=Y OUT=out ACT=act SCALES=channel_scales OFFSET=offset ZERO=zero_operand
//   NARROW=narrow
// pack: w=dw_blocks(lanes=CHANNELS) bias=qgemm_bias(flip=1)
// let room = up(kh * kw, 2)
// workspace: 4 * room + up(ic, CHANNELS) + (4 * ic if zero_operand else 0)
// cost: ow * kh * kw * ceil(oc, CHANNELS)
//
// Depthwise, any kernel, stride, dilation and padding: 16 channels of a pixel at a time. A table has
// the addresses of the window's pixels; for those outside of the image there is a line of zero
// points, as what the zero point adds is in the bias. The last channels are those of 16 that end
// with them; fewer than 16 are computed as 16, of which that many are read and written.
#include "gemm/megcc_qgemm_mve.h"
#include "megcc_window.h"
#include "op/qconv2d.h"

#define CHANNELS 16  // at a time
#ifndef NARROW
#define NARROW 0
#endif

typedef struct {
  const MEGCC_CTYPE(X) * *tap;  // the pixels of the window, behind them perhaps one more
  const int8_t *w;
  const int32_t *bias;
  int32_t taps, channels;
} megcc_part;


// Bytes of a pixel as signed ones.
MEGCC_INLINE int8x16_t megcc_data(const MEGCC_CTYPE(X) * x, mve_pred16_t p, int whole) {
  int8x16_t v = whole ? vldrbq_s8((const int8_t *)x) : vldrbq_z_s8((const int8_t *)x, p);
  if (MEGCC_IS_UNSIGNED(X)) v = veorq_s8(v, vdupq_n_s8(-128));
  return v;
}

// The sums of 16 channels from c on, in the order of megcc_mve_narrow.
MEGCC_INLINE int32x4x4_t megcc_block(const megcc_part *p, const int8_t *w, int32x4x4_t s,
                                     ptrdiff_t c, mve_pred16_t some, int whole) {
  const MEGCC_CTYPE(X) *const *tap = (const MEGCC_CTYPE(X) *const *)p->tap;
  int32x4_t a = s.val[0], b = s.val[1], d = s.val[2], e = s.val[3];
  int32_t n = p->taps;
  if (NARROW) {
    for (; n > 0; n -= 2, tap += 2, w += 2 * CHANNELS) {
      int8x16_t x = megcc_data(tap[0] + c, some, whole), t = vldrbq_s8(w);
      int16x8_t even = vmullbq_int_s8(x, t), odd = vmulltq_int_s8(x, t);
      x = megcc_data(tap[1] + c, some, whole), t = vldrbq_s8(w + CHANNELS);
      even = vaddq_s16(even, vmullbq_int_s8(x, t));
      odd = vaddq_s16(odd, vmulltq_int_s8(x, t));
      a = vaddq_s32(a, vmovlbq_s16(even)), d = vaddq_s32(d, vmovltq_s16(even));
      b = vaddq_s32(b, vmovlbq_s16(odd)), e = vaddq_s32(e, vmovltq_s16(odd));
    }
  } else {
    for (; n > 0; n -= 1, tap += 1, w += CHANNELS) {
      const int8x16_t x = megcc_data(tap[0] + c, some, whole), t = vldrbq_s8(w);
      const int16x8_t even = vmullbq_int_s8(x, t), odd = vmulltq_int_s8(x, t);
      a = vaddq_s32(a, vmovlbq_s16(even)), d = vaddq_s32(d, vmovltq_s16(even));
      b = vaddq_s32(b, vmovlbq_s16(odd)), e = vaddq_s32(e, vmovltq_s16(odd));
    }
  }
  s.val[0] = a, s.val[1] = b, s.val[2] = d, s.val[3] = e;
  return s;
}

// 16 sums as elements of the output.
MEGCC_INLINE void megcc_block_store(const megcc_rescale *r, int32x4x4_t s, ptrdiff_t c,
                                    MEGCC_CTYPE(Y) * dst) {
#if MEGCC_MVE_STORES
  vstrbq_u8((uint8_t *)dst, megcc_mve_sixteen(r, s, c));
#else
  int32_t sums[CHANNELS];
  vst4q_s32(sums, s);
  for (int32_t l = 0; l < CHANNELS; ++l) dst[l] = megcc_rescaled(r, sums[l], (int32_t)c + l);
#endif
}

// A pixel of at least 16 channels.
MEGCC_HOT static void megcc_pixel(const megcc_part *given, const megcc_rescale *how,
                                  MEGCC_CTYPE(Y) * dst) {
  const megcc_part copy = *given, *p = &copy;  // which no store to Y changes
  const megcc_rescale rescale = *how;
  const ptrdiff_t block = (ptrdiff_t)((p->taps + 1) / 2 * 2) * CHANNELS, last = p->channels - CHANNELS;
  const int8_t *w = p->w;
  for (ptrdiff_t c = 0;;) {
    const int32x4x4_t s = megcc_block(p, w, vld4q_s32(p->bias + c), c, 0, 1);
    megcc_block_store(&rescale, s, c, dst + c);
    if (c == last) return;
    c = c + CHANNELS < last ? c + CHANNELS : last;
    w += block;
  }
}

// A pixel of fewer channels.
MEGCC_HOT static void megcc_pixel_few(const megcc_part *given, const megcc_rescale *how,
                                      MEGCC_CTYPE(Y) * dst) {
  const megcc_part copy = *given, *p = &copy;
  int32_t sums[CHANNELS] = {0};
  for (int32_t l = 0; l < p->channels; ++l) sums[l] = p->bias[l];
  vst4q_s32(sums, megcc_block(p, p->w, vld4q_s32(sums), 0, vctp8q((uint32_t)p->channels), 0));
  megcc_mve_row(how, sums, 0, p->channels, dst);
}

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  const MEGCC_CTYPE(X) *point = MEGCC_ZERO(ptr, 3);
  const int32_t h = attr[QCONV2D_H], w = attr[QCONV2D_W], c = attr[QCONV2D_IC];
  const int32_t oh = attr[QCONV2D_OH], ow = attr[QCONV2D_OW];
  const int32_t kh = attr[QCONV2D_KH], kw = attr[QCONV2D_KW];
  const int32_t dh = attr[QCONV2D_DH], dw = attr[QCONV2D_DW];
  const int32_t sh = attr[QCONV2D_SH], sw = attr[QCONV2D_SW];
  const megcc_rescale rescale = megcc_rescale_of(ptr, 3, attr + QCONV2D_Y_ZERO);
  const int32_t zero = ZERO ? point[0] : attr[QCONV2D_X_ZERO], room = (kh * kw + 1) / 2 * 2;
  megcc_part p;
  const MEGCC_CTYPE(X) **tap = workspace;
  MEGCC_CTYPE(X) *none = (MEGCC_CTYPE(X) *)(tap + room);
  const int32_t line = (c + CHANNELS - 1) / CHANNELS * CHANNELS;
  megcc_mve_fill((int8_t *)none, (int8_t)zero, line);
  tap[room - 1] = none;
  p.tap = tap, p.w = ptr[1], p.taps = kh * kw, p.channels = c;
  p.bias = megcc_mve_bias(ptr[2], c, point, (int32_t *)(void *)(none + line));
  for (int32_t row = begin; row < end; ++row) {
    const MEGCC_CTYPE(X) *image =
        (const MEGCC_CTYPE(X) *)ptr[0] + (ptrdiff_t)(row / oh) * h * w * c;
    MEGCC_CTYPE(Y) *dst = (MEGCC_CTYPE(Y) *)MEGCC_QUANT_DST(ptr, 3) + (ptrdiff_t)row * ow * c;
    const int32_t top = row % oh * sh - attr[QCONV2D_PT];
    int moves = 0;  // whether the last window was inside of the image's columns
    for (int32_t col = 0; col < ow; ++col, dst += c) {
      const int32_t left = col * sw - attr[QCONV2D_PL];
      const int inside = left >= 0 && left + (kw - 1) * dw < w;
      if (inside && moves) {
        for (int32_t t = 0; t < kh * kw; ++t) {
          if (tap[t] != none) tap[t] += (ptrdiff_t)sw * c;
        }
      } else {
        const MEGCC_CTYPE(X) **to = tap;
        for (int32_t i = 0, y = top; i < kh; ++i, y += dh) {
          const MEGCC_CTYPE(X) *pixel = image + ((ptrdiff_t)y * w + left) * c;
          const int in_rows = y >= 0 && y < h;
          for (int32_t j = 0, x = left; j < kw; ++j, x += dw, pixel += (ptrdiff_t)dw * c) {
            *to++ = in_rows && x >= 0 && x < w ? pixel : none;
          }
        }
      }
      moves = inside;
      if (c < CHANNELS) {
        megcc_pixel_few(&p, &rescale, dst);
      } else {
        megcc_pixel(&p, &rescale, dst);
      }
    }
  }
}
