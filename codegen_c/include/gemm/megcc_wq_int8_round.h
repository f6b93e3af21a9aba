// megcc_wq8_round of megcc_wq_int8_rows.h for machines without a header that has its own.
#ifndef MEGCC_WQ_INT8_ROUND_H
#define MEGCC_WQ_INT8_ROUND_H

#include "gemm/megcc_wq_int8_rows.h"

// Up to 16 elements by `inverse` as 16 bytes, and their sum.
MEGCC_INLINE int32_t megcc_wq8_round(int8_t *to, const megcc_elem_t *a, int32_t n,
                                     megcc_vf inverse) {
  float whole[MEGCC_WQ8_STEP] = {0};
  int32_t sum = 0;
  for (int32_t i = 0; i < n; i += MEGCC_VL) {
    const int32_t lanes = n - i < MEGCC_VL ? n - i : MEGCC_VL;
    const megcc_vf v = lanes == MEGCC_VL ? megcc_vf_load(a + i) : megcc_vf_load_n(a + i, lanes);
    megcc_vf_lanes(whole + i, megcc_vf_round(megcc_vf_mul(v, inverse)));
  }
  for (int32_t i = 0; i < MEGCC_WQ8_STEP; ++i) {
    to[i] = (int8_t)whole[i];
    sum += to[i];
  }
  return sum;
}

#endif  // MEGCC_WQ_INT8_ROUND_H
