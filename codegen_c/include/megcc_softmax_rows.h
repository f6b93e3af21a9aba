// The body of the softmax kernels along contiguous rows. LOG: its logarithm.
#ifndef MEGCC_SOFTMAX_ROWS_H
#define MEGCC_SOFTMAX_ROWS_H

#include "megcc_elem.h"
#include "math/megcc_math.h"
#include "math/megcc_vmath.h"
#include "op/softmax.h"

#ifndef LOG
#define LOG 0
#endif

MEGCC_INLINE float megcc_softmax_rows_row_max(const megcc_elem_t *x, int32_t n) {
  float most = -MEGCC_INFINITY;
  int32_t i = 0;
  if (n >= MEGCC_VL) {
    megcc_vf m = megcc_vf_load(x + n - MEGCC_VL);
    for (; i + MEGCC_VL <= n; i += MEGCC_VL) m = megcc_vf_max(m, megcc_vf_load(x + i));
    return megcc_vf_hmax(m);
  }
  for (; i < n; ++i) most = megcc_elem_f32(x[i]) > most ? megcc_elem_f32(x[i]) : most;
  return most;
}

// The sum of exp(x - shift); `y`, when there is one, gets the terms. Lanes behind the end are
// cleared by storing what is wanted and loading it again.
MEGCC_INLINE float megcc_softmax_rows_row_exp(const megcc_elem_t *x, megcc_elem_t *y, int32_t n,
                                              float shift) {
  const megcc_vf s = megcc_vf_dup(shift);
  megcc_vf sum = megcc_vf_zero();
  int32_t i = 0;
  for (; i + MEGCC_VL <= n; i += MEGCC_VL) {
    const megcc_vf e = megcc_vf_exp(megcc_vf_sub(megcc_vf_load(x + i), s));
    if (y) megcc_vf_store(y + i, e);
    sum = megcc_vf_add(sum, e);
  }
  if (i < n) {
    float tail[MEGCC_VL];
    const megcc_vf e = megcc_vf_exp(megcc_vf_sub(megcc_vf_load_n(x + i, n - i), s));
    megcc_vf_lanes(tail, e);
    if (y) megcc_vf_store_n(y + i, e, n - i);
    sum = megcc_vf_add(sum, megcc_vf_of(tail, n - i));
  }
  return megcc_vf_sum(sum);
}

MEGCC_INLINE megcc_vf megcc_softmax_rows_finish(megcc_vf v, megcc_vf most, megcc_vf k) {
  (void)most;
  return LOG ? megcc_vf_sub(megcc_vf_sub(v, most), k) : megcc_vf_mul(v, k);
}

MEGCC_INLINE void megcc_softmax_rows(void *const *ptr, const int32_t *attr, int32_t begin,
                                     int32_t end) {
  const int32_t n = attr[SOFTMAX_AXIS];
  for (int32_t row = begin; row < end; ++row) {
    const megcc_elem_t *x = (const megcc_elem_t *)ptr[0] + (size_t)row * (size_t)n;
    megcc_elem_t *y = (megcc_elem_t *)ptr[1] + (size_t)row * (size_t)n;
    const float most = megcc_softmax_rows_row_max(x, n);
#if LOG
    const megcc_vf k = megcc_vf_dup(megcc_logf(megcc_softmax_rows_row_exp(x, NULL, n, most)));
    const megcc_elem_t *from = x;
#else
    const megcc_vf k = megcc_vf_dup(1.0f / megcc_softmax_rows_row_exp(x, y, n, most));
    const megcc_elem_t *from = y;
#endif
    const megcc_vf m = megcc_vf_dup(most);
    int32_t i = 0;
    for (; i + MEGCC_VL <= n; i += MEGCC_VL)
      megcc_vf_store(y + i, megcc_softmax_rows_finish(megcc_vf_load(from + i), m, k));
    if (i < n)
      megcc_vf_store_n(y + i, megcc_softmax_rows_finish(megcc_vf_load_n(from + i, n - i), m, k),
                       n - i);
  }
}

#endif  // MEGCC_SOFTMAX_ROWS_H
