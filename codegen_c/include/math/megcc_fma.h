// megcc_fmaf: a * b + c, rounded once, by an instruction where the machine has one.
#ifndef MEGCC_FMA_H
#define MEGCC_FMA_H

#include "megcc_kernel.h"

/// In double the product is exact, and with the sum rounded before it becomes a float: that shows
/// once in 2^29 times.
MEGCC_INLINE float megcc_fmaf(float a, float b, float c) {
#if defined(__GNUC__) && (defined(__FP_FAST_FMAF) || defined(__ARM_FEATURE_FMA) || defined(__FMA__))
  return __builtin_fmaf(a, b, c);
#else
  return (float)((double)a * (double)b + (double)c);
#endif
}

#endif  // MEGCC_FMA_H
