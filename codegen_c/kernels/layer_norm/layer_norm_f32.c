// kernel: layer_norm_f32 SCALE=1 BIAS=1 RMS=0
// op: layer_norm
// dtype: f32
// arch: portable
// isa: none
// rank: 0
// tolerance: 2e-6
// params: SCALE=scale BIAS=bias RMS=rms
// inplace: x
// work: outer
// cost: 24 * inner
//
// The reference: mean, then the mean of squared differences, then the row.
#include "megcc_kernel.h"
#include "math/megcc_math.h"
#include "op/layer_norm.h"

// Eight partial sums a block: one running sum would lose bits on a long row.
MEGCC_INLINE float mean(const float *x, int32_t n, float shift, int square) {
  const int32_t most = 1024;
  float total = 0.0f;
  for (int32_t from = 0; from < n; from += most) {
    const int32_t end = n - from > most ? from + most : n;
    float s[8] = {0.0f};
    for (int32_t i = from; i < end; ++i) {
      const float d = x[i] - shift;
      s[i & 7] += square ? d * d : d;
    }
    total += ((s[0] + s[1]) + (s[2] + s[3])) + ((s[4] + s[5]) + (s[6] + s[7]));
  }
  return total / (float)n;
}

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  (void)workspace;
  const int32_t n = attr[LAYER_NORM_INNER];
  const float *scale = SCALE ? ptr[1] : NULL, *bias = BIAS ? ptr[1 + SCALE] : NULL;
  for (int32_t row = begin; row < end; ++row) {
    const float *x = (const float *)ptr[0] + (size_t)row * (size_t)n;
    float *y = (float *)ptr[1 + SCALE + BIAS] + (size_t)row * (size_t)n;
    const float center = RMS ? 0.0f : mean(x, n, 0.0f, 0);
    const float variance = mean(x, n, center, 1) + megcc_attr_f32(attr[LAYER_NORM_EPS]);
    const float k = 1.0f / megcc_sqrtf(variance);
    for (int32_t i = 0; i < n; ++i) {
      float v = (x[i] - center) * k;
      if (SCALE) v *= scale[i];
      if (BIAS) v += bias[i];
      y[i] = v;
    }
  }
}
