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
#include "math/megcc_round.h"
#include "megcc_dtype.h"
#include "megcc_soft_floats.h"
#include "op/qpool2d.h"

#define MEGCC_POOL(name) QPOOL2D_##name
#include "megcc_pool8.h"

enum { BLOCK = 64 };

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

#if MEGCC_SOFT_FLOATS

#include "megcc_f32_integer.h"
#include "megcc_requant_fixed.h"

#define ONE 0x3f800000  // 1.0f
// Elements of a window whose average, rounded to f32, is no half unless it was one: the distance to
// a half is at least 1 / (2 * MOST), and f32 rounds a number below 256 by at most 2^-17, twice with
// an offset.
#define MOST (1 << 14)

typedef struct {
  int32_t x_zero, zero, low, high;
  uint32_t scale, offset;  // float bits
  int32_t whole;           // the offset, if that is an integer of a zero point's size
  int is_whole;
} megcc_qpool_t;

MEGCC_INLINE megcc_qpool_t megcc_qpool_of(const int32_t *attr) {
  const uint32_t offset = (uint32_t)attr[QPOOL2D_OFFSET];
  const int32_t nearest = offset << 1 == 0 ? 0 : megcc_f32_nearest(offset);
  const int is_whole = nearest == 0
                           ? offset << 1 == 0
                           : nearest >= -256 && nearest <= 256 && megcc_f32_of(nearest) == offset;
  const megcc_qpool_t q = {attr[QPOOL2D_X_ZERO],
                           attr[QPOOL2D_Y_ZERO],
                           attr[QPOOL2D_LOW],
                           attr[QPOOL2D_HIGH],
                           (uint32_t)attr[QPOOL2D_SCALE],
                           offset,
                           is_whole ? nearest : 0,
                           is_whole};
  return q;
}

// An element as op/qpool2d.h says, step by step.
MEGCC_COLD static int32_t megcc_qpool_exact(const megcc_qpool_t *q, int32_t sum, int32_t count) {
  uint32_t v = megcc_f32_of(sum);
  if (FUNC == QPOOL2D_AVG) v = megcc_f32_div(v, megcc_f32_of(count));
  v = megcc_f32_add(megcc_f32_mul(v, q->scale), q->offset);
  return megcc_f32_stored(v, q->zero, q->low, q->high);
}

// `n` channels, at most BLOCK.
MEGCC_INLINE void megcc_qpool_some(const megcc_qpool_t *q, const megcc_pool8_t *t,
                                   const MEGCC_CTYPE(X) * src, MEGCC_CTYPE(Y) * dst, int32_t n) {
  const int32_t count = FUNC == QPOOL2D_AVG ? t->count : 1;
  const int32_t zero = q->zero + q->whole, low = q->low, high = q->high;
  int32_t sum[BLOCK];
  megcc_qpool_sums(t, q->x_zero, src, sum, n);
  if (q->scale == ONE && q->is_whole && count > 0 && count <= MOST && t->rows * t->cols <= MOST) {
    const uint32_t twice = 2 * (uint32_t)count;
    const int32_t start = q->whole * count, y_zero = q->zero;
    for (int32_t k = 0; k < n; ++k) {
      const int32_t s = sum[k] + start;
      const uint32_t up = (s < 0 ? 0 - (uint32_t)s : (uint32_t)s) * 2 + (uint32_t)count;
      uint32_t m = up / twice;
      if (m * twice == up) m &= ~1u;  // a half
      const int32_t v = (s < 0 ? -(int32_t)m : (int32_t)m) + y_zero;
      dst[k] = (MEGCC_CTYPE(Y))(v < low ? low : v < high ? v : high);
    }
    return;
  }
  // Beside the roundings that megcc_requant_fixed.h knows of there are that of a quotient twice,
  // and of the offset: 3/16 of its last bit, for which its limit has room.
  const uint32_t ratio =
      FUNC == QPOOL2D_AVG ? megcc_f32_div(q->scale, megcc_f32_of(count)) : q->scale;
  const megcc_fixed_t v = megcc_fixed_of(ratio, (uint32_t)t->rows * (uint32_t)t->cols * 255);
  const int32_t start = megcc_fixed_start(zero);
  for (int32_t k = 0; k < n; ++k) {
    int near;
    int32_t r = megcc_fixed(&v, sum[k], start, &near);
    if (near || !q->is_whole) r = megcc_qpool_exact(q, sum[k], count);
    dst[k] = (MEGCC_CTYPE(Y))(r < low ? low : r < high ? r : high);
  }
}

#else

typedef struct {
  int32_t x_zero, zero;
  float scale, offset, low, high;
} megcc_qpool_t;

// `n` channels, at most BLOCK. The products have a loop of their own, so that none is contracted
// with the offset.
MEGCC_INLINE void megcc_qpool_some(const megcc_qpool_t *q, const megcc_pool8_t *t,
                                   const MEGCC_CTYPE(X) * src, MEGCC_CTYPE(Y) * dst, int32_t n) {
  int32_t sum[BLOCK];
  float v[BLOCK];
  const float count = FUNC == QPOOL2D_AVG ? (float)t->count : 1.0f;
  megcc_qpool_sums(t, q->x_zero, src, sum, n);
  for (int32_t k = 0; k < n; ++k) v[k] = (float)sum[k] / count * q->scale;
  for (int32_t k = 0; k < n; ++k) {
    float r = megcc_roundf(v[k] + q->offset);
    r = r > q->low ? r : q->low;
    sum[k] = (int32_t)(r < q->high ? r : q->high) + q->zero;
  }
  for (int32_t k = 0; k < n; ++k) dst[k] = (MEGCC_CTYPE(Y))sum[k];
}

MEGCC_INLINE megcc_qpool_t megcc_qpool_of(const int32_t *attr) {
  const int32_t zero = attr[QPOOL2D_Y_ZERO];
  const megcc_qpool_t q = {attr[QPOOL2D_X_ZERO],
                           zero,
                           megcc_attr_f32(attr[QPOOL2D_SCALE]),
                           megcc_attr_f32(attr[QPOOL2D_OFFSET]),
                           (float)(attr[QPOOL2D_LOW] - zero),
                           (float)(attr[QPOOL2D_HIGH] - zero)};
  return q;
}

#endif

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
