// kernel: qresize2d_ref X=i8 Y=i8 ROUND=QRESIZE2D_EVEN SIXTEENTHS=0
// op: qresize2d
// dtype: x=i8,u8 y=i8,u8
// arch: portable
// isa: none
// rank: 0
// params: X=X Y=Y ROUND=round SIXTEENTHS=sixteenths
// workspace: 12 * ow + 4 * w * c
// work: n * oh
// cost: 30 * ow * c
//
// The reference: two rows become one, then two columns of it a pixel. Sixteenths are integers.
// Machines without floats compute them without.
#include "math/megcc_round.h"
#include "megcc_dtype.h"
#include "megcc_qresize.h"
#include "megcc_requant_integer.h"

enum { BLOCK = 64 };

#if MEGCC_QRESIZE_INTEGER
typedef struct {
  int32_t x_zero, zero, low, high;
  uint32_t scale;  // float bits, of a number divided by 256
} megcc_qresize_t;
#else
typedef struct {
  int32_t x_zero, zero;
  float scale, low, high;
} megcc_qresize_t;
#endif

#if SIXTEENTHS
typedef int32_t megcc_qresize_value_t;  // 16 times the number, then 256 times

// Mixes a and b by weight, times 16.
MEGCC_INLINE void megcc_qresize_mix(const int32_t *a, const int32_t *b,
                                    megcc_qresize_weight_t weight, int32_t *y, int32_t n) {
  const int32_t right = (int32_t)(MEGCC_QRESIZE_INTEGER ? weight : weight * 16);
  const int32_t left = 16 - right;
  for (int32_t k = 0; k < n; ++k) y[k] = a[k] * left + b[k] * right;
}
#else
typedef float megcc_qresize_value_t;

// The products have loops of their own, so that none is contracted with the sum.
MEGCC_INLINE void megcc_qresize_mix(const float *a, const float *b, float weight, float *y,
                                    int32_t n) {
  float part[BLOCK];
  for (int32_t k = 0; k < n; ++k) part[k] = (b[k] - a[k]) * weight;
  for (int32_t k = 0; k < n; ++k) y[k] = a[k] + part[k];
}
#endif

// Mixes `n` elements of two rows, at most BLOCK.
MEGCC_INLINE void megcc_qresize_down(const megcc_qresize_t *q, const megcc_qresize_row_t *row,
                                     ptrdiff_t at, int32_t n) {
  const MEGCC_CTYPE(X) *upper = (const MEGCC_CTYPE(X) *)row->upper + at;
  const MEGCC_CTYPE(X) *lower = (const MEGCC_CTYPE(X) *)row->lower + at;
  megcc_qresize_value_t a[BLOCK], b[BLOCK];
  for (int32_t k = 0; k < n; ++k) a[k] = (megcc_qresize_value_t)(upper[k] - q->x_zero);
  for (int32_t k = 0; k < n; ++k) b[k] = (megcc_qresize_value_t)(lower[k] - q->x_zero);
  megcc_qresize_mix(a, b, row->weight, (megcc_qresize_value_t *)row->mixed + at, n);
}

MEGCC_INLINE void megcc_qresize_store(const megcc_qresize_t *q, const megcc_qresize_value_t *v,
                                      MEGCC_CTYPE(Y) * y, int32_t n) {
#if MEGCC_QRESIZE_INTEGER
  for (int32_t k = 0; k < n; ++k) {
    int32_t whole = v[k] / 256 + q->zero;
    if (ROUND == QRESIZE2D_EVEN) {
      whole = megcc_requant_integer(v[k], q->scale, q->zero, q->low, q->high);
    } else {
      whole = whole > q->low ? whole : q->low;
      whole = whole < q->high ? whole : q->high;
    }
    y[k] = (MEGCC_CTYPE(Y))whole;
  }
#else
  int32_t whole[BLOCK];
  for (int32_t k = 0; k < n; ++k) {
    float number = (float)v[k] * (SIXTEENTHS ? 0.00390625f : 1.0f);
    if (ROUND == QRESIZE2D_EVEN) number = megcc_roundf(number * q->scale);
    number = number > q->low ? number : q->low;
    whole[k] = (int32_t)(number < q->high ? number : q->high) + q->zero;
  }
  for (int32_t k = 0; k < n; ++k) y[k] = (MEGCC_CTYPE(Y))whole[k];
#endif
}

static void megcc_qresize_row(const void *how, const megcc_qresize_row_t *row, uint8_t *y) {
  const megcc_qresize_t *q = how;
  const int32_t channels = row->channels;
  const ptrdiff_t length = (ptrdiff_t)row->width * channels;
  MEGCC_CTYPE(Y) *to = (MEGCC_CTYPE(Y) *)y;
  for (ptrdiff_t at = 0; at < length; at += BLOCK)
    megcc_qresize_down(q, row, at, length - at < BLOCK ? (int32_t)(length - at) : BLOCK);
  for (int32_t i = 0; i < row->out; ++i, to += channels) {
    const megcc_qresize_tap_t *tap = row->taps + i;
    const megcc_qresize_value_t *left = row->mixed, *right = row->mixed;
    left += (ptrdiff_t)tap->lo * channels, right += (ptrdiff_t)tap->hi * channels;
    for (int32_t c = 0; c < channels; c += BLOCK) {
      const int32_t n = channels - c < BLOCK ? channels - c : BLOCK;
      megcc_qresize_value_t v[BLOCK];
      megcc_qresize_mix(left + c, right + c, tap->weight, v, n);
      megcc_qresize_store(q, v, to + c, n);
    }
  }
}

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  const int32_t zero = attr[QRESIZE2D_Y_ZERO];
#if MEGCC_QRESIZE_INTEGER
  // Of a scale that is too small to be divided, all results are the zero point.
  const uint32_t scale = (uint32_t)attr[QRESIZE2D_SCALE], eight = (uint32_t)8 << 23;
  const megcc_qresize_t q = {attr[QRESIZE2D_X_ZERO], zero, attr[QRESIZE2D_LOW],
                             attr[QRESIZE2D_HIGH], scale > 2 * eight ? scale - eight : 0};
#else
  const megcc_qresize_t q = {attr[QRESIZE2D_X_ZERO], zero, megcc_attr_f32(attr[QRESIZE2D_SCALE]),
                             (float)(attr[QRESIZE2D_LOW] - zero),
                             (float)(attr[QRESIZE2D_HIGH] - zero)};
#endif
  megcc_qresize(ptr, attr, workspace, begin, end, megcc_qresize_row, &q);
}
