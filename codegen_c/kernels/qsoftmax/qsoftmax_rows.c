// kernel: qsoftmax_rows
// op: qsoftmax
// dtype: x=i8,u8 table=f32 y=i8,u8
// arch: portable
// isa: simd
// when: inner == 1
// rank: 0
// params: X=X Y=Y
// inplace: x
// work: outer
// cost: 20 * axis
//
// Along rows: the largest element, the sum of the exponentials, then blocks of elements.
#include "megcc_qsoftmax.h"

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  const int32_t n = attr[QSOFTMAX_AXIS];
  const megcc_qsoftmax_t q = megcc_qsoftmax_of(ptr, attr);
  (void)workspace;
  for (int32_t row = begin; row < end; ++row) {
    const MEGCC_CTYPE(X) *x = (const MEGCC_CTYPE(X) *)ptr[0] + (ptrdiff_t)row * n;
    MEGCC_CTYPE(Y) *y = (MEGCC_CTYPE(Y) *)ptr[2] + (ptrdiff_t)row * n;
    int32_t most = n > 0 ? x[0] : 0;
    float sum = 0.0f, v[BLOCK] = {0};
    for (int32_t k = 0; k < n; ++k) most = x[k] > most ? x[k] : most;
    for (int32_t k = 0; k < n; ++k) sum += q.exp[most - x[k]];
    sum = 1.0f / (sum * q.scale);
    for (int32_t i = 0; i < n; i += BLOCK) {
      const int32_t count = n - i < BLOCK ? n - i : BLOCK;
      for (int32_t k = 0; k < count; ++k) v[k] = q.exp[most - x[i + k]];
      megcc_qsoftmax_store(&q, v, &sum, 0, y + i, count);
    }
  }
}
