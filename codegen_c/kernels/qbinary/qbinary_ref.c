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
// The reference: blocks of elements, in loops that compilers vectorise. Machines without floats
// compute in fixed point, and step by step next to a half.
#include "math/megcc_round.h"
#include "megcc_dtype.h"
#include "megcc_qbinary.h"
#include "megcc_soft_floats.h"

#if MEGCC_SOFT_FLOATS

#include "megcc_f32_integer.h"
#include "megcc_requant_fixed.h"

// Sums have PART bits below the point. What is rounded there (255 times 9/16 for each step) and by
// f32 is less than NEAR where a result is within the limits: f32 rounds either product, at most
// 2040 steps, their sum, the quotient and the offset.
enum { PART = 18, NEAR = 512 };

typedef struct {
  int32_t a_zero, b_zero, zero, least, most;  // limits of y
  uint32_t a_scale, b_scale, scale, offset;   // float bits
  int32_t whole;                              // the offset
  int is_fixed;                               // else each element is computed step by step
  int32_t a_steps, b_steps;  // of a sum: steps of y that one of a and of b is, times 2^PART
  megcc_fixed_t product;     // of a product: steps of y that a product of integers is
} megcc_qbinary_t;

// Whether a scale is a positive number of a size with which no step is subnormal or infinite.
MEGCC_INLINE int megcc_qbinary_is_usual(uint32_t scale, int32_t most) {
  const int32_t exponent = (int32_t)(scale >> 23) - 127;
  return exponent >= -most && exponent <= most;
}

// scale / step * 2^PART for a quotient below 8, else -1.
MEGCC_INLINE int32_t megcc_qbinary_steps(uint32_t scale, uint32_t step) {
  const uint32_t f = (scale & 0x7fffff) | 0x800000, g = (step & 0x7fffff) | 0x800000;
  const int32_t exponent = (int32_t)(scale >> 23) - (int32_t)(step >> 23);
  uint32_t rest;
  if (exponent > 2) return -1;
  if (exponent < -20) return 0;
  const int32_t down = 26 - PART - exponent;  // of f / (2 g) times 2^27
  return (int32_t)((megcc_f32_quotient(f, 2 * g, 27, &rest) + (1u << (down - 1))) >> down);
}

MEGCC_INLINE megcc_qbinary_t megcc_qbinary_of(const int32_t *attr) {
  megcc_qbinary_t q = {0};
  q.a_zero = attr[QBINARY_A_ZERO], q.b_zero = attr[QBINARY_B_ZERO], q.zero = attr[QBINARY_Y_ZERO];
  q.least = attr[QBINARY_LOW], q.most = attr[QBINARY_HIGH];
  q.a_scale = (uint32_t)attr[QBINARY_A_SCALE], q.b_scale = (uint32_t)attr[QBINARY_B_SCALE];
  q.scale = (uint32_t)attr[QBINARY_Y_SCALE], q.offset = (uint32_t)attr[QBINARY_OFFSET];
  if (q.offset << 1 != 0) {
    const int32_t whole = megcc_f32_nearest(q.offset);
    if (whole < -256 || whole > 256 || megcc_f32_of(whole) != q.offset) return q;
    q.whole = whole;
  }
#if FUNC == QBINARY_MUL
  // Beside the roundings that megcc_requant_fixed.h knows of there are four, and that of the
  // offset: 5/16 of its last bit, for which its limit has room.
  if (megcc_qbinary_is_usual(q.a_scale, 50) && megcc_qbinary_is_usual(q.b_scale, 50) &&
      megcc_qbinary_is_usual(q.scale, 100)) {
    const uint32_t ratio = megcc_f32_div(megcc_f32_mul(q.a_scale, q.b_scale), q.scale);
    q.product = megcc_fixed_of(ratio, 255 * 255);
    q.is_fixed = megcc_qbinary_is_usual(ratio, 100);
  }
#else
  if (megcc_qbinary_is_usual(q.a_scale, 100) && megcc_qbinary_is_usual(q.b_scale, 100) &&
      megcc_qbinary_is_usual(q.scale, 100)) {
    q.a_steps = megcc_qbinary_steps(q.a_scale, q.scale);
    q.b_steps = megcc_qbinary_steps(q.b_scale, q.scale);
    q.is_fixed = q.a_steps >= 0 && q.b_steps >= 0;
  }
#endif
  return q;
}

// An element as op/qbinary.h says, step by step; `a` and `b` are less their zero points.
MEGCC_COLD static int32_t megcc_qbinary_exact(const megcc_qbinary_t *q, int32_t a, int32_t b) {
  const uint32_t left = megcc_f32_mul(megcc_f32_of(a), q->a_scale);
  const uint32_t right = megcc_f32_mul(megcc_f32_of(b), q->b_scale);
  const uint32_t v = FUNC == QBINARY_MUL ? megcc_f32_mul(left, right) : megcc_f32_add(left, right);
  const uint32_t steps = megcc_f32_add(megcc_f32_div(v, q->scale), q->offset);
  return megcc_f32_stored(steps, q->zero, q->least, q->most);
}

static void megcc_qbinary_run(const void *how, const uint8_t *a, const uint8_t *b, uint8_t *y,
                              int32_t n, int32_t step) {
  const megcc_qbinary_t *q = how;
  const MEGCC_CTYPE(A) *l = (const MEGCC_CTYPE(A) *)a;
  const MEGCC_CTYPE(B) *r = (const MEGCC_CTYPE(B) *)b;
  MEGCC_CTYPE(Y) *to = (MEGCC_CTYPE(Y) *)y;
  const int32_t zero = q->zero + q->whole;
  const int32_t start = FUNC == QBINARY_MUL ? megcc_fixed_start(zero) : 0;
  if (!q->is_fixed) {
    for (int32_t k = 0; k < n; ++k, r += step)
      to[k] = (MEGCC_CTYPE(Y))megcc_qbinary_exact(q, l[k] - q->a_zero, *r - q->b_zero);
    return;
  }
  for (int32_t k = 0; k < n; ++k, r += step) {
    const int32_t u = l[k] - q->a_zero, w = *r - q->b_zero;
    int near;
    int32_t v;
    if (FUNC == QBINARY_MUL) {
      v = megcc_fixed(&q->product, u * w, start, &near);
    } else {
      const int32_t sum = u * q->a_steps + w * q->b_steps;
      const int32_t part = (sum & ((1 << PART) - 1)) - (1 << (PART - 1));
      near = part >= -NEAR && part <= NEAR;
      v = (sum >> PART) + (part > 0) + zero;
    }
    if (near) v = megcc_qbinary_exact(q, u, w);
    v = v > q->least ? v : q->least;
    to[k] = (MEGCC_CTYPE(Y))(v < q->most ? v : q->most);
  }
}

#else

enum { BLOCK = MEGCC_QBINARY_BLOCK };

typedef struct {
  int32_t a_zero, b_zero, zero;
  float a_scale, b_scale, scale, offset, low, high;
} megcc_qbinary_t;

MEGCC_INLINE megcc_qbinary_t megcc_qbinary_of(const int32_t *attr) {
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
  return q;
}

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

#endif

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  const megcc_qbinary_t q = megcc_qbinary_of(attr);
  (void)workspace;
  megcc_qbinary(ptr, attr, begin, end, megcc_qbinary_run, &q);
}
