// kernel: qsoftmax_ref
// op: qsoftmax
// dtype: x=i8,u8 table=f32 y=i8,u8
// arch: portable
// isa: none
// rank: 0
// params: X=X Y=Y
// inplace: x
// work: outer
// cost: 20 * axis
//
// The largest element, the sum of the exponentials, then blocks of elements, in loops that
// compilers vectorise but for the looking up.
#include "math/megcc_round.h"
#include "megcc_dtype.h"
#include "op/qsoftmax.h"

#ifndef MEGCC_SYMBOL
#define MEGCC_SYMBOL megcc_qsoftmax_ref
#endif
#ifndef X
#define X i8
#endif
#ifndef Y
#define Y i8
#endif

enum { BLOCK = 64 };

typedef struct {
  const float *exp;  // of an element's distance from the largest one
  int32_t most, zero;
  float factor, low, high;
} megcc_qsoftmax_t;

MEGCC_INLINE void megcc_qsoftmax_some(const megcc_qsoftmax_t *q, const MEGCC_CTYPE(X) * x,
                                      MEGCC_CTYPE(Y) * y, int32_t n) {
  float v[BLOCK];
  int32_t whole[BLOCK];
  for (int32_t k = 0; k < n; ++k) v[k] = q->exp[q->most - x[k]];
  for (int32_t k = 0; k < n; ++k) {
    float r = megcc_roundf(v[k] * q->factor);
    r = r > q->low ? r : q->low;
    whole[k] = (int32_t)(r < q->high ? r : q->high) + q->zero;
  }
  for (int32_t k = 0; k < n; ++k) y[k] = (MEGCC_CTYPE(Y))whole[k];
}

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  const int32_t n = attr[QSOFTMAX_AXIS], zero = attr[QSOFTMAX_Y_ZERO];
  const float scale = megcc_attr_f32(attr[QSOFTMAX_Y_SCALE]);
  megcc_qsoftmax_t q = {ptr[1],
                        0,
                        zero,
                        0.0f,
                        (float)(attr[QSOFTMAX_LOW] - zero),
                        (float)(attr[QSOFTMAX_HIGH] - zero)};
  (void)workspace;
  for (int32_t row = begin; row < end; ++row) {
    const MEGCC_CTYPE(X) *x = (const MEGCC_CTYPE(X) *)ptr[0] + (ptrdiff_t)row * n;
    MEGCC_CTYPE(Y) *y = (MEGCC_CTYPE(Y) *)ptr[2] + (ptrdiff_t)row * n;
    MEGCC_CTYPE(X) most = n > 0 ? x[0] : 0;
    float sum = 0.0f;
    int32_t i = 0;
    for (int32_t k = 0; k < n; ++k) most = x[k] > most ? x[k] : most;
    q.most = most;
    for (int32_t k = 0; k < n; ++k) sum += q.exp[q.most - x[k]];
    q.factor = 1.0f / (sum * scale);
    for (; n - i >= BLOCK; i += BLOCK) megcc_qsoftmax_some(&q, x + i, y + i, BLOCK);
    if (i < n) megcc_qsoftmax_some(&q, x + i, y + i, n - i);
  }
}
