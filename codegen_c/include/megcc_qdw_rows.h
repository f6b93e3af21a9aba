// Depthwise convolution of MEGCC_QDW_TALL output rows by one vector of channels, for megcc_qdw.h.
// Included once per height (no include guard).
//
// `x[s]` is a column of the input rows; the kernel covers DW_K of them, and a step along the rows
// replaces the STRIDE oldest ones. The loop has the step once for every rotation of the columns,
// and none moves. All indices are constants, all arrays registers.

#undef MEGCC_QDW_IN
#define MEGCC_QDW_IN ((MEGCC_QDW_TALL - 1) * STRIDE + DW_K)  // input rows
#define MEGCC_QDW_I(i) ((i) < MEGCC_QDW_IN ? (i) : 0)

#ifndef MEGCC_QDW_ROWS_H
#define MEGCC_QDW_ROWS_H
#define MEGCC_QDW_OPEN(i)           \
  if ((i) < MEGCC_QDW_IN) {         \
    MEGCC_QDW_OPEN_(MEGCC_QDW_I(i)) \
  }
#define MEGCC_QDW_OPEN_(i) \
  step[i] = d->step[i];    \
  p[i] = d->at[i] + (step[i] ? c : 0);
// A column that may lie in the padding.
#define MEGCC_QDW_EDGE(slot)       \
  do {                             \
    if (col >= 0 && col < width) { \
      MEGCC_QDW_COLUMN(slot);      \
    } else {                       \
      MEGCC_QDW_OUTSIDE(slot);     \
    }                              \
    ++col;                         \
  } while (0)
#define MEGCC_QDW_NEXT(slot) ((slot) + STRIDE < DW_K ? (slot) + STRIDE : 0)
// The output whose first column is x[slot].
#define MEGCC_QDW_OUT(slot)                             \
  {                                                     \
    megcc_q8s s0 = bias, s1 = bias;                     \
    MEGCC_QDW_SUM(0, slot);                             \
    if (MEGCC_QDW_TALL == 2) {                          \
      MEGCC_QDW_SUM(1, slot);                           \
      megcc_q8_store_pair(&rescale, s0, dst, s1, dst2); \
      dst2 += channels;                                 \
    } else {                                            \
      megcc_q8_store(&rescale, s0, dst);                \
      (void)s1;                                         \
    }                                                   \
    dst += channels;                                    \
  }
#define MEGCC_QDW_STEP(slot)                           \
  if (STRIDE == 2) {                                   \
    MEGCC_QDW_COLUMN(((slot) + DW_K - STRIDE) % DW_K); \
  }                                                    \
  MEGCC_QDW_COLUMN(((slot) + DW_K - 1) % DW_K);        \
  MEGCC_QDW_OUT((slot) % DW_K)
#endif

MEGCC_HOT static void MEGCC_QDW_NAME(MEGCC_QDW_TALL)(const megcc_qdw_t *d) {
  // Copies: a store of bytes may change everything that a pointer leads to.
  const ptrdiff_t channels = d->channels, last = channels - MEGCC_Q8_LANES;
  const int32_t width = d->width, outs = d->outs;
  const int8_t *w = d->w;
  const megcc_rescale how = *d->rescale;
  megcc_q8r rescale = megcc_q8_rescale(&how);
  for (ptrdiff_t c = 0;; c = c + MEGCC_Q8_LANES < last ? c + MEGCC_Q8_LANES : last) {
    const MEGCC_CTYPE(X) * p[MEGCC_QDW_IN];
    ptrdiff_t step[MEGCC_QDW_IN];
    MEGCC_CTYPE(Y) *dst = d->dst + c, *dst2 = dst + d->out_row;
    int32_t col = -d->pads, fast, rest;
    (void)dst2;
    megcc_q8_channels(&rescale, &how, (int32_t)c);
    MEGCC_QDW_BEGIN
    MEGCC_QDW_OPEN(0)
    MEGCC_QDW_OPEN(1)
    MEGCC_QDW_OPEN(2)
    MEGCC_QDW_OPEN(3)
    MEGCC_QDW_OPEN(4)
    MEGCC_QDW_EDGE(0);
    if (DW_K - STRIDE > 1) MEGCC_QDW_EDGE(1);
    if (DW_K - STRIDE > 2) MEGCC_QDW_EDGE(2);
    if (DW_K - STRIDE > 3) MEGCC_QDW_EDGE(3 % DW_K);
    // Outputs whose new columns all lie in the image, then those at its end.
    fast = col < width ? (width - col) / STRIDE : 0;
    fast = (fast < outs ? fast : outs) / DW_K;
    rest = outs - fast * DW_K;
    col += fast * DW_K * STRIDE;
    for (; fast > 0; --fast) {
      MEGCC_QDW_STEP(0)
      MEGCC_QDW_STEP(STRIDE)
      MEGCC_QDW_STEP(2 * STRIDE)
#if DW_K == 5
      MEGCC_QDW_STEP(3 * STRIDE)
      MEGCC_QDW_STEP(4 * STRIDE)
#endif
    }
    for (; rest > 0; --rest) {
      if (STRIDE == 2) MEGCC_QDW_EDGE(DW_K - STRIDE);
      MEGCC_QDW_EDGE(DW_K - 1);
      MEGCC_QDW_OUT(0)
      MEGCC_QDW_MOVE(0, MEGCC_QDW_NEXT(0));
      MEGCC_QDW_MOVE(1, MEGCC_QDW_NEXT(1));
#if DW_K == 5
      MEGCC_QDW_MOVE(2, MEGCC_QDW_NEXT(2));
      MEGCC_QDW_MOVE(3, MEGCC_QDW_NEXT(3));
#endif
    }
    if (c == last) return;
  }
}

#undef MEGCC_QDW_TALL
