// kernel: qglobal_pool_band X=i8 Y=i8 FUNC=QPOOL2D_AVG
// op: qglobal_pool_band
// dtype: x=i8,u8 y=i8,u8
// arch: portable
// isa: none
// rank: 0
// params: X=X Y=Y FUNC=func
// inplace: before
// work: ceil(c, BLOCK)
// cost: BLOCK * (2 * hw + 8)
//
// Blocks of channels, in loops that compilers vectorise. Sums are exact, so that all kernels of
// qpool2d give the same.
#include "op/qglobal_pool_band.h"

#define MEGCC_POOL(name) QGLOBAL_POOL_BAND_##name
#include "megcc_qpool_store.h"

// The channels from `src` on, at most BLOCK: `n` of `channels`.
MEGCC_INLINE void megcc_qpool_some(const megcc_qpool_t *q, const int32_t *attr,
                                   const MEGCC_CTYPE(X) * src, const int32_t *before,
                                   int32_t *after, MEGCC_CTYPE(Y) * dst, int32_t n) {
  const int32_t pixels = attr[QGLOBAL_POOL_BAND_HW], channels = attr[QGLOBAL_POOL_BAND_C];
  const int32_t first = attr[QGLOBAL_POOL_BAND_FIRST], total = attr[QGLOBAL_POOL_BAND_TOTAL];
  const int32_t start = -pixels * q->x_zero;
  int32_t sum[BLOCK];
  for (int32_t k = 0; k < n; ++k) sum[k] = start + (first ? before[k] : 0);
  for (int32_t p = 0; p < pixels; ++p, src += channels)
    for (int32_t k = 0; k < n; ++k) sum[k] += src[k];
  for (int32_t k = 0; k < n; ++k) after[k] = sum[k];
  megcc_qpool_store(q, sum, total, total, dst, n);
}

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  const MEGCC_CTYPE(X) *x = ptr[0];
  const int32_t *before = ptr[1];
  int32_t *after = ptr[2];
  MEGCC_CTYPE(Y) *y = ptr[3];
  const megcc_qpool_t q = megcc_qpool_of(attr);
  const int32_t channels = attr[QGLOBAL_POOL_BAND_C];
  (void)workspace;
  for (int32_t item = begin; item < end; ++item) {
    const int32_t c = item * BLOCK, left = channels - c;
#if !MEGCC_SOFT_FLOATS  // a loop of a length that compilers know
    if (left >= BLOCK) {
      megcc_qpool_some(&q, attr, x + c, before + c, after + c, y + c, BLOCK);
      continue;
    }
#endif
    megcc_qpool_some(&q, attr, x + c, before + c, after + c, y + c, left < BLOCK ? left : BLOCK);
  }
}
