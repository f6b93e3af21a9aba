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
// zero point up to `length`; in words, two of each group, `step` from one group to the next. Gives
// the end of the run.
static uint32_t *megcc_q8_widen(uint32_t *to, size_t step, const MEGCC_CTYPE(X) * x, size_t before,
                                size_t count, size_t length, uint32_t minus) {
  const size_t end = before + count;
  size_t k = 0;
  if (before == 0) {
    for (; k + MEGCC_Q8_GROUP <= count; k += MEGCC_Q8_GROUP, to += step) {
      const uint32_t word = megcc_dsp_word(x + k);
      to[0] = megcc_dsp_even_from(minus, word);
      to[1] = megcc_dsp_odd_from(minus, word);
    }
  }
  for (; k < length; k += MEGCC_Q8_GROUP, to += step) {
    int32_t v[MEGCC_Q8_GROUP];
    for (size_t l = 0; l < MEGCC_Q8_GROUP; ++l) {
      const int inside = k + l >= before && k + l < end;
      v[l] = inside ? x[k + l - before] + (int16_t)(minus & 0xffff) : 0;
    }
    to[0] = ((uint32_t)v[0] & 0xffff) | (uint32_t)v[2] << 16;
    to[1] = ((uint32_t)v[1] & 0xffff) | (uint32_t)v[3] << 16;
  }
  return to;
}

// The rows and columns of a product: one line of `words` words, or two, a group of the second
// behind each of the first; panels of bytes; and where the first line's first column goes, `ld`
// elements before the second line's.
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

// Four k of two lines by two columns: 16 products are 8 smlad, 4 sxtb16 and 3 loads of two words.
#define MEGCC_Q8_STEP_TWO()                       \
  do {                                            \
    uint32_t a0, a1, b0, b1, first, second, even; \
    megcc_dsp_two_words(&a, &a0, &a1);            \
    megcc_dsp_two_words(&a, &b0, &b1);            \
    megcc_dsp_two_words(&w, &first, &second);     \
    even = megcc_dsp_even(first);                 \
    first = megcc_dsp_odd(first);                 \
    s00 = megcc_dsp_pairs(a0, even, s00);         \
    s10 = megcc_dsp_pairs(b0, even, s10);         \
    s00 = megcc_dsp_pairs(a1, first, s00);        \
    s10 = megcc_dsp_pairs(b1, first, s10);        \
    even = megcc_dsp_even(second);                \
    second = megcc_dsp_odd(second);               \
    s01 = megcc_dsp_pairs(a0, even, s01);         \
    s11 = megcc_dsp_pairs(b0, even, s11);         \
    s01 = megcc_dsp_pairs(a1, second, s01);       \
    s11 = megcc_dsp_pairs(b1, second, s11);       \
  } while (0)

// Moves a rescaling on to the channels after the next NR.
MEGCC_INLINE void megcc_q8_next(megcc_rescale *r) {
  if (SCALES) r->scale += NR;
  if (OFFSET) r->offset += NR;
}

// The rescaling of a product's first channel.
MEGCC_INLINE megcc_rescale megcc_q8_first(const megcc_q8_product *p) {
  megcc_rescale r = *p->rescale;
  if (SCALES) r.scale += p->channel;
  if (OFFSET) r.offset += p->channel;
  return r;
}

// Two lines by two columns, four accumulators.
MEGCC_HOT static void megcc_q8_two(const megcc_q8_product *given) {
  const megcc_q8_product copy = *given, *p = &copy;  // which no store to Y changes
  megcc_rescale rescale = megcc_q8_first(p);
  const uint32_t *w = (const uint32_t *)(const void *)p->panels;
  const int32_t *bias = p->bias;
  MEGCC_CTYPE(Y) *to = p->dst;
  for (int32_t left = p->columns; left > 0; left -= NR) {
    const uint32_t *a = p->line;
    uint32_t s00 = (uint32_t)bias[0], s01 = left > 1 ? (uint32_t)bias[1] : 0, s10 = s00, s11 = s01;
    size_t n = p->words;
    for (; n >= 4; n -= 4) {
      MEGCC_Q8_STEP_TWO();
      MEGCC_Q8_STEP_TWO();
    }
    if (n > 0) MEGCC_Q8_STEP_TWO();
    to[0] = megcc_rescaled(&rescale, (int32_t)s00, 0);
    to[p->ld] = megcc_rescaled(&rescale, (int32_t)s10, 0);
    if (left == 1) return;
    to[1] = megcc_rescaled(&rescale, (int32_t)s01, 1);
    to[p->ld + 1] = megcc_rescaled(&rescale, (int32_t)s11, 1);
    to += NR, bias += NR;
    megcc_q8_next(&rescale);
  }
}

// One line by two columns.
MEGCC_HOT static void megcc_q8_one(const megcc_q8_product *given) {
  const megcc_q8_product copy = *given, *p = &copy;
  megcc_rescale rescale = megcc_q8_first(p);
  const uint32_t *w = (const uint32_t *)(const void *)p->panels;
  const int32_t *bias = p->bias;
  MEGCC_CTYPE(Y) *to = p->dst;
  for (int32_t left = p->columns; left > 0; left -= NR) {
    const uint32_t *a = p->line, *end = a + p->words;
    uint32_t s0 = (uint32_t)bias[0], s1 = left > 1 ? (uint32_t)bias[1] : 0;
    while (a < end) {
      uint32_t a0, a1, first, second;
      megcc_dsp_two_words(&a, &a0, &a1);
      megcc_dsp_two_words(&w, &first, &second);
      s0 = megcc_dsp_pairs(a0, megcc_dsp_even(first), s0);
      s1 = megcc_dsp_pairs(a0, megcc_dsp_even(second), s1);
      s0 = megcc_dsp_pairs(a1, megcc_dsp_odd(first), s0);
      s1 = megcc_dsp_pairs(a1, megcc_dsp_odd(second), s1);
    }
    to[0] = megcc_rescaled(&rescale, (int32_t)s0, 0);
    if (left == 1) return;
    to[1] = megcc_rescaled(&rescale, (int32_t)s1, 1);
    to += NR, bias += NR;
    megcc_q8_next(&rescale);
  }
}

#endif  // MEGCC_QGEMM_DSP_H
