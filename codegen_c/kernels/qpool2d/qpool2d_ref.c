// kernel: qpool2d_ref X=i8 Y=i8 FUNC=QPOOL2D_AVG
// op: qpool2d
// dtype: x=i8,u8 y=i8,u8
// arch: portable
// isa: none
// rank: 0
// params: X=X Y=Y FUNC=func
// overlap: c * ow * min(n * oh, pt // sh + 1)
//   if pl + pr <= dw * (kw - 1) and pt + pb <= dh * (kh - 1) else -1
// work: n * oh
// cost: ow * c * (2 * kh * kw + 8)
//
// The reference: blocks of channels, in loops that compilers vectorise. Machines without floats
// divide integers where scales are equal, and multiply in fixed point else.
#include "op/qpool2d.h"

#define MEGCC_POOL(name) QPOOL2D_##name
#include "megcc_pool8.h"
#include "megcc_qpool_store.h"

// sum[k] = the sum of the window's elements of channel k, less its zero points; `n` is at most
// BLOCK.
MEGCC_INLINE void megcc_qpool_sums(const megcc_pool8_t *t, int32_t x_zero,
                                   const MEGCC_CTYPE(X) * src, int32_t *sum, int32_t n) {
  for (int32_t k = 0; k < n; ++k) sum[k] = -t->rows * t->cols * x_zero;
  for (int32_t i = 0; i < t->rows; ++i) {
    for (int32_t j = 0; j < t->cols; ++j) {
      const MEGCC_CTYPE(X) *p = src + i * t->row_step + j * t->col_step;
      for (int32_t k = 0; k < n; ++k) sum[k] += p[k];
    }
  }
}

// `n` channels, at most BLOCK.
MEGCC_INLINE void megcc_qpool_some(const megcc_qpool_t *q, const megcc_pool8_t *t,
                                   const MEGCC_CTYPE(X) * src, MEGCC_CTYPE(Y) * dst, int32_t n) {
  int32_t sum[BLOCK];
  megcc_qpool_sums(t, q->x_zero, src, sum, n);
  megcc_qpool_store(q, sum, t->count, t->rows * t->cols, dst, n);
}

static void megcc_qpool_pixel(const void *how, const megcc_pool8_t *t, uint8_t *dst) {
  const MEGCC_CTYPE(X) *x = (const MEGCC_CTYPE(X) *)t->src;
  MEGCC_CTYPE(Y) *y = (MEGCC_CTYPE(Y) *)dst;
  int32_t c = 0;
#if MEGCC_SOFT_FLOATS
  for (int32_t n; c < t->channels; c += n) {
    n = t->channels - c < BLOCK ? t->channels - c : BLOCK;
    megcc_qpool_some(how, t, x + c, y + c, n);
  }
#else  // loops of a length that compilers know
  for (; t->channels - c >= BLOCK; c += BLOCK) megcc_qpool_some(how, t, x + c, y + c, BLOCK);
  if (c < t->channels) megcc_qpool_some(how, t, x + c, y + c, t->channels - c);
#endif
}

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  const megcc_qpool_t q = megcc_qpool_of(attr);
  (void)workspace;
  megcc_pool8(ptr, attr, begin, end, megcc_qpool_pixel, &q);
}
