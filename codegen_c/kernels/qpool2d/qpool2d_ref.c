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
// The reference: blocks of channels, in loops that compilers vectorise.
#include "math/megcc_round.h"
#include "megcc_dtype.h"
#include "op/qpool2d.h"

#define MEGCC_POOL(name) QPOOL2D_##name
#include "megcc_pool8.h"

enum { BLOCK = 64 };

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
  for (int32_t k = 0; k < n; ++k) sum[k] = -t->rows * t->cols * q->x_zero;
  for (int32_t i = 0; i < t->rows; ++i) {
    for (int32_t j = 0; j < t->cols; ++j) {
      const MEGCC_CTYPE(X) *p = src + i * t->row_step + j * t->col_step;
      for (int32_t k = 0; k < n; ++k) sum[k] += p[k];
    }
  }
  for (int32_t k = 0; k < n; ++k) v[k] = (float)sum[k] / count * q->scale;
  for (int32_t k = 0; k < n; ++k) {
    float r = megcc_roundf(v[k] + q->offset);
    r = r > q->low ? r : q->low;
    sum[k] = (int32_t)(r < q->high ? r : q->high) + q->zero;
  }
  for (int32_t k = 0; k < n; ++k) dst[k] = (MEGCC_CTYPE(Y))sum[k];
}

static void megcc_qpool_pixel(const void *how, const megcc_pool8_t *t, uint8_t *dst) {
  const MEGCC_CTYPE(X) *x = (const MEGCC_CTYPE(X) *)t->src;
  MEGCC_CTYPE(Y) *y = (MEGCC_CTYPE(Y) *)dst;
  int32_t c = 0;
  for (; t->channels - c >= BLOCK; c += BLOCK) megcc_qpool_some(how, t, x + c, y + c, BLOCK);
  if (c < t->channels) megcc_qpool_some(how, t, x + c, y + c, t->channels - c);
}

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  const int32_t zero = attr[QPOOL2D_Y_ZERO];
  const megcc_qpool_t q = {attr[QPOOL2D_X_ZERO],
                           zero,
                           megcc_attr_f32(attr[QPOOL2D_SCALE]),
                           megcc_attr_f32(attr[QPOOL2D_OFFSET]),
                           (float)(attr[QPOOL2D_LOW] - zero),
                           (float)(attr[QPOOL2D_HIGH] - zero)};
  (void)workspace;
  megcc_pool8(ptr, attr, begin, end, megcc_qpool_pixel, &q);
}
