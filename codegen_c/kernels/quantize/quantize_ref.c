// kernel: quantize_ref
// op: quantize
// dtype: x=f32 y=i8,u8
// arch: portable
// isa: none
// rank: 0
// params: Y=Y
// overlap: 0
// work: size
// cost: 12
//
// The reference: blocks of elements, in loops that compilers vectorise.
#include "math/megcc_round.h"
#include "megcc_requant.h"
#include "op/quantize.h"

enum { BLOCK = 64 };

typedef struct {
  float scale, low, high;
  int32_t zero;
} megcc_quantize_t;

MEGCC_INLINE void megcc_quantize_some(const megcc_quantize_t *q, const float *x, MEGCC_CTYPE(Y) * y,
                                      int32_t n) {
  int32_t whole[BLOCK];
  for (int32_t k = 0; k < n; ++k) {
    float v = megcc_roundf(x[k] / q->scale);
    v = v > q->low ? v : q->low;
    whole[k] = (int32_t)(v < q->high ? v : q->high) + q->zero;
  }
  for (int32_t k = 0; k < n; ++k) y[k] = (MEGCC_CTYPE(Y))whole[k];
}

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  const float *x = ptr[0];
  MEGCC_CTYPE(Y) *y = ptr[1];
  const int32_t zero = attr[QUANTIZE_ZERO], low = MEGCC_IS_UNSIGNED(Y) ? 0 : -128;
  const megcc_quantize_t q = {megcc_attr_f32(attr[QUANTIZE_SCALE]), (float)(low - zero),
                              (float)(low + 255 - zero), zero};
  int32_t i = begin;
  (void)workspace;
  for (; end - i >= BLOCK; i += BLOCK) megcc_quantize_some(&q, x + i, y + i, BLOCK);
  if (i < end) megcc_quantize_some(&q, x + i, y + i, end - i);
}
