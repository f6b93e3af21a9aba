// kernel: softmax_f32 LOG=0
// op: softmax
// dtype: f32
// arch: portable
// isa: none
// rank: 0
// tolerance: 1e-6
// params: LOG=log
// inplace: x
// work: outer * inner
// cost: 60 * axis
//
// The reference: one line of the axis at a time.
#include "megcc_kernel.h"
#include "math/megcc_math.h"
#include "op/softmax.h"

// Eight partial sums: one running sum would lose bits on a long axis.
MEGCC_INLINE float total(const float *part) {
  return ((part[0] + part[1]) + (part[2] + part[3])) + ((part[4] + part[5]) + (part[6] + part[7]));
}

MEGCC_INLINE void line(const float *x, float *y, int32_t n, ptrdiff_t step) {
  float most = -MEGCC_INFINITY, part[8] = {0.0f};
  for (int32_t i = 0; i < n; ++i) most = x[i * step] > most ? x[i * step] : most;
#if LOG
  for (int32_t i = 0; i < n; ++i) part[i & 7] += megcc_expf(x[i * step] - most);
  const float shift = megcc_logf(total(part));
  for (int32_t i = 0; i < n; ++i) y[i * step] = (x[i * step] - most) - shift;
#else
  for (int32_t i = 0; i < n; ++i) {
    const float e = megcc_expf(x[i * step] - most);
    y[i * step] = e;
    part[i & 7] += e;
  }
  const float sum = total(part);
  for (int32_t i = 0; i < n; ++i) y[i * step] /= sum;
#endif
}

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  (void)workspace;
  const int32_t n = attr[SOFTMAX_AXIS], inner = attr[SOFTMAX_INNER];
  for (int32_t item = begin; item < end; ++item) {
    const size_t at = (size_t)(item / inner) * (size_t)n * (size_t)inner + (size_t)(item % inner);
    line((const float *)ptr[0] + at, (float *)ptr[1] + at, n, inner);
  }
}
