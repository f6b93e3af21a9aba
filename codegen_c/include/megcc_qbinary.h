// Broadcasts b against a for the kernels of qbinary: runs of bytes of both.
#ifndef MEGCC_QBINARY_H
#define MEGCC_QBINARY_H

#include "megcc_kernel.h"
#include "op/qbinary.h"

#define MEGCC_QBINARY_BLOCK 64  // elements of b that a kernel reads before it asks for more

// Computes `n` elements; `step` is 0 where b is one element, repeated MEGCC_QBINARY_BLOCK times.
typedef void (*megcc_qbinary_fn)(const void *how, const uint8_t *a, const uint8_t *b, uint8_t *y,
                                 int32_t n, int32_t step);

MEGCC_INLINE int32_t megcc_qbinary_least(int32_t a, int32_t b) { return a < b ? a : b; }

MEGCC_INLINE void megcc_qbinary(void *const *ptr, const int32_t *attr, int32_t begin, int32_t end,
                                megcc_qbinary_fn run, const void *how) {
  const uint8_t *a = ptr[0], *b = ptr[1];
  uint8_t *y = ptr[2], same[MEGCC_QBINARY_BLOCK];
  const int32_t inner = attr[QBINARY_INNER], period = attr[QBINARY_PERIOD];
  for (int32_t i = begin, n; i < end; i += n) {
    if (period == 1) {
      const int32_t at = i / inner;
      for (int32_t k = 0; k < MEGCC_QBINARY_BLOCK; ++k) same[k] = b[at];
      n = megcc_qbinary_least(end - i, inner - i % inner);
    } else {
      n = megcc_qbinary_least(end - i, period - i % period);
    }
    const int is_one = period == 1;
    run(how, a + i, is_one ? same : b + (ptrdiff_t)(i / period / inner) * period + i % period,
        y + i, n, is_one ? 0 : 1);
  }
}

#endif  // MEGCC_QBINARY_H
