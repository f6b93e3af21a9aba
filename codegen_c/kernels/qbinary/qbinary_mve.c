// kernel: qbinary_mve A=i8 B=i8 Y=i8 FUNC=QBINARY_ADD OFFSET=0
// like: qbinary_ref
// arch: cortexm
// isa: mve
// rank: 10
// params: A=A B=B Y=Y FUNC=func OFFSET=(offset != 0)
// cost: 5
//
// Four elements at a time. With floats (mve.fp): Helium does not divide, so v / Y_SCALE is v times
// 1 / Y_SCALE, which differs by less than 2^-12 where y is within its limits. A block with an
// element that near to a half, about one in 100, is computed again by divisions, which are exact.
//
// Without floats: in fixed point. Next to a half, elements are computed one by one.
#include <arm_mve.h>

#include "math/megcc_round.h"
#include "megcc_dtype.h"
#include "megcc_qbinary.h"
#include "simd/megcc_fixed_mve.h"

#define MOST 16  // elements of a block
// How far from its integer a number may be, whose rounding is beyond doubt.
#define CLEAR 0.4997f
// Scales and their reciprocals with which no product here is infinite.
#define LARGE 1e9f

typedef struct {
  int32_t a_zero, b_zero, zero, low, high;
  float a_scale, b_scale, scale, inverse, offset;  // inverse: 0 for scales that are not usual
#if MEGCC_MVE_FIXED
  int32_t a_steps, b_steps;  // steps of y that one of a and of b is, times 2^PART
  megcc_fixed_t fixed;       // of products
#endif
} megcc_qbinary_t;

// An element as op/qbinary.h says, of those of a and b less their zero points.
MEGCC_INLINE int32_t megcc_qbinary_one(const megcc_qbinary_t *q, int32_t a, int32_t b) {
  float left = (float)a * q->a_scale, right = (float)b * q->b_scale;
#if !MEGCC_MVE_FIXED
  __asm__("" : "+t"(left), "+t"(right));  // rounded, though packages are compiled with contraction
#endif
  float v = FUNC == QBINARY_MUL ? left * right : left + right;
  v = megcc_roundf(v / q->scale + q->offset);
  const float low = (float)(q->low - q->zero), high = (float)(q->high - q->zero);
  v = v > low ? v : low;
  return (int32_t)(v < high ? v : high) + q->zero;
}

#define MEGCC_WIDENED_i8 vldrbq_z_s32
#define MEGCC_WIDENED_u8(p, some) vreinterpretq_s32_u32(vldrbq_z_u32(p, some))

#if MEGCC_MVE_FIXED

// Bits of a sum below the point, and the largest error in its last bits: steps are rounded to an
// integer (2 * 255 / 2 of them), and f32 rounds four numbers below 255 * 8, and two below 256.
enum { PART = 18, NEAR = 512 };

// `v`, with the elements of `near` computed one by one.
MEGCC_COLD static int32x4_t megcc_qbinary_mended(const megcc_qbinary_t *q, int32x4_t left,
                                                 int32x4_t right, int32x4_t v, mve_pred16_t near) {
  int32_t l[4], r[4], y[4];
  vstrwq_s32(l, left), vstrwq_s32(r, right), vstrwq_s32(y, v);
  for (int k = 0; k < 4; ++k) {
    if (megcc_mve_is_near(near, k)) y[k] = megcc_qbinary_one(q, l[k], r[k]);
  }
  return vldrwq_s32(y);
}

static void megcc_qbinary_run(const void *how, const uint8_t *a, const uint8_t *b, uint8_t *y,
                              int32_t n, int32_t step) {
  const megcc_qbinary_t *q = how;
  const int32x4_t low = vdupq_n_s32(q->low), high = vdupq_n_s32(q->high);
  const int32_t start = FUNC == QBINARY_MUL ? megcc_fixed_start(q->zero) : (1 << (PART - 1)) + NEAR;
  const int is_fixed = q->inverse != 0;
  for (; n > 0; n -= 4, a += 4, b += 4 * step, y += 4) {
    const mve_pred16_t some = vctp32q((uint32_t)n);
    mve_pred16_t near = some;
    const MEGCC_CTYPE(A) *x = (const MEGCC_CTYPE(A) *)a;
    const MEGCC_CTYPE(B) *z = (const MEGCC_CTYPE(B) *)b;
    const int32x4_t l = vsubq_n_s32(MEGCC_CAT(MEGCC_WIDENED_, A)(x, some), q->a_zero);
    const int32x4_t r = vsubq_n_s32(MEGCC_CAT(MEGCC_WIDENED_, B)(z, some), q->b_zero);
    int32x4_t v = l;
    if (is_fixed && FUNC == QBINARY_MUL) {
      v = megcc_mve_fixed(&q->fixed, vmulq_s32(l, r), start, some, &near);
    } else if (is_fixed) {
      v = vaddq_n_s32(vmlaq_n_s32(vmulq_n_s32(l, q->a_steps), r, q->b_steps), start);
      const uint32x4_t part = vshlq_n_u32(vreinterpretq_u32_s32(v), 32 - PART);
      near = vcmpcsq_m_u32(vdupq_n_u32((2u * NEAR) << (32 - PART)), part, some);
      v = vaddq_n_s32(vshrq_n_s32(v, PART), q->zero);
    }
    if (near != 0) v = megcc_qbinary_mended(q, l, r, v, near);
    vstrbq_p_s32((int8_t *)y, vminq_s32(vmaxq_s32(v, low), high), some);
  }
}

// The numbers of a call for fixed point, if that serves its scales.
static void megcc_qbinary_prepare(megcc_qbinary_t *q) {
  const float a = q->a_scale / q->scale, b = q->b_scale / q->scale, product = q->a_scale * b;
  q->a_steps = q->b_steps = 0;
  q->fixed = megcc_mve_fixed_of(product, 255 * 255);
  if (OFFSET || (FUNC == QBINARY_ADD && (a >= 8 || b >= 8))) q->inverse = 0;
  if (q->inverse == 0) return;
  if (FUNC == QBINARY_MUL) return;
  q->a_steps = (int32_t)(a * (1 << PART) + 0.5f);
  q->b_steps = (int32_t)(b * (1 << PART) + 0.5f);
}

#else

MEGCC_COLD static void megcc_qbinary_exact(const megcc_qbinary_t *q, const MEGCC_CTYPE(A) * a,
                                           const MEGCC_CTYPE(B) * b, uint8_t *y, int32_t n) {
  for (int32_t k = 0; k < n; ++k) {
    y[k] = (uint8_t)megcc_qbinary_one(q, a[k] - q->a_zero, b[k] - q->b_zero);
  }
}

// At most MOST elements to `y`; whether all are right.
MEGCC_INLINE int megcc_qbinary_block(const megcc_qbinary_t *q, const MEGCC_CTYPE(A) * a,
                                     const MEGCC_CTYPE(B) * b, uint8_t *y, int32_t n) {
  const int32x4_t low = vdupq_n_s32(q->low), high = vdupq_n_s32(q->high);
  float32x4_t most = vdupq_n_f32(0.0f);
  for (; n > 0; n -= 4, a += 4, b += 4, y += 4) {
    const mve_pred16_t some = vctp32q((uint32_t)n);
    const int32x4_t l = vsubq_n_s32(MEGCC_CAT(MEGCC_WIDENED_, A)(a, some), q->a_zero);
    const int32x4_t r = vsubq_n_s32(MEGCC_CAT(MEGCC_WIDENED_, B)(b, some), q->b_zero);
    float32x4_t left = vmulq_n_f32(vcvtq_f32_s32(l), q->a_scale);
    float32x4_t right = vmulq_n_f32(vcvtq_f32_s32(r), q->b_scale);
    __asm__("" : "+w"(left), "+w"(right));
    float32x4_t v = FUNC == QBINARY_MUL ? vmulq_f32(left, right) : vaddq_f32(left, right);
    v = vmulq_n_f32(v, q->inverse);
#if OFFSET
    __asm__("" : "+w"(v));
    v = vaddq_n_f32(v, q->offset);
#endif
    const float32x4_t whole = vrndnq_f32(v);
    most = vmaxnmaq_m_f32(most, vsubq_f32(v, whole), some);
    int32x4_t to = vqaddq_n_s32(vcvtq_s32_f32(whole), q->zero);
    to = vminq_s32(vmaxq_s32(to, low), high);
    vstrbq_p_s32((int8_t *)y, to, some);
  }
  return vcmpgtq_n_f32(most, CLEAR) == 0;
}

static void megcc_qbinary_run(const void *how, const uint8_t *a, const uint8_t *b, uint8_t *y,
                              int32_t n, int32_t step) {
  const megcc_qbinary_t *q = how;
  uint8_t kept[MOST];  // y may be a or b
  for (int32_t count; n > 0; n -= count, a += count, b += step * count, y += count) {
    count = n < MOST ? n : MOST;
    const MEGCC_CTYPE(A) *l = (const MEGCC_CTYPE(A) *)a;
    const MEGCC_CTYPE(B) *r = (const MEGCC_CTYPE(B) *)b;
    if (q->inverse == 0 || !megcc_qbinary_block(q, l, r, kept, count)) {
      megcc_qbinary_exact(q, l, r, kept, count);
    }
    for (int32_t k = 0; k < count; k += 16) {
      const mve_pred16_t some = vctp8q((uint32_t)(count - k));
      vstrbq_p_u8(y + k, vldrbq_z_u8(kept + k, some), some);
    }
  }
}

#endif

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
  const int usual = q.scale > 1 / LARGE && q.scale < LARGE && q.a_scale < LARGE &&
                    q.b_scale < LARGE && q.a_scale > 1 / LARGE && q.b_scale > 1 / LARGE;
  q.inverse = usual ? 1 / q.scale : 0;
#if MEGCC_MVE_FIXED
  megcc_qbinary_prepare(&q);
#endif
  megcc_qbinary(ptr, attr, begin, end, megcc_qbinary_run, &q);
}
