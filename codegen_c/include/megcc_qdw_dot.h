// Columns of megcc_qdw_rows.h for arm64's dot products, 3x3: the four bytes of a lane are the taps
// of a column, one below the other, so that a product with four weights is three taps' sum.
//
// Of the bytes of four input rows two vectors of four channels are made by transposing. At stride 1
// they serve two output rows: with the weights (w0, w1, w2, 0), and one byte on for the second one.
// Unsigned data is flipped (x ^ 0x80 is x - 128); the zero point and the 128 are in the bias
// (packing.py, qgemm_bias), so columns in the padding are zero points. Weights are
// [C / 8][column][C % 8][4] (packing.py, dw_columns); the last block ends with the last channel.
#ifndef MEGCC_QDW_DOT_H
#define MEGCC_QDW_DOT_H

#include <arm_neon.h>

#define MEGCC_QDW_LD(i) megcc_qdw_bytes(&p[i], step[i])
MEGCC_INLINE int8x16_t megcc_qdw_bytes(const MEGCC_CTYPE(X) * *p, ptrdiff_t bytes) {
  const MEGCC_CTYPE(X)(*from)[8] = (const MEGCC_CTYPE(X)(*)[8]) * p;
  int8x16_t v;
  __asm__(MEGCC_Q8_LD1 : "=w"(v), "+r"(*p) : "r"(bytes), "m"(*from));
  return v;
}

// The bytes of two rows side by side, signed.
MEGCC_INLINE int16x8_t megcc_qdw_rows_zip(int8x16_t above, int8x16_t below) {
  const int8x16_t both = vzip1q_s8(above, below);
  return vreinterpretq_s16_s8(MEGCC_IS_UNSIGNED(X) ? veorq_s8(both, vdupq_n_s8(-128)) : both);
}

MEGCC_INLINE megcc_q8s megcc_qdw_bias(const megcc_qdw_t *d, ptrdiff_t c) {
  megcc_q8s s = megcc_q8_sums(d->bias + c);
  if (ZERO) {  // the sums of the weights stand behind the bias
    const megcc_q8s of_weights = megcc_q8_sums(d->bias + d->channels + c);
    const int32_t zero = d->zero - 128 * MEGCC_IS_UNSIGNED(X);
    s.a = vmlsq_n_s32(s.a, of_weights.a, zero);
    s.b = vmlsq_n_s32(s.b, of_weights.b, zero);
  }
  return s;
}

// Vectors of a column: those of the second output row are the first one's at stride 1.
#define MEGCC_QDW_PART(r) (STRIDE == 2 ? 2 * (r) : 0)
#define MEGCC_QDW_LOAD_TAP(t)          \
  taps[0][t] = vld1q_s8(w + 16 * (t)); \
  taps[1][t] = vreinterpretq_s8_s32(vshlq_n_s32(vreinterpretq_s32_s8(taps[0][t]), 8));
#define MEGCC_QDW_BEGIN                                                                 \
  const int8x16_t outside = vdupq_n_s8((int8_t)(d->zero - 128 * MEGCC_IS_UNSIGNED(X))); \
  const megcc_q8s bias = megcc_qdw_bias(d, c);                                          \
  int8x16_t taps[2][6];                                                                 \
  int16x8_t x[3][4];                                                                    \
  MEGCC_QDW_LOAD_TAP(0)                                                                 \
  MEGCC_QDW_LOAD_TAP(1)                                                                 \
  MEGCC_QDW_LOAD_TAP(2)                                                                 \
  MEGCC_QDW_LOAD_TAP(3)                                                                 \
  MEGCC_QDW_LOAD_TAP(4)                                                                 \
  MEGCC_QDW_LOAD_TAP(5)                                                                 \
  w += 96;

#define MEGCC_QDW_COLUMN(slot)                                                        \
  do {                                                                                \
    const int8x16_t r0 = MEGCC_QDW_LD(0), r1 = MEGCC_QDW_LD(1), r2 = MEGCC_QDW_LD(2); \
    const int8x16_t r3 = MEGCC_QDW_IN > 3 ? MEGCC_QDW_LD(MEGCC_QDW_I(3)) : r2;        \
    const int16x8_t ab = megcc_qdw_rows_zip(r0, r1), cd = megcc_qdw_rows_zip(r2, r3); \
    x[slot][0] = vzip1q_s16(ab, cd);                                                  \
    x[slot][1] = vzip2q_s16(ab, cd);                                                  \
    if (MEGCC_QDW_IN == 5) {                                                          \
      const int8x16_t r4 = MEGCC_QDW_LD(MEGCC_QDW_I(4));                              \
      const int16x8_t ee = megcc_qdw_rows_zip(r4, r4);                                \
      x[slot][2] = vzip1q_s16(cd, ee);                                                \
      x[slot][3] = vzip2q_s16(cd, ee);                                                \
    }                                                                                 \
  } while (0)
#define MEGCC_QDW_OUTSIDE(slot)                                  \
  do {                                                           \
    x[slot][0] = x[slot][1] = vreinterpretq_s16_s8(outside);     \
    if (MEGCC_QDW_IN == 5) x[slot][2] = x[slot][3] = x[slot][0]; \
  } while (0)
#define MEGCC_QDW_MOVE(slot, from) \
  do {                             \
    x[slot][0] = x[from][0];       \
    x[slot][1] = x[from][1];       \
    if (MEGCC_QDW_IN == 5) {       \
      x[slot][2] = x[from][2];     \
      x[slot][3] = x[from][3];     \
    }                              \
  } while (0)

#define MEGCC_QDW_DOT_(sum, r, j, half, slot)                                                   \
  sum = vdotq_s32(sum, vreinterpretq_s8_s16(x[((slot) + (j)) % 3][MEGCC_QDW_PART(r) + (half)]), \
                  taps[STRIDE == 1 ? (r) : 0][2 * (j) + (half)])
#define MEGCC_QDW_SUM(r, slot)             \
  do {                                     \
    MEGCC_QDW_DOT_(s##r.a, r, 0, 0, slot); \
    MEGCC_QDW_DOT_(s##r.b, r, 0, 1, slot); \
    MEGCC_QDW_DOT_(s##r.a, r, 1, 0, slot); \
    MEGCC_QDW_DOT_(s##r.b, r, 1, 1, slot); \
    MEGCC_QDW_DOT_(s##r.a, r, 2, 0, slot); \
    MEGCC_QDW_DOT_(s##r.b, r, 2, 1, slot); \
  } while (0)

#endif  // MEGCC_QDW_DOT_H
