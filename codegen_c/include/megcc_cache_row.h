// A row of a cache in int8: its numbers, and behind them, as a float, the factor of all of them.
#ifndef MEGCC_CACHE_ROW_H
#define MEGCC_CACHE_ROW_H

#include "math/megcc_math.h"
#include "megcc_kernel.h"
#include "megcc_move.h"

// The factor of a row of d numbers. It may be anywhere in memory.
MEGCC_INLINE float megcc_cache_row_factor(const int8_t *row, int32_t d) {
  float factor;
  megcc_copy_apart(&factor, row + d, sizeof factor);
  return factor;
}

// A row of d floats: op/cache_append.h.
MEGCC_INLINE void megcc_cache_row_rounded(const float *x, int8_t *row, int32_t d) {
  float most = 0.0f, inverse = 0.0f, factor;
  int is_finite = 1;
  for (int32_t i = 0; i < d; ++i) {
    const float size = megcc_fabsf(x[i]);
    most = size > most ? size : most;
    is_finite &= size <= 3.4028234e38f;
  }
  if (is_finite && most >= 1e-30f) inverse = 127.0f / most;
  for (int32_t i = 0; i < d; ++i)
    row[i] = is_finite ? (int8_t)(int32_t)megcc_roundf(x[i] * inverse) : 0;
  factor = is_finite ? most / 127.0f : MEGCC_NANF;
  megcc_copy_apart(row + d, &factor, sizeof factor);
}

#endif  // MEGCC_CACHE_ROW_H
