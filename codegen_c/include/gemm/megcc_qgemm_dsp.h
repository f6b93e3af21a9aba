// Products of 8-bit integers by smlad, two in an instruction: the inner part of qconv2d and qmatmul
// on Cortex-M with the DSP extension.
//
// Data is widened once, less its zero point, into lines of 16 bits, in the order in which
// megcc_q8_dsp.h widens a word; weights stay bytes and are widened as they are multiplied. A line
// is a number of runs, each a multiple of MEGCC_Q8_GROUP long: zeros behind what it holds. Weights
// are packed in panels of NR columns (packing.py, qgemm_panels and qmatmul_panels): of every run
// four k of a column, columns side by side.
#ifndef MEGCC_QGEMM_DSP_H
#define MEGCC_QGEMM_DSP_H

#include "simd/megcc_q8_dsp.h"

#define NR 2              // columns of a panel
#define MEGCC_Q8_GROUP 4  // k that a word of weights holds

MEGCC_INLINE size_t megcc_q8_room(size_t length) {
  return (length + MEGCC_Q8_GROUP - 1) / MEGCC_Q8_GROUP * MEGCC_Q8_GROUP;
}

// A run of a line: `before` elements of which the zero point is, `count` from x on, and again the
// zero point up to `length`; in words, two of each group. Gives the end of the run.
static uint32_t *megcc_q8_widen(uint32_t *to, const MEGCC_CTYPE(X) * x, size_t before, size_t count,
                                size_t length, uint32_t minus) {
  const size_t end = before + count;
  for (size_t k = 0; k < length; k += MEGCC_Q8_GROUP, to += 2) {
    if (k >= before && k + MEGCC_Q8_GROUP <= end) {
      const uint32_t word = megcc_dsp_word(x + (k - before));
      to[0] = megcc_dsp_even_from(minus, word);
      to[1] = megcc_dsp_odd_from(minus, word);
    } else {
      int32_t v[MEGCC_Q8_GROUP];
      for (size_t l = 0; l < MEGCC_Q8_GROUP; ++l) {
        const int inside = k + l >= before && k + l < end;
        v[l] = inside ? x[k + l - before] + (int16_t)(minus & 0xffff) : 0;
      }
      to[0] = ((uint32_t)v[0] & 0xffff) | (uint32_t)v[2] << 16;
      to[1] = ((uint32_t)v[1] & 0xffff) | (uint32_t)v[3] << 16;
    }
  }
  return to;
}

// The rows and columns of a product: `lines` lines of `words` words, panels of bytes, and where the
// first line's first column goes, `ld` elements before the next line's.
typedef struct {
  const uint32_t *line;
  size_t words;
  const int8_t *panels;
  const int32_t *bias;
  int32_t columns, channel;  // columns, and the number of the first among the channels
  const megcc_rescale *rescale;
  MEGCC_CTYPE(Y) * dst;
  size_t ld;
} megcc_q8_product;

// Two lines by two columns, four accumulators: 16 products are 8 smlad, 4 sxtb16 and loads of six
// words.
MEGCC_HOT static void megcc_q8_two(const megcc_q8_product *given) {
  const megcc_q8_product copy = *given, *p = &copy;  // which no store to Y changes
  const megcc_rescale rescale = *p->rescale;
  const int8_t *w = p->panels;
  for (int32_t c = 0; c < p->columns; c += NR) {
    const uint32_t *a = p->line, *b = p->line + p->words, *end = b;
    const int32_t other = c + 1 < p->columns ? c + 1 : c;
    uint32_t s00 = (uint32_t)p->bias[c], s01 = (uint32_t)p->bias[other], s10 = s00, s11 = s01;
    for (; a < end; a += 2, b += 2, w += 8) {
      const uint32_t a0 = a[0], a1 = a[1], b0 = b[0], b1 = b[1];
      const uint32_t first = megcc_dsp_word(w), second = megcc_dsp_word(w + 4);
      uint32_t even = megcc_dsp_even(first), odd = megcc_dsp_odd(first);
      s00 = megcc_dsp_pairs(a0, even, s00);
      s10 = megcc_dsp_pairs(b0, even, s10);
      s00 = megcc_dsp_pairs(a1, odd, s00);
      s10 = megcc_dsp_pairs(b1, odd, s10);
      even = megcc_dsp_even(second), odd = megcc_dsp_odd(second);
      s01 = megcc_dsp_pairs(a0, even, s01);
      s11 = megcc_dsp_pairs(b0, even, s11);
      s01 = megcc_dsp_pairs(a1, odd, s01);
      s11 = megcc_dsp_pairs(b1, odd, s11);
    }
    MEGCC_CTYPE(Y) *to = p->dst + c;
    const int32_t channel = p->channel + c;
    to[0] = megcc_rescaled(&rescale, (int32_t)s00, channel);
    to[p->ld] = megcc_rescaled(&rescale, (int32_t)s10, channel);
    if (other == c) continue;
    to[1] = megcc_rescaled(&rescale, (int32_t)s01, channel + 1);
    to[p->ld + 1] = megcc_rescaled(&rescale, (int32_t)s11, channel + 1);
  }
}

// One line by two columns.
MEGCC_HOT static void megcc_q8_one(const megcc_q8_product *given) {
  const megcc_q8_product copy = *given, *p = &copy;
  const megcc_rescale rescale = *p->rescale;
  const int8_t *w = p->panels;
  for (int32_t c = 0; c < p->columns; c += NR) {
    const uint32_t *a = p->line, *end = a + p->words;
    const int32_t other = c + 1 < p->columns ? c + 1 : c;
    uint32_t s0 = (uint32_t)p->bias[c], s1 = (uint32_t)p->bias[other];
    for (; a < end; a += 2, w += 8) {
      const uint32_t a0 = a[0], a1 = a[1];
      const uint32_t first = megcc_dsp_word(w), second = megcc_dsp_word(w + 4);
      s0 = megcc_dsp_pairs(a0, megcc_dsp_even(first), s0);
      s1 = megcc_dsp_pairs(a0, megcc_dsp_even(second), s1);
      s0 = megcc_dsp_pairs(a1, megcc_dsp_odd(first), s0);
      s1 = megcc_dsp_pairs(a1, megcc_dsp_odd(second), s1);
    }
    p->dst[c] = megcc_rescaled(&rescale, (int32_t)s0, p->channel + c);
    if (other != c) p->dst[c + 1] = megcc_rescaled(&rescale, (int32_t)s1, p->channel + c + 1);
  }
}

#endif  // MEGCC_QGEMM_DSP_H
