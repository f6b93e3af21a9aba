// kernel: qsoftmax_integer X=i8 Y=i8
// op: qsoftmax
// dtype: x=i8,u8 table=i32 y=i8,u8
// arch: portable
// isa: none
// rank: 0
// params: X=X Y=Y
// inplace: x
// work: outer * inner
// cost: 16 * axis
//
// Without floats, along any axis: one multiplication an element, and one division by steps for all
// elements of a column.
#include "megcc_dtype.h"
#include "megcc_fixed_point.h"
#include "op/qsoftmax.h"

typedef struct {
  uint32_t factor, down;
} megcc_reciprocal_t;

// factor / 2^down = 2^-30 / (sum * scale) for a sum in steps of 2^-30; factor is up to 2^31.
MEGCC_INLINE megcc_reciprocal_t megcc_reciprocal(uint64_t sum, uint32_t scale) {
  int32_t exponent;
  uint32_t rest;
  uint64_t d = sum;
  const uint32_t fraction = megcc_f32_fraction(scale, &exponent);
  exponent += 61;
  while (d >> 32 != 0) d >>= 1, ++exponent;
  d = megcc_product((uint32_t)d, fraction);
  while (d >> 31 != 0) d >>= 1, ++exponent;
  const megcc_reciprocal_t r = {megcc_f32_quotient((uint32_t)1 << 29, (uint32_t)d, 32, &rest),
                                exponent < 63 ? (uint32_t)exponent : 63};
  return r;
}

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  const int32_t axis = attr[QSOFTMAX_AXIS], inner = attr[QSOFTMAX_INNER];
  const int32_t zero = attr[QSOFTMAX_Y_ZERO];
  const int32_t low = attr[QSOFTMAX_LOW] - zero, high = attr[QSOFTMAX_HIGH] - zero;
  const uint32_t *table = ptr[1];
  (void)workspace;
  for (int32_t i = begin; i < end && axis > 0; ++i) {
    const ptrdiff_t at = (ptrdiff_t)(i / inner) * axis * inner + i % inner;
    const MEGCC_CTYPE(X) *x = (const MEGCC_CTYPE(X) *)ptr[0] + at;
    MEGCC_CTYPE(Y) *y = (MEGCC_CTYPE(Y) *)ptr[2] + at;
    int32_t most = x[0];
    uint64_t sum = 0;
    for (int32_t k = 1; k < axis; ++k) {
      const int32_t v = x[(ptrdiff_t)k * inner];
      most = v > most ? v : most;
    }
    for (int32_t k = 0; k < axis; ++k) sum += table[most - x[(ptrdiff_t)k * inner]];
    const megcc_reciprocal_t r = megcc_reciprocal(sum, (uint32_t)attr[QSOFTMAX_Y_SCALE]);
    const uint32_t down = r.down - 33;  // a quotient of 2^-20 and more has at least 41
    for (int32_t k = 0; k < axis; ++k, x += inner, y += inner) {
      const uint32_t product = (uint32_t)(megcc_product(table[most - *x], r.factor) >> 32);
      int32_t v = (int32_t)(((product >> down) + 1) >> 1);
      v = v > low ? v : low;
      v = v < high ? v : high;
      *y = (MEGCC_CTYPE(Y))(v + zero);
    }
  }
}
