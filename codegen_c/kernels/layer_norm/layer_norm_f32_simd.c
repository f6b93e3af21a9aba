// kernel: layer_norm_f32_simd
// op: layer_norm
// dtype: f32
// arch: arm64, armv7, x86
// isa: simd
// rank: 10
// tolerance: 2e-6
// params: SCALE=scale BIAS=bias RMS=rms
// inplace: x
// work: outer
// cost: 16 * inner
//
// Mean, then the mean of squared differences, then the row; two vectors of partial sums.
#include "megcc_kernel.h"
#include "simd/megcc_simd.h"
#include "op/layer_norm.h"

#ifndef MEGCC_SYMBOL
#define MEGCC_SYMBOL megcc_layer_norm_f32_simd
#endif
#ifndef SCALE
#define SCALE 1
#endif
#ifndef BIAS
#define BIAS 1
#endif
#ifndef RMS
#define RMS 0
#endif

MEGCC_INLINE megcc_vf term(megcc_vf sum, megcc_vf x, megcc_vf shift, int square) {
  const megcc_vf d = megcc_vf_sub(x, shift);
  return square ? megcc_vf_fma(sum, d, d) : megcc_vf_add(sum, d);
}

MEGCC_INLINE float mean(const float *x, int32_t n, float shift, int square) {
  const megcc_vf s = megcc_vf_dup(shift);
  megcc_vf s0 = megcc_vf_zero(), s1 = s0;
  float total;
  int32_t i = 0;
  for (; i + 2 * MEGCC_VL <= n; i += 2 * MEGCC_VL) {
    s0 = term(s0, megcc_vf_load(x + i), s, square);
    s1 = term(s1, megcc_vf_load(x + i + MEGCC_VL), s, square);
  }
  for (; i + MEGCC_VL <= n; i += MEGCC_VL) s0 = term(s0, megcc_vf_load(x + i), s, square);
  total = megcc_vf_sum(megcc_vf_add(s0, s1));
  for (; i < n; ++i) total += square ? (x[i] - shift) * (x[i] - shift) : x[i] - shift;
  return total / (float)n;
}

typedef struct {
  const float *scale, *bias;
  megcc_vf center, k;
} norm_t;

MEGCC_INLINE void apply(const norm_t *norm, const float *x, float *y, int32_t i, int32_t lanes) {
  megcc_vf v = megcc_vf_mul(megcc_vf_sub(megcc_vf_load_n(x + i, lanes), norm->center), norm->k);
  if (SCALE) v = megcc_vf_mul(v, megcc_vf_load_n(norm->scale + i, lanes));
  if (BIAS) v = megcc_vf_add(v, megcc_vf_load_n(norm->bias + i, lanes));
  megcc_vf_store_n(y + i, v, lanes);
}

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  (void)workspace;
  const int32_t n = attr[LAYER_NORM_INNER];
  for (int32_t row = begin; row < end; ++row) {
    const float *x = (const float *)ptr[0] + (size_t)row * (size_t)n;
    float *y = (float *)ptr[1 + SCALE + BIAS] + (size_t)row * (size_t)n;
    const float center = RMS ? 0.0f : mean(x, n, 0.0f, 0);
    const float variance = mean(x, n, center, 1) + megcc_attr_f32(attr[LAYER_NORM_EPS]);
    const norm_t norm = {SCALE ? ptr[1] : NULL, BIAS ? ptr[1 + SCALE] : NULL, megcc_vf_dup(center),
                         megcc_vf_dup(1.0f / megcc_sqrt_f32(variance))};
    int32_t i = 0;
    for (; i + MEGCC_VL <= n; i += MEGCC_VL) apply(&norm, x, y, i, MEGCC_VL);
    if (i < n) apply(&norm, x, y, i, n - i);
  }
}
