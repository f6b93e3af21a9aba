// kernel: qbinary_ref
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
// The reference: one element after the other.
#include "math/megcc_round.h"
#include "megcc_dtype.h"
#include "op/qbinary.h"

#ifndef MEGCC_SYMBOL
#define MEGCC_SYMBOL megcc_qbinary_ref
#endif
#ifndef A
#define A i8
#endif
#ifndef B
#define B i8
#endif
#ifndef Y
#define Y i8
#endif
#ifndef FUNC
#define FUNC QBINARY_ADD
#endif

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  const MEGCC_CTYPE(A) *a = ptr[0];
  const MEGCC_CTYPE(B) *b = ptr[1];
  MEGCC_CTYPE(Y) *y = ptr[2];
  const int32_t a_zero = attr[QBINARY_A_ZERO], b_zero = attr[QBINARY_B_ZERO];
  const int32_t zero = attr[QBINARY_Y_ZERO];
  const float a_scale = megcc_attr_f32(attr[QBINARY_A_SCALE]);
  const float b_scale = megcc_attr_f32(attr[QBINARY_B_SCALE]);
  const float scale = megcc_attr_f32(attr[QBINARY_Y_SCALE]);
  const float low = (float)(attr[QBINARY_LOW] - zero), high = (float)(attr[QBINARY_HIGH] - zero);
  (void)workspace;
  for (int32_t i = begin; i < end; ++i) {
    // Rounded, though packages are compiled with contraction.
    volatile float left = (float)(a[i] - a_zero) * a_scale;
    volatile float right = (float)(b[i] - b_zero) * b_scale;
    float v = megcc_roundf((FUNC == QBINARY_MUL ? left * right : left + right) / scale);
    v = v > low ? v : low;
    v = v < high ? v : high;
    y[i] = (MEGCC_CTYPE(Y))((int32_t)v + zero);
  }
}
