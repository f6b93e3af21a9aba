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
#include "megcc_soft_floats.h"

enum { BLOCK = MEGCC_QBINARY_BLOCK };

typedef struct {
  int32_t a_zero, b_zero, zero;
  float a_scale, b_scale, scale, offset, low, high;
  int32_t least, most;       // limits of y
  int32_t a_steps, b_steps;  // steps of y that one of a and of b is, times 2^PART; 0: by floats
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

#if MEGCC_SOFT_FLOATS && FUNC == QBINARY_ADD
#define FIXED 1
#else
#define FIXED 0
#endif

#if FIXED
// Sums without floats: in fixed point, whose rounded steps and the roundings of f32 together are
// below NEAR. That near to a half, the rule is followed in floats, and for scales whose products
// may be subnormal, which have fewer digits.
enum { PART = 18, NEAR = 1024 };

MEGCC_INLINE int32_t megcc_qbinary_steps(float scale, float step) {
  const float ratio = scale / step;
  return scale > 1e-30f && ratio > 0 && ratio < 8 ? (int32_t)(ratio * (1 << PART) + 0.5f) : 0;
}

MEGCC_INLINE void megcc_qbinary_fixed(const megcc_qbinary_t *q, const MEGCC_CTYPE(A) * a,
                                      const MEGCC_CTYPE(B) * b, MEGCC_CTYPE(Y) * y, int32_t n,
                                      int32_t step) {
  for (int32_t k = 0; k < n; ++k, b += step) {
    const int32_t sum = (a[k] - q->a_zero) * q->a_steps + (*b - q->b_zero) * q->b_steps;
    const int32_t part = (sum & ((1 << PART) - 1)) - (1 << (PART - 1));
    if (part >= -NEAR && part <= NEAR) {
      megcc_qbinary_some(q, a + k, b, y + k, 1);
      continue;
    }
    int32_t v = (sum >> PART) + (part > 0) + q->zero;
    v = v > q->least ? v : q->least;
    y[k] = (MEGCC_CTYPE(Y))(v < q->most ? v : q->most);
  }
}

#endif

static void megcc_qbinary_run(const void *how, const uint8_t *a, const uint8_t *b, uint8_t *y,
                              int32_t n, int32_t step) {
  const MEGCC_CTYPE(A) *l = (const MEGCC_CTYPE(A) *)a;
  const MEGCC_CTYPE(B) *r = (const MEGCC_CTYPE(B) *)b;
  MEGCC_CTYPE(Y) *to = (MEGCC_CTYPE(Y) *)y;
#if FIXED
  const megcc_qbinary_t *q = how;
  if (q->a_steps > 0 && q->b_steps > 0) {
    megcc_qbinary_fixed(q, l, r, to, n, step);
    return;
  }
#endif
  for (; n >= BLOCK; n -= BLOCK, l += BLOCK, r += step * BLOCK, to += BLOCK)
    megcc_qbinary_some(how, l, r, to, BLOCK);
  if (n > 0) megcc_qbinary_some(how, l, r, to, n);
}

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  const int32_t zero = attr[QBINARY_Y_ZERO];
  megcc_qbinary_t q = {attr[QBINARY_A_ZERO],
                       attr[QBINARY_B_ZERO],
                       zero,
                       megcc_attr_f32(attr[QBINARY_A_SCALE]),
                       megcc_attr_f32(attr[QBINARY_B_SCALE]),
                       megcc_attr_f32(attr[QBINARY_Y_SCALE]),
                       megcc_attr_f32(attr[QBINARY_OFFSET]),
                       (float)(attr[QBINARY_LOW] - zero),
                       (float)(attr[QBINARY_HIGH] - zero),
                       attr[QBINARY_LOW],
                       attr[QBINARY_HIGH],
                       0,
                       0};
  (void)workspace;
#if FIXED
  if (q.offset == 0) {
    q.a_steps = megcc_qbinary_steps(q.a_scale, q.scale);
    q.b_steps = megcc_qbinary_steps(q.b_scale, q.scale);
  }
#endif
  megcc_qbinary(ptr, attr, begin, end, megcc_qbinary_run, &q);
}
