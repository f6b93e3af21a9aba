// kernel: dwqconv2d_mve
// like: dwqconv2d
// arch: cortexm
// isa: mve
// when: g == ic and oc == ic and w_zero == 0 and ic > 0 and kh * kw > 0
// rank: 60
// params: X=X Y=Y OUT=out ACT=act SCALES=channel_scales OFFSET=offset ZERO=zero_operand
//   NARROW=narrow
// pack: w=dw_blocks(lanes=CHANNELS) bias=qgemm_bias(flip=MEGCC_QGEMM_FLIP)
// let room = up(ic, CHANNELS)
// workspace: 4 * room + 4 * kh * kw + room + (4 * ic if zero_operand else 0)
// cost: ow * kh * kw * ceil(oc, CHANNELS)
//
// Depthwise, any kernel, stride, dilation and padding: 16 channels of a pixel at a time. A table
// has the addresses of the window's pixels; for those outside of the image there is a line of zero
// points, as what the zero point adds is in the bias. The last channels are those of 16 that end
// with them; fewer than 16 are computed as 16, of which that many are read and written.
#include "gemm/megcc_qgemm_mve.h"
#include "op/qconv2d.h"

#define CHANNELS 16  // at a time
#ifndef NARROW
#define NARROW 0
#endif

typedef struct {
  const MEGCC_CTYPE(X) * *tap;  // the pixels of the window
  const int8_t *w;
  const int32_t *bias;
  int32_t taps, channels;
  int32_t *sums;  // of a pixel
} megcc_part;

// clang-format off

// Unsigned data as signed, with a register that is free.
#define MEGCC_FLIPPED MEGCC_CAT(MEGCC_FLIPPED_, X)
#define MEGCC_FLIPPED_i8(free) ""
#define MEGCC_FLIPPED_u8(free) "vmov.i8 " free ", #128\n\tveor q6, q6, " free "\n\t"

// A tap, the address of whose channel 0 is the next of the table, and its products.
//
//   q0 q1 q2 q3   sums of channels 0 4 8 12, 1 5 9 13, 2 6 10 14, 3 7 11 15
//   q4 q5         products of even channels and of odd ones, in 16 bits
//   q6 q7         data and weights, then what is free
//   n             the address
#define MEGCC_TAP               \
  "ldr %[n], [%[tap]], #4\n\t"  \
  "vldrb.8 q7, [%[w]], #16\n\t" \
  "add %[n], %[c]\n\t"          \
  "vldrb.8 q6, [%[n]]\n\t"      \
  MEGCC_FLIPPED("q5")            \
  "vmullb.s8 q4, q6, q7\n\t"    \
  "vmullt.s8 q5, q6, q7\n\t"
// A tap whose products are added to those: two fit into 16 bits.
#define MEGCC_SECOND_TAP        \
  "ldr %[n], [%[tap]], #4\n\t"  \
  "add %[n], %[c]\n\t"          \
  "vldrb.8 q6, [%[n]]\n\t"      \
  MEGCC_FLIPPED("q7")            \
  "vldrb.8 q7, [%[w]]\n\t"      \
  "vmullt.s8 q7, q6, q7\n\t"    \
  "vadd.i16 q5, q5, q7\n\t"     \
  "vldrb.8 q7, [%[w]], #16\n\t" \
  "vmullb.s8 q7, q6, q7\n\t"    \
  "vadd.i16 q4, q4, q7\n\t"
// Products to the sums.
#define MEGCC_ADD             \
  "vmovlb.s16 q6, q4\n\t"     \
  "vmovlt.s16 q4, q4\n\t"     \
  "vadd.i32 q0, q0, q6\n\t"   \
  "vmovlb.s16 q7, q5\n\t"     \
  "vadd.i32 q2, q2, q4\n\t"   \
  "vmovlt.s16 q5, q5\n\t"     \
  "vadd.i32 q1, q1, q7\n\t"   \
  "vadd.i32 q3, q3, q5\n\t"
// Sixteen sums, from memory and to it, every fourth in a register.
#define MEGCC_FOUR(what, where)                    \
  what "0.32 {q0, q1, q2, q3}, [%[" where "]]\n\t" \
  what "1.32 {q0, q1, q2, q3}, [%[" where "]]\n\t" \
  what "2.32 {q0, q1, q2, q3}, [%[" where "]]\n\t" \
  what "3.32 {q0, q1, q2, q3}, [%[" where "]]\n\t"
// `turns` times `text`, then `last`.
#define MEGCC_TAPS(turns, text, last)                                             \
  __asm__ volatile(MEGCC_FOUR("vld4", "bias")                                     \
                   "wls lr, %[count], 2f\n"                                       \
                   "1:\n\t" text "le lr, 1b\n"                                    \
                   "2:\n\t" last MEGCC_FOUR("vst4", "to")                         \
                   : [tap] "+r"(tap), [w] "+r"(w), [n] "=&r"(n)                   \
                   : [bias] "r"(p->bias + c), [to] "r"(p->sums + c), [c] "r"(c),  \
                     [count] "r"(turns)                                           \
                   : "lr", "q0", "q1", "q2", "q3", "q4", "q5", "q6", "q7", "memory")

// clang-format on

// The sums of a pixel of at least 16 channels.
MEGCC_HOT static void megcc_pixel(const megcc_part *p) {
  const ptrdiff_t last = p->channels - CHANNELS;
  const int8_t *w = p->w;
  for (ptrdiff_t c = 0;;) {
    const MEGCC_CTYPE(X) **tap = p->tap, *n;
    if (!NARROW) {
      MEGCC_TAPS(p->taps, MEGCC_TAP MEGCC_ADD, "");
    } else if (p->taps % 2 != 0) {
      MEGCC_TAPS(p->taps / 2, MEGCC_TAP MEGCC_SECOND_TAP MEGCC_ADD, MEGCC_TAP MEGCC_ADD);
    } else {
      MEGCC_TAPS(p->taps / 2, MEGCC_TAP MEGCC_SECOND_TAP MEGCC_ADD, "");
    }
    if (c == last) return;
    c = c + CHANNELS < last ? c + CHANNELS : last;
  }
}

// The same of fewer channels.
MEGCC_HOT static void megcc_pixel_few(const megcc_part *p) {
  const mve_pred16_t some = vctp8q((uint32_t)p->channels);
  const int8_t *w = p->w;
  for (int32_t l = 0; l < p->channels; ++l) p->sums[l] = p->bias[l];
  int32x4x4_t s = vld4q_s32(p->sums);
  for (int32_t n = 0; n < p->taps; ++n, w += CHANNELS) {
    int8x16_t x = vldrbq_z_s8((const int8_t *)p->tap[n], some);
    if (MEGCC_IS_UNSIGNED(X)) x = veorq_s8(x, vdupq_n_s8(-128));
    const int8x16_t t = vldrbq_s8(w);
    const int16x8_t even = vmullbq_int_s8(x, t), odd = vmulltq_int_s8(x, t);
    s.val[0] = vaddq_s32(s.val[0], vmovlbq_s16(even));
    s.val[1] = vaddq_s32(s.val[1], vmovlbq_s16(odd));
    s.val[2] = vaddq_s32(s.val[2], vmovltq_s16(even));
    s.val[3] = vaddq_s32(s.val[3], vmovltq_s16(odd));
  }
  vst4q_s32(p->sums, s);
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
  const int32_t zero = ZERO ? point[0] : attr[QCONV2D_X_ZERO];
  const int32_t line = (c + CHANNELS - 1) / CHANNELS * CHANNELS;
  megcc_part p;
  p.sums = workspace;
  const MEGCC_CTYPE(X) **tap = (void *)((char *)workspace + 4 * (size_t)line);
  MEGCC_CTYPE(X) *none = (MEGCC_CTYPE(X) *)(tap + kh * kw);
  megcc_mve_fill((int8_t *)none, (int8_t)zero, line);
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
        megcc_pixel_few(&p);
      } else {
        megcc_pixel(&p);
      }
      megcc_mve_row(&rescale, p.sums, 0, c, dst);
    }
  }
}
