// kernel: qbinary_mve A=i8 B=i8 Y=i8 FUNC=QBINARY_ADD
// like: qbinary_ref
// arch: cortexm
// isa: mve
// rank: 10
// cost: 5
//
// Four elements at a time, in fixed point. A block with an element whose result is next to a half
// is looked at again: such elements are computed one by one, as op/qbinary.h says.
#include "math/megcc_round.h"
#include "megcc_dtype.h"
#include "megcc_qbinary.h"
#include "simd/megcc_fixed_mve.h"
#include "simd/megcc_mve_bytes.h"

#define MOST 32  // elements of a block
// Scales and their reciprocals with which no number here is subnormal or infinite.
#define LARGE 1e9f
// The largest error of a sum, in its last bits: steps are rounded to integers (by 290 altogether),
// and f32 rounds four numbers below 255 * 2 (by 32 each), and three below 512 (by 32 each).
#define NEAR 640

typedef struct {
  int32_t a_zero, b_zero, zero, low, high;
  float a_scale, b_scale, scale, offset;
  int32_t a_steps, b_steps;  // steps of y that one of a and of b is, in fixed point
  megcc_fixed_t product;     // of two differences
  int32_t start, part;       // what a result begins with, and its bits below the point
  uint32_t window;           // of those bits, at the top of a word, that are next to a half
} megcc_qbinary_t;

// An element as op/qbinary.h says.
MEGCC_INLINE int32_t megcc_qbinary_one(const megcc_qbinary_t *q, int32_t a, int32_t b) {
  volatile float left = (float)(a - q->a_zero) * q->a_scale;   // rounded, though packages are
  volatile float right = (float)(b - q->b_zero) * q->b_scale;  // compiled with contraction
  float v = FUNC == QBINARY_MUL ? left * right : left + right;
  v = megcc_roundf(v / q->scale + q->offset);
  const float low = (float)(q->low - q->zero), high = (float)(q->high - q->zero);
  v = v > low ? v : low;
  return (int32_t)(v < high ? v : high) + q->zero;
}

// The result of an element in fixed point.
MEGCC_INLINE uint32_t megcc_qbinary_fixed(const megcc_qbinary_t *q, int32_t a, int32_t b) {
  if (FUNC != QBINARY_MUL) {
    return (uint32_t)a * (uint32_t)q->a_steps + (uint32_t)b * (uint32_t)q->b_steps +
           (uint32_t)q->start;
  }
  const int32_t t = (int32_t)((uint32_t)((a - q->a_zero) * (b - q->b_zero)) << q->product.up);
  return (uint32_t)((int64_t)t * q->product.factor >> 32) + (uint32_t)q->start;
}

// Computes the elements of a block that are next to a half.
MEGCC_COLD static void megcc_qbinary_mend(const megcc_qbinary_t *q, const MEGCC_CTYPE(A) * a,
                                          const MEGCC_CTYPE(B) * b, uint8_t *y, int32_t n) {
  for (int32_t k = 0; k < n; ++k) {
    if (megcc_qbinary_fixed(q, a[k], b[k]) << (32 - q->part) <= q->window) {
      y[k] = (uint8_t)megcc_qbinary_one(q, a[k], b[k]);
    }
  }
}

// Four elements of a in q0, of b in q1.
#define LOADS MEGCC_MVE_LOAD(A, 32) "q0, [%[a]], #4\n\t" MEGCC_MVE_LOAD(B, 32) "q1, [%[b]], #4\n\t"
// The text of megcc_qbinary_fixed of these, to q0; that of its bits below the point, to q1, and of
// those above it.
#if FUNC == QBINARY_MUL
#define FIXED                        \
  "vsub.i32 q0, q0, %[a_zero]\n\t"   \
  "vsub.i32 q1, q1, %[b_zero]\n\t"   \
  "vmul.i32 q0, q0, q1\n\t"          \
  "vshl.s32 q0, %[up]\n\t"           \
  "vmulh.s32 q0, q0, %q[factor]\n\t" \
  "vadd.i32 q0, q0, %[start]\n\t"
#define BELOW "vshl.i32 q1, q0, %[left]\n\t"
#define ABOVE "vshr.s32 q0, q0, %[right]\n\t"
#define FIXED_OPERANDS                                                                 \
  [a_zero] "r"(q->a_zero), [b_zero] "r"(q->b_zero), [up] "r"(q->product.up),           \
      [factor] "w"(vdupq_n_s32(q->product.factor)), [left] "i"(32 - MEGCC_FIXED_BITS), \
      [right] "i"(MEGCC_FIXED_BITS)
#else
#define FIXED                               \
  "vmlas.s32 q0, %q[a_steps], %[start]\n\t" \
  "vmla.s32 q0, q1, %[b_steps]\n\t"
#define BELOW "vshl.u32 q1, q0, %q[left]\n\t"
#define ABOVE "vshl.s32 q0, %[right]\n\t"
#define FIXED_OPERANDS                                               \
  [a_steps] "w"(vdupq_n_s32(q->a_steps)), [b_steps] "r"(q->b_steps), \
      [left] "w"(vdupq_n_s32(32 - q->part)), [right] "r"(-q->part)
#endif

// At most MOST elements to `y`; whether all are right.
MEGCC_INLINE int megcc_qbinary_block(const megcc_qbinary_t *q, const uint8_t *a, const uint8_t *b,
                                     uint8_t *y, int32_t n) {
  uint32x4_t least = vdupq_n_u32(0xffffffff);  // of the bits below the point
  __asm__ volatile(
      "dlstp.32 lr, %[n]\n"
      "1:\n\t" LOADS FIXED BELOW "vmin.u32 %q[least], %q[least], q1\n\t" ABOVE
      "vmax.s32 q0, q0, %q[low]\n\t"
      "vmin.s32 q0, q0, %q[high]\n\t"
      "vstrb.32 q0, [%[y]], #4\n\t"
      "letp lr, 1b"
      : [a] "+l"(a), [b] "+l"(b), [y] "+l"(y), [least] "+w"(least)
      : [n] "r"(n), [start] "r"(q->start), [low] "w"(vdupq_n_s32(q->low)),
        [high] "w"(vdupq_n_s32(q->high)), FIXED_OPERANDS
      : "lr", "q0", "q1", "memory");
  return vminvq_u32(0xffffffff, least) > q->window;
}

MEGCC_HOT static void megcc_qbinary_run(const void *how, const uint8_t *a, const uint8_t *b,
                                        uint8_t *y, int32_t n, int32_t step) {
  const megcc_qbinary_t *q = how;
  uint8_t kept[MOST];  // y may be a or b
  for (int32_t count; n > 0; n -= count, a += count, b += step * count, y += count) {
    count = n < MOST ? n : MOST;
    if (!megcc_qbinary_block(q, a, b, kept, count)) {
      megcc_qbinary_mend(q, (const MEGCC_CTYPE(A) *)a, (const MEGCC_CTYPE(B) *)b, kept, count);
    }
    megcc_mve_move(y, kept, count);
  }
}

MEGCC_INLINE int megcc_qbinary_is_usual(float scale) { return scale > 1 / LARGE && scale < LARGE; }

// The numbers of a call for fixed point. If it does not serve the scales, all elements are computed
// one by one.
static void megcc_qbinary_prepare(megcc_qbinary_t *q) {
  const float a = q->a_scale / q->scale, b = q->b_scale / q->scale, most = a > b ? a : b;
  const int is_fixed = megcc_qbinary_is_usual(q->scale) && megcc_qbinary_is_usual(q->a_scale) &&
                       megcc_qbinary_is_usual(q->b_scale) && megcc_mve_is_whole(q->offset) &&
                       (FUNC == QBINARY_MUL || most < 8);
  const int32_t zero = q->zero + (is_fixed ? (int32_t)q->offset : 0);
  q->a_steps = q->b_steps = q->start = 0;
  q->part = MEGCC_FIXED_BITS;
  q->product = megcc_mve_fixed_of(q->a_scale * b, 255 * 255);
  q->window = is_fixed ? q->product.window : 0xffffffff;
  if (is_fixed && FUNC == QBINARY_MUL) q->start = megcc_mve_fixed_start(zero);
  if (is_fixed && FUNC == QBINARY_ADD) {
    q->part = most < 2 ? 20 : 18;
    const int32_t one = 1 << q->part;
    q->window = (2u * NEAR) << (32 - q->part);
    q->a_steps = (int32_t)(a * (float)one + 0.5f);
    q->b_steps = (int32_t)(b * (float)one + 0.5f);
    q->start = zero * one + one / 2 + NEAR - q->a_zero * q->a_steps - q->b_zero * q->b_steps;
  }
}

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  megcc_qbinary_t q;
  (void)workspace;
  q.a_zero = attr[QBINARY_A_ZERO], q.b_zero = attr[QBINARY_B_ZERO], q.zero = attr[QBINARY_Y_ZERO];
  q.low = attr[QBINARY_LOW], q.high = attr[QBINARY_HIGH];
  q.a_scale = megcc_attr_f32(attr[QBINARY_A_SCALE]);
  q.b_scale = megcc_attr_f32(attr[QBINARY_B_SCALE]);
  q.scale = megcc_attr_f32(attr[QBINARY_Y_SCALE]);
  q.offset = megcc_attr_f32(attr[QBINARY_OFFSET]);
  megcc_qbinary_prepare(&q);
  megcc_qbinary(ptr, attr, begin, end, megcc_qbinary_run, &q);
}
