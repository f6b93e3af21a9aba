// kernel: softmax_f32_rows_simd
// op: softmax
// dtype: f32
// arch: arm64, armv7, x86
// isa: simd
// when: inner == 1
// rank: 10
// tolerance: 1e-6
// params: LOG=log
// inplace: x
// work: outer
// cost: 40 * axis
//
// Along contiguous rows: the maximum, the exponentials and their sum, then the division. Several
// rows of few elements share a vector.
#include "megcc_kernel.h"
#include "math/megcc_math.h"
#include "math/megcc_vmath.h"
#include "op/softmax.h"

#ifndef MEGCC_SYMBOL
#define MEGCC_SYMBOL megcc_softmax_f32_rows_simd
#endif
#ifndef LOG
#define LOG 0
#endif

MEGCC_INLINE float row_max(const float *x, int32_t n) {
  float most = -MEGCC_INFINITY;
  int32_t i = 0;
  if (n >= MEGCC_VL) {
    megcc_vf m = megcc_vf_load(x + n - MEGCC_VL);
    for (; i + MEGCC_VL <= n; i += MEGCC_VL) m = megcc_vf_max(m, megcc_vf_load(x + i));
    return megcc_vf_hmax(m);
  }
  for (; i < n; ++i) most = x[i] > most ? x[i] : most;
  return most;
}

// The sum of exp(x - shift); `y`, when there is one, gets the terms. Lanes behind the end are
// cleared by storing what is wanted and loading it again.
MEGCC_INLINE float row_exp(const float *x, float *y, int32_t n, float shift) {
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
    megcc_vf_store(tail, e);
    if (y) megcc_vf_store_n(y + i, e, n - i);
    sum = megcc_vf_add(sum, megcc_vf_load_n(tail, n - i));
  }
  return megcc_vf_sum(sum);
}

MEGCC_INLINE megcc_vf finish(megcc_vf v, megcc_vf most, megcc_vf k) {
  (void)most;
  return LOG ? megcc_vf_sub(megcc_vf_sub(v, most), k) : megcc_vf_mul(v, k);
}

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
  const int32_t n = attr[SOFTMAX_AXIS];
#if !LOG
  for (; n > 0 && n <= FEW && begin < end; begin += MEGCC_VL) {
    const size_t at = (size_t)begin * (size_t)n;
    const int32_t rows = end - begin < MEGCC_VL ? end - begin : MEGCC_VL;
    few((const float *)ptr[0] + at, (float *)ptr[1] + at, n, rows);
  }
#endif
  for (int32_t row = begin; row < end; ++row) {
    const float *x = (const float *)ptr[0] + (size_t)row * (size_t)n;
    float *y = (float *)ptr[1] + (size_t)row * (size_t)n;
    const float most = row_max(x, n);
#if LOG
    const megcc_vf k = megcc_vf_dup(megcc_logf(row_exp(x, NULL, n, most)));
    const float *from = x;
#else
    const megcc_vf k = megcc_vf_dup(1.0f / row_exp(x, y, n, most));
    const float *from = y;
#endif
    const megcc_vf m = megcc_vf_dup(most);
    int32_t i = 0;
    for (; i + MEGCC_VL <= n; i += MEGCC_VL)
      megcc_vf_store(y + i, finish(megcc_vf_load(from + i), m, k));
    if (i < n) megcc_vf_store_n(y + i, finish(megcc_vf_load_n(from + i, n - i), m, k), n - i);
  }
}
