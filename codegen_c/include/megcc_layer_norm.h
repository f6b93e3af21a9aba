// The body of the layer_norm kernels on vectors: the mean, the mean of squared differences, the
// row.
#ifndef MEGCC_LAYER_NORM_H
#define MEGCC_LAYER_NORM_H

#include "megcc_elem.h"
#include "simd/megcc_simd.h"
#include "op/layer_norm.h"

#ifndef SCALE
#define SCALE 1
#endif
#ifndef BIAS
#define BIAS 1
#endif
#ifndef RMS
#define RMS 0
#endif

MEGCC_INLINE megcc_vf megcc_layer_norm_term(megcc_vf sum, megcc_vf x, megcc_vf shift, int square) {
  const megcc_vf d = megcc_vf_sub(x, shift);
  return square ? megcc_vf_fma(sum, d, d) : megcc_vf_add(sum, d);
}

MEGCC_INLINE float megcc_layer_norm_sum(const megcc_elem_t *x, int32_t n, float shift, int square) {
  const megcc_vf s = megcc_vf_dup(shift);
  megcc_vf s0 = megcc_vf_zero(), s1 = s0;
  float total;
  int32_t i = 0;
  for (; i + 2 * MEGCC_VL <= n; i += 2 * MEGCC_VL) {
    s0 = megcc_layer_norm_term(s0, megcc_vf_load(x + i), s, square);
    s1 = megcc_layer_norm_term(s1, megcc_vf_load(x + i + MEGCC_VL), s, square);
  }
  for (; i + MEGCC_VL <= n; i += MEGCC_VL)
    s0 = megcc_layer_norm_term(s0, megcc_vf_load(x + i), s, square);
  total = megcc_vf_sum(megcc_vf_add(s0, s1));
  for (; i < n; ++i) {
    const float d = megcc_elem_f32(x[i]) - shift;
    total += square ? d * d : d;
  }
  return total;
}

// By blocks: one running sum would lose bits on a long row.
MEGCC_INLINE float megcc_layer_norm_mean(const megcc_elem_t *x, int32_t n, float shift,
                                         int square) {
  const int32_t most = 1024;
  float total = 0.0f;
  int32_t i = 0;
  for (; n - i > most; i += most) total += megcc_layer_norm_sum(x + i, most, shift, square);
  return (total + megcc_layer_norm_sum(x + i, n - i, shift, square)) / (float)n;
}

typedef struct {
  const megcc_elem_t *scale, *bias;
  megcc_vf center, k;
} megcc_layer_norm_norm_t;

MEGCC_INLINE void megcc_layer_norm_apply(const megcc_layer_norm_norm_t *norm, const megcc_elem_t *x,
                                         megcc_elem_t *y, int32_t i, int32_t lanes) {
  megcc_vf v = megcc_vf_mul(megcc_vf_sub(megcc_vf_load_n(x + i, lanes), norm->center), norm->k);
  if (SCALE) v = megcc_vf_mul(v, megcc_vf_load_n(norm->scale + i, lanes));
  if (BIAS) v = megcc_vf_add(v, megcc_vf_load_n(norm->bias + i, lanes));
  megcc_vf_store_n(y + i, v, lanes);
}

MEGCC_INLINE void megcc_layer_norm(void *const *ptr, const int32_t *attr, int32_t begin,
                                   int32_t end) {
  const int32_t n = attr[LAYER_NORM_INNER];
  for (int32_t row = begin; row < end; ++row) {
    const megcc_elem_t *x = (const megcc_elem_t *)ptr[0] + (size_t)row * (size_t)n;
    megcc_elem_t *y = (megcc_elem_t *)ptr[1 + SCALE + BIAS] + (size_t)row * (size_t)n;
    const float center = RMS ? 0.0f : megcc_layer_norm_mean(x, n, 0.0f, 0);
    const float variance =
        megcc_layer_norm_mean(x, n, center, 1) + megcc_attr_f32(attr[LAYER_NORM_EPS]);
    const megcc_layer_norm_norm_t norm = {SCALE ? ptr[1] : NULL, BIAS ? ptr[1 + SCALE] : NULL,
                                          megcc_vf_dup(center),
                                          megcc_vf_dup(1.0f / megcc_sqrt_f32(variance))};
    int32_t i = 0;
    for (; i + MEGCC_VL <= n; i += MEGCC_VL) megcc_layer_norm_apply(&norm, x, y, i, MEGCC_VL);
    if (i < n) megcc_layer_norm_apply(&norm, x, y, i, n - i);
  }
}

#endif  // MEGCC_LAYER_NORM_H
