// op: softmax
// dtype: f32
// isa: simd
// when: inner > 1 and log == 0
// rank: 10
// tolerance: 1e-6
// inplace: x
// work: outer * inner
// cost: 40 * axis
// kernel: softmax_f32_columns_simd arch="arm64, armv7, x86"
// kernel: softmax_f32_columns_mve arch=cortexm isa=mve.fp
//
// Along a strided axis: a vector of neighbouring columns at a time.
#include "megcc_kernel.h"
#include "math/megcc_vmath.h"
#include "op/softmax.h"

MEGCC_INLINE void columns(const float *x, float *y, int32_t n, ptrdiff_t step, int32_t lanes) {
  megcc_vf most = megcc_vf_load_n(x, lanes), sum = megcc_vf_zero();
  for (int32_t i = 1; i < n; ++i) most = megcc_vf_max(most, megcc_vf_load_n(x + i * step, lanes));
  for (int32_t i = 0; i < n; ++i) {
    const megcc_vf e = megcc_vf_exp(megcc_vf_sub(megcc_vf_load_n(x + i * step, lanes), most));
    megcc_vf_store_n(y + i * step, e, lanes);
    sum = megcc_vf_add(sum, e);
  }
  const megcc_vf scale = megcc_vf_div(megcc_vf_dup(1.0f), sum);
  for (int32_t i = 0; i < n; ++i) {
    float *p = y + i * step;
    megcc_vf_store_n(p, megcc_vf_mul(megcc_vf_load_n(p, lanes), scale), lanes);
  }
}

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  (void)workspace;
  const int32_t n = attr[SOFTMAX_AXIS], inner = attr[SOFTMAX_INNER];
  if (n == 0) return;
  for (int32_t item = begin, lanes; item < end; item += lanes) {
    const int32_t outer = item / inner, column = item % inner;
    const size_t at = (size_t)outer * (size_t)n * (size_t)inner + (size_t)column;
    const float *x = (const float *)ptr[0] + at;
    float *y = (float *)ptr[1] + at;
    const int32_t left = inner - column < end - item ? inner - column : end - item;
    lanes = left < MEGCC_VL ? left : MEGCC_VL;
    if (lanes == MEGCC_VL)
      columns(x, y, n, inner, MEGCC_VL);
    else
      columns(x, y, n, inner, lanes);
  }
}
