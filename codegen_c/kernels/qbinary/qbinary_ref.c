// kernel: qbinary_ref A=i8 B=i8 Y=i8 FUNC=QBINARY_ADD
// op: qbinary
// dtype: a=i8,u8 b=i8,u8 y=i8,u8
// arch: portable
// isa: none
// rank: 0
// params: A=A B=B Y=Y FUNC=func
// inplace: a, b
// work: size
// cost: 24
//
// The reference: blocks of elements, in loops that compilers vectorise.
#include "math/megcc_round.h"
#include "megcc_dtype.h"
#include "megcc_qbinary.h"

enum { BLOCK = MEGCC_QBINARY_BLOCK };

typedef struct {
  int32_t a_zero, b_zero, zero;
  float a_scale, b_scale, scale, offset, low, high;
} megcc_qbinary_t;

// `n` elements, at most BLOCK. The products have loops of their own, so that none is contracted
// with the sum.
MEGCC_INLINE void megcc_qbinary_some(const megcc_qbinary_t *q, const MEGCC_CTYPE(A) * a,
                                     const MEGCC_CTYPE(B) * b, MEGCC_CTYPE(Y) * y, int32_t n) {
  float left[BLOCK], right[BLOCK];
  int32_t whole[BLOCK];
  for (int32_t k = 0; k < n; ++k) left[k] = (float)(a[k] - q->a_zero) * q->a_scale;
  for (int32_t k = 0; k < n; ++k) right[k] = (float)(b[k] - q->b_zero) * q->b_scale;
  for (int32_t k = 0; k < n; ++k) {
    float v = FUNC == QBINARY_MUL ? left[k] * right[k] : left[k] + right[k];
    v = megcc_roundf(v / q->scale + q->offset);
    v = v > q->low ? v : q->low;
    whole[k] = (int32_t)(v < q->high ? v : q->high) + q->zero;
  }
  for (int32_t k = 0; k < n; ++k) y[k] = (MEGCC_CTYPE(Y))whole[k];
}

static void megcc_qbinary_run(const void *how, const uint8_t *a, const uint8_t *b, uint8_t *y,
                              int32_t n, int32_t step) {
  const MEGCC_CTYPE(A) *l = (const MEGCC_CTYPE(A) *)a;
  const MEGCC_CTYPE(B) *r = (const MEGCC_CTYPE(B) *)b;
  MEGCC_CTYPE(Y) *to = (MEGCC_CTYPE(Y) *)y;
  for (; n >= BLOCK; n -= BLOCK, l += BLOCK, r += step * BLOCK, to += BLOCK)
    megcc_qbinary_some(how, l, r, to, BLOCK);
  if (n > 0) megcc_qbinary_some(how, l, r, to, n);
}

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  const int32_t zero = attr[QBINARY_Y_ZERO];
  const megcc_qbinary_t q = {attr[QBINARY_A_ZERO],
                             attr[QBINARY_B_ZERO],
                             zero,
                             megcc_attr_f32(attr[QBINARY_A_SCALE]),
                             megcc_attr_f32(attr[QBINARY_B_SCALE]),
                             megcc_attr_f32(attr[QBINARY_Y_SCALE]),
                             megcc_attr_f32(attr[QBINARY_OFFSET]),
                             (float)(attr[QBINARY_LOW] - zero),
                             (float)(attr[QBINARY_HIGH] - zero)};
  (void)workspace;
  megcc_qbinary(ptr, attr, begin, end, megcc_qbinary_run, &q);
}
