// Columns of megcc_qdw_rows.h as they suit every machine: the vectors of the input rows, widened,
// the zero point subtracted. Outside of the image they are 0; weights are [KH * KW][C].
#ifndef MEGCC_QDW_WIDENED_H
#define MEGCC_QDW_WIDENED_H

// A loop would keep the arrays in memory.
#define MEGCC_QDW_FIVE(M, n) M((n)) M((n) + 1) M((n) + 2) M((n) + 3) M((n) + 4)
#if DW_K == 3
#define MEGCC_QDW_EACH_TAP(M) MEGCC_QDW_FIVE(M, 0) M(5) M(6) M(7) M(8)
#else
#define MEGCC_QDW_EACH_TAP(M) \
  MEGCC_QDW_FIVE(M, 0)        \
  MEGCC_QDW_FIVE(M, 5) MEGCC_QDW_FIVE(M, 10) MEGCC_QDW_FIVE(M, 15) MEGCC_QDW_FIVE(M, 20)
#endif
#define MEGCC_QDW_LOAD_TAP(t) taps[t] = megcc_q8_weights(w + (t)*channels + c, w_zero);
#define MEGCC_QDW_BEGIN                                                             \
  const megcc_q8z zero = megcc_q8_zero(d->zero), w_zero = megcc_q8_zero(d->w_zero); \
  const megcc_q8s bias = megcc_q8_sums(d->bias + c);                                \
  megcc_q8x x[DW_K][MEGCC_QDW_IN], taps[DW_K * DW_K];                               \
  MEGCC_QDW_EACH_TAP(MEGCC_QDW_LOAD_TAP)

#define MEGCC_QDW_EACH_IN(M, slot, from) \
  do {                                   \
    M(0, slot, from);                    \
    M(1, slot, from);                    \
    M(2, slot, from);                    \
    if (MEGCC_QDW_IN > 3) {              \
      M(MEGCC_QDW_I(3), slot, from);     \
    }                                    \
    if (MEGCC_QDW_IN > 4) {              \
      M(MEGCC_QDW_I(4), slot, from);     \
    }                                    \
  } while (0)
#define MEGCC_QDW_LOAD_(i, slot, _) x[slot][i] = MEGCC_Q8_DATA_MOVE(&p[i], step[i], zero)
#define MEGCC_QDW_NONE_(i, slot, _) x[slot][i] = megcc_q8_none()
#define MEGCC_QDW_MOVE_(i, slot, from) x[slot][i] = x[from][i]
#define MEGCC_QDW_COLUMN(slot) MEGCC_QDW_EACH_IN(MEGCC_QDW_LOAD_, slot, 0)
#define MEGCC_QDW_OUTSIDE(slot) MEGCC_QDW_EACH_IN(MEGCC_QDW_NONE_, slot, 0)
#define MEGCC_QDW_MOVE(slot, from) MEGCC_QDW_EACH_IN(MEGCC_QDW_MOVE_, slot, from)

// The taps of one kernel row, which is input row i of the first output row.
#define MEGCC_QDW_TAP(r, i, j, slot)                                                 \
  s##r = megcc_q8_mla(s##r, x[((slot) + (j)) % DW_K][MEGCC_QDW_I((r)*STRIDE + (i))], \
                      taps[(i)*DW_K + (j)])
#define MEGCC_QDW_TAPS(r, i, slot)         \
  do {                                     \
    MEGCC_QDW_TAP(r, i, 0, slot);          \
    MEGCC_QDW_TAP(r, i, 1, slot);          \
    MEGCC_QDW_TAP(r, i, 2, slot);          \
    if (DW_K == 5) {                       \
      MEGCC_QDW_TAP(r, i, 3 % DW_K, slot); \
      MEGCC_QDW_TAP(r, i, 4 % DW_K, slot); \
    }                                      \
  } while (0)
#define MEGCC_QDW_SUM(r, slot)           \
  do {                                   \
    MEGCC_QDW_TAPS(r, 0, slot);          \
    MEGCC_QDW_TAPS(r, 1, slot);          \
    MEGCC_QDW_TAPS(r, 2, slot);          \
    if (DW_K == 5) {                     \
      MEGCC_QDW_TAPS(r, 3 % DW_K, slot); \
      MEGCC_QDW_TAPS(r, 4 % DW_K, slot); \
    }                                    \
  } while (0)

#endif  // MEGCC_QDW_WIDENED_H
