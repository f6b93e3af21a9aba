// kernel: qsoftmax_columns
// op: qsoftmax
// dtype: x=i8,u8 table=f32 y=i8,u8
// arch: portable
// isa: simd
// when: inner != 1
// rank: 0
// params: X=X Y=Y
// inplace: x
// work: outer * ceil(inner, BLOCK)
// cost: 20 * axis * min(inner, BLOCK)
//
// Along an axis that is not the last: BLOCK columns at a time.
#include "megcc_qsoftmax.h"

// `n` columns, at most BLOCK, of `axis` elements that are `inner` apart.
MEGCC_INLINE void megcc_qsoftmax_some(const megcc_qsoftmax_t *q, const MEGCC_CTYPE(X) * x,
                                      MEGCC_CTYPE(Y) * y, int32_t axis, int32_t inner, int32_t n) {
  MEGCC_CTYPE(X) most[BLOCK];
  float factor[BLOCK], v[BLOCK] = {0};
  const MEGCC_CTYPE(X) *p = x;
  for (int32_t c = 0; c < n; ++c) most[c] = axis > 0 ? x[c] : 0;
  for (int32_t k = 0; k < axis; ++k, p += inner) {
    for (int32_t c = 0; c < n; ++c) most[c] = p[c] > most[c] ? p[c] : most[c];
  }
  for (int32_t c = 0; c < BLOCK; ++c) factor[c] = 0.0f;
  for (int32_t c = 0; c < n; c += 4) {  // sums in registers; of lanes that are none, the last one's
    const int32_t last = n - 1, c1 = c + 1 < n ? c + 1 : last, c2 = c + 2 < n ? c + 2 : last;
    const int32_t c3 = c + 3 < n ? c + 3 : last;
    const float *e0 = q->exp + most[c], *e1 = q->exp + most[c1];
    const float *e2 = q->exp + most[c2], *e3 = q->exp + most[c3];
    float s0 = 0.0f, s1 = 0.0f, s2 = 0.0f, s3 = 0.0f;
    p = x;
    for (int32_t k = 0; k < axis; ++k, p += inner) {
      s0 += e0[-(int32_t)p[c]], s1 += e1[-(int32_t)p[c1]];
      s2 += e2[-(int32_t)p[c2]], s3 += e3[-(int32_t)p[c3]];
    }
    factor[c3] = 1.0f / (s3 * q->scale), factor[c2] = 1.0f / (s2 * q->scale);
    factor[c1] = 1.0f / (s1 * q->scale), factor[c] = 1.0f / (s0 * q->scale);
  }
  for (int32_t k = 0; k < axis; ++k, x += inner, y += inner) {
    for (int32_t c = 0; c < n; ++c) v[c] = q->exp[most[c] - x[c]];
    megcc_qsoftmax_store(q, v, factor, 1, y, n);
  }
}

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  const int32_t axis = attr[QSOFTMAX_AXIS], inner = attr[QSOFTMAX_INNER];
  const int32_t blocks = (inner + BLOCK - 1) / BLOCK;
  const megcc_qsoftmax_t q = megcc_qsoftmax_of(ptr, attr);
  (void)workspace;
  for (; begin < end; ++begin) {
    const int32_t first = begin % blocks * BLOCK;
    const ptrdiff_t at = (ptrdiff_t)(begin / blocks) * axis * inner + first;
    megcc_qsoftmax_some(&q, (const MEGCC_CTYPE(X) *)ptr[0] + at, (MEGCC_CTYPE(Y) *)ptr[2] + at,
                        axis, inner, inner - first < BLOCK ? inner - first : BLOCK);
  }
}
