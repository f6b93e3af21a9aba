// op: softmax
// dtype: f32
// isa: simd
// when: inner == 1
// rank: 10
// tolerance: 1e-6
// params: LOG=log
// inplace: x
// work: outer
// cost: 40 * axis
// kernel: softmax_f32_rows_simd arch="arm64, armv7, x86"
// kernel: softmax_f32_rows_mve arch=cortexm isa=mve.fp
//
// Along contiguous rows: the maximum, the exponentials and their sum, then the division. Several
// rows of few elements share a vector.
#include "megcc_softmax_rows.h"

#if !LOG
// Rows up to so long are computed side by side, an element of each of MEGCC_VL rows in a vector.
#define FEW 4

// `rows` rows, at most MEGCC_VL; the last of them takes the lanes that are left, too.
MEGCC_HOT static void few(const float *x, float *y, int32_t n, int32_t rows) {
  float t[FEW][MEGCC_VL];
  int32_t at[MEGCC_VL];
  megcc_vf most = megcc_vf_dup(-MEGCC_INFINITY), sum = megcc_vf_zero();
  for (int32_t r = 0; r < MEGCC_VL; ++r) at[r] = (r < rows ? r : rows - 1) * n;
  for (int32_t i = 0; i < n; ++i) {
    for (int32_t r = 0; r < MEGCC_VL; ++r) t[i][r] = x[at[r] + i];
  }
  for (int32_t i = 0; i < n; ++i) most = megcc_vf_max(most, megcc_vf_load(t[i]));
  for (int32_t i = 0; i < n; ++i) {
    const megcc_vf e = megcc_vf_exp(megcc_vf_sub(megcc_vf_load(t[i]), most));
    megcc_vf_store(t[i], e);
    sum = megcc_vf_add(sum, e);
  }
  sum = megcc_vf_div(megcc_vf_dup(1.0f), sum);
  for (int32_t i = 0; i < n; ++i) {
    megcc_vf_store(t[i], megcc_vf_mul(megcc_vf_load(t[i]), sum));
    for (int32_t r = 0; r < MEGCC_VL; ++r) y[at[r] + i] = t[i][r];
  }
}
#endif

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  (void)workspace;
#if !LOG
  const int32_t n = attr[SOFTMAX_AXIS];
  for (; n > 0 && n <= FEW && begin < end; begin += MEGCC_VL) {
    const size_t at = (size_t)begin * (size_t)n;
    const int32_t rows = end - begin < MEGCC_VL ? end - begin : MEGCC_VL;
    few((const float *)ptr[0] + at, (float *)ptr[1] + at, n, rows);
  }
#endif
  megcc_softmax_rows(ptr, attr, begin, end);
}
