// Depthwise convolution of MEGCC_QDW_TALL output rows by one vector of channels, for megcc_qdw.h.
// Included once per height (no include guard).
//
// `x[s]` is a column of the input rows; the kernel covers DW_K of them, and a step along the rows
// replaces the STRIDE oldest ones. The loop has the step once for every rotation of the columns,
// and none moves. All indices are constants, all arrays registers.

#undef MEGCC_QDW_IN
#undef MEGCC_QDW_EACH_IN
#define MEGCC_QDW_IN ((MEGCC_QDW_TALL - 1) * STRIDE + DW_K)
#define MEGCC_QDW_I(i) ((i) < MEGCC_QDW_IN ? (i) : 0)
#define MEGCC_QDW_EACH_IN(M, slot)                                                   \
  M(0, slot) M(1, slot) M(2, slot) if (MEGCC_QDW_IN > 3) { M(MEGCC_QDW_I(3), slot) } \
  if (MEGCC_QDW_IN > 4) {                                                            \
    M(MEGCC_QDW_I(4), slot)                                                          \
  }

#ifndef MEGCC_QDW_ROWS_H
#define MEGCC_QDW_ROWS_H
#define MEGCC_QDW_OPEN(i, c) \
  step[i] = d->step[i];      \
  p[i] = d->at[i] + (step[i] ? (c) : 0);
#define MEGCC_QDW_LOAD(i, slot) x[slot][i] = MEGCC_Q8_DATA_MOVE(&p[i], step[i], zero);
#define MEGCC_QDW_NONE(i, slot) x[slot][i] = megcc_q8_none();
#define MEGCC_QDW_MOVE(i, slot) x[slot][i] = x[(slot) + STRIDE < DW_K ? (slot) + STRIDE : 0][i];
#define MEGCC_QDW_COLUMN(slot) MEGCC_QDW_EACH_IN(MEGCC_QDW_LOAD, (slot) % DW_K)
// A column that may lie in the padding.
#define MEGCC_QDW_EDGE(slot)                \
  if (col >= 0 && col < width) {            \
    MEGCC_QDW_EACH_IN(MEGCC_QDW_LOAD, slot) \
  } else {                                  \
    MEGCC_QDW_EACH_IN(MEGCC_QDW_NONE, slot) \
  }                                         \
  ++col;
// Taps of one kernel row, which is input row i of an output row.
#define MEGCC_QDW_TAP(r, i, j, slot)                                                 \
  s##r = megcc_q8_mla(s##r, x[((slot) + (j)) % DW_K][MEGCC_QDW_I((r)*STRIDE + (i))], \
                      taps[(i)*DW_K + (j)]);
#if DW_K == 3
#define MEGCC_QDW_TAPS(r, i, slot) \
  MEGCC_QDW_TAP(r, i, 0, slot) MEGCC_QDW_TAP(r, i, 1, slot) MEGCC_QDW_TAP(r, i, 2, slot)
#define MEGCC_QDW_SUM(r, slot) \
  MEGCC_QDW_TAPS(r, 0, slot) MEGCC_QDW_TAPS(r, 1, slot) MEGCC_QDW_TAPS(r, 2, slot)
#define MEGCC_QDW_FIRST \
  MEGCC_QDW_EDGE(0)     \
  if (STRIDE == 1) {    \
    MEGCC_QDW_EDGE(1)   \
  }
#define MEGCC_QDW_SHIFT                  \
  MEGCC_QDW_EACH_IN(MEGCC_QDW_MOVE, 0)   \
  if (STRIDE == 1) {                     \
    MEGCC_QDW_EACH_IN(MEGCC_QDW_MOVE, 1) \
  }
#define MEGCC_QDW_STEPS MEGCC_QDW_STEP(0) MEGCC_QDW_STEP(STRIDE % 3) MEGCC_QDW_STEP(2 * STRIDE % 3)
#else
#define MEGCC_QDW_TAPS(r, i, slot) \
  MEGCC_QDW_TAP(r, i, 0, slot)     \
  MEGCC_QDW_TAP(r, i, 1, slot)     \
  MEGCC_QDW_TAP(r, i, 2, slot) MEGCC_QDW_TAP(r, i, 3, slot) MEGCC_QDW_TAP(r, i, 4, slot)
#define MEGCC_QDW_SUM(r, slot) \
  MEGCC_QDW_TAPS(r, 0, slot)   \
  MEGCC_QDW_TAPS(r, 1, slot)   \
  MEGCC_QDW_TAPS(r, 2, slot) MEGCC_QDW_TAPS(r, 3, slot) MEGCC_QDW_TAPS(r, 4, slot)
#define MEGCC_QDW_FIRST \
  MEGCC_QDW_EDGE(0) MEGCC_QDW_EDGE(1) MEGCC_QDW_EDGE(2) if (STRIDE == 1) { MEGCC_QDW_EDGE(3) }
#define MEGCC_QDW_SHIFT                  \
  MEGCC_QDW_EACH_IN(MEGCC_QDW_MOVE, 0)   \
  MEGCC_QDW_EACH_IN(MEGCC_QDW_MOVE, 1)   \
  MEGCC_QDW_EACH_IN(MEGCC_QDW_MOVE, 2)   \
  if (STRIDE == 1) {                     \
    MEGCC_QDW_EACH_IN(MEGCC_QDW_MOVE, 3) \
  }
#define MEGCC_QDW_STEPS      \
  MEGCC_QDW_STEP(0)          \
  MEGCC_QDW_STEP(STRIDE % 5) \
  MEGCC_QDW_STEP(2 * STRIDE % 5) MEGCC_QDW_STEP(3 * STRIDE % 5) MEGCC_QDW_STEP(4 * STRIDE % 5)
#endif
// The output whose first column is x[slot].
#define MEGCC_QDW_OUT(slot)                             \
  {                                                     \
    megcc_q8s s0 = bias, s1 = bias;                     \
    MEGCC_QDW_SUM(0, slot)                              \
    if (MEGCC_QDW_TALL == 2) {                          \
      MEGCC_QDW_SUM(1, slot)                            \
      megcc_q8_store_pair(&rescale, s0, dst, s1, dst2); \
      dst2 += channels;                                 \
    } else {                                            \
      megcc_q8_store(&rescale, s0, dst);                \
      (void)s1;                                         \
    }                                                   \
    dst += channels;                                    \
  }
#define MEGCC_QDW_STEP(slot)                 \
  if (STRIDE == 2) {                         \
    MEGCC_QDW_COLUMN((slot) + DW_K - STRIDE) \
  }                                          \
  MEGCC_QDW_COLUMN((slot) + DW_K - 1)        \
  MEGCC_QDW_OUT(slot)
#define MEGCC_QDW_FIVE(M, n) M((n)) M((n) + 1) M((n) + 2) M((n) + 3) M((n) + 4)
#define MEGCC_QDW_LOAD_TAP(t) taps[t] = megcc_q8_weights(d->w + (t)*channels + c);
#if DW_K == 3
#define MEGCC_QDW_EACH_TAP(M) MEGCC_QDW_FIVE(M, 0) M(5) M(6) M(7) M(8)
#else
#define MEGCC_QDW_EACH_TAP(M) \
  MEGCC_QDW_FIVE(M, 0)        \
  MEGCC_QDW_FIVE(M, 5) MEGCC_QDW_FIVE(M, 10) MEGCC_QDW_FIVE(M, 15) MEGCC_QDW_FIVE(M, 20)
#endif
#endif

MEGCC_HOT static void MEGCC_QDW_NAME(MEGCC_QDW_TALL)(const megcc_qdw_t *d) {
  // Copies: a store of bytes may change everything that a pointer leads to.
  const ptrdiff_t channels = d->channels, last = channels - MEGCC_Q8_LANES;
  const int32_t width = d->width, outs = d->outs;
  const megcc_q8z zero = megcc_q8_zero(d->zero);
  for (ptrdiff_t c = 0;; c = c + MEGCC_Q8_LANES < last ? c + MEGCC_Q8_LANES : last) {
    const megcc_q8r rescale = megcc_q8_rescale(d->rescale, (int32_t)c);
    const megcc_q8s bias = megcc_q8_sums(d->bias + c);
    const MEGCC_CTYPE(X) * p[MEGCC_QDW_IN];
    ptrdiff_t step[MEGCC_QDW_IN];
    megcc_q8x x[DW_K][MEGCC_QDW_IN], taps[DW_K * DW_K];
    MEGCC_CTYPE(Y) *dst = d->dst + c, *dst2 = dst + d->out_row;
    int32_t col = -d->pads, fast, rest;
    (void)dst2;
    MEGCC_QDW_EACH_TAP(MEGCC_QDW_LOAD_TAP)
    MEGCC_QDW_EACH_IN(MEGCC_QDW_OPEN, c)
    MEGCC_QDW_FIRST
    // Outputs whose new columns all lie in the image, then those at its end.
    fast = col < width ? (width - col) / STRIDE : 0;
    fast = (fast < outs ? fast : outs) / DW_K;
    rest = outs - fast * DW_K;
    col += fast * DW_K * STRIDE;
    for (; fast > 0; --fast) {
      MEGCC_QDW_STEPS
    }
    for (; rest > 0; --rest) {
      if (STRIDE == 2) {
        MEGCC_QDW_EDGE(DW_K - STRIDE)
      }
      MEGCC_QDW_EDGE(DW_K - 1)
      MEGCC_QDW_OUT(0)
      MEGCC_QDW_SHIFT
    }
    if (c == last) return;
  }
}

#undef MEGCC_QDW_TALL
