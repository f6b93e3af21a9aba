// megcc_wq8_round of megcc_wq_int8_rows.h, from the 16 at a time of a machine's header that defines
// MEGCC_WQ8_SIXTEEN, or in vectors of any machine.
#ifndef MEGCC_WQ_INT8_ROUND_H
#define MEGCC_WQ_INT8_ROUND_H

#include "gemm/megcc_wq_int8_rows.h"

#ifdef MEGCC_WQ8_SIXTEEN
MEGCC_INLINE int32_t megcc_wq8_round(int8_t *to, const megcc_elem_t *a, int32_t n,
                                     megcc_vf inverse) {
  if (n < MEGCC_WQ8_STEP) {
    megcc_elem_t some[MEGCC_WQ8_STEP] = {0};
    for (int32_t i = 0; i < n; ++i) some[i] = a[i];
    return megcc_wq8_sixteen(to, some, inverse);
  }
  return megcc_wq8_sixteen(to, a, inverse);
}
#else
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
#endif

#endif  // MEGCC_WQ_INT8_ROUND_H
