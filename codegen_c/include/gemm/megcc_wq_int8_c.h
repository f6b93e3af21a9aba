// The products of megcc_matmul_wq_int8.h in plain C: columns side by side, as compilers make
// vectors of them.
#ifndef MEGCC_WQ_INT8_C_H
#define MEGCC_WQ_INT8_C_H

#define MEGCC_WQ8_KR 1
#define MEGCC_WQ8_MM 0
#define MEGCC_WQ8_FLIP 0
#define MEGCC_WQ8_SHIFT 0
#define MEGCC_WQ8_UNIT 16
#define MEGCC_WQ8_TILE 0
#define MEGCC_WQ8_WIDE 0

#include "gemm/megcc_wq_int8_rows.h"

typedef struct {
  int32_t v[MEGCC_WQ_COLS];
} megcc_wq8_sums;

MEGCC_INLINE megcc_wq8_sums megcc_wq8_start(const int8_t *zero, int32_t sum) {
  megcc_wq8_sums s;
  for (int32_t j = 0; j < MEGCC_WQ_COLS; ++j) s.v[j] = megcc_wq8_offset(zero, j) * sum;
  return s;
}

MEGCC_INLINE megcc_wq8_sums megcc_wq8_dot(megcc_wq8_sums s, const int8_t **weights,
                                          const int8_t **row, int32_t steps) {
  const int8_t *w = *weights, *x = *row;
  for (; steps > 0; --steps, x += MEGCC_WQ8_STEP) {
    for (int32_t half = 0; half < MEGCC_WQ_COLS; half += 8) {
      int32_t *v = s.v + half;
      for (int32_t i = 0; i < MEGCC_WQ8_STEP * BITS / 8; ++i, w += 8) {
#if BITS == 4
        for (int32_t j = 0; j < 8; ++j) {
          v[j] += x[i] * (((w[j] & 15) ^ 8) - 8) + x[8 + i] * (((w[j] >> 4 & 15) ^ 8) - 8);
        }
#else
        for (int32_t j = 0; j < 8; ++j) v[j] += x[i] * w[j];
#endif
      }
    }
  }
  *weights = w;
  *row = x;
  return s;
}

MEGCC_INLINE megcc_w16 megcc_wq8_floats(megcc_wq8_sums s) {
  float v[MEGCC_WQ_COLS];
  for (int32_t j = 0; j < MEGCC_WQ_COLS; ++j) v[j] = (float)s.v[j];
  return megcc_w16_load(v);
}

MEGCC_INLINE int32_t megcc_wq8_sixteen(int8_t *to, int32_t half, const megcc_elem_t *a,
                                       megcc_vf inverse) {
  float whole[MEGCC_WQ8_STEP];
  int32_t sum = 0;
  for (int32_t i = 0; i < MEGCC_WQ8_STEP; i += MEGCC_VL) {
    megcc_vf_lanes(whole + i, megcc_vf_round(megcc_vf_mul(megcc_vf_load(a + i), inverse)));
  }
  for (int32_t i = 0; i < 8; ++i) {
    to[i] = (int8_t)whole[i];
    to[half + i] = (int8_t)whole[8 + i];
    sum += to[i] + to[half + i];
  }
  return sum;
}

#endif  // MEGCC_WQ_INT8_C_H
