// Rounding to integers, signs and square roots for float and double: exact, no C library.
//
// Where the target has an instruction the compiler's builtin becomes it; elsewhere (SSE2, Armv7)
// adding and subtracting 2^23 (2^52) rounds.
#ifndef MEGCC_ROUND_H
#define MEGCC_ROUND_H

#include <stdint.h>

#include "math/megcc_int.h"

#if defined(__OPTIMIZE__) && \
    (defined(__aarch64__) || defined(__SSE4_1__) || defined(__ARM_FEATURE_DIRECTED_ROUNDING))
#define MEGCC_ROUND_INSTRUCTION 1
#endif

MEGCC_INLINE float megcc_fabsf(float x) {
  return megcc_f32_from_bits(megcc_f32_bits(x) & 0x7fffffffu);
}

MEGCC_INLINE double megcc_fabs(double x) {
  return megcc_f64_from_bits(megcc_f64_bits(x) & UINT64_C(0x7fffffffffffffff));
}

MEGCC_INLINE float megcc_copysignf(float x, float sign) {
  return megcc_f32_from_bits((megcc_f32_bits(x) & 0x7fffffffu) |
                             (megcc_f32_bits(sign) & 0x80000000u));
}

MEGCC_INLINE double megcc_copysign(double x, double sign) {
  return megcc_f64_from_bits((megcc_f64_bits(x) & UINT64_C(0x7fffffffffffffff)) |
                             (megcc_f64_bits(sign) & UINT64_C(0x8000000000000000)));
}

#if defined(MEGCC_ROUND_INSTRUCTION)

MEGCC_INLINE float megcc_floorf(float x) { return __builtin_floorf(x); }
MEGCC_INLINE float megcc_ceilf(float x) { return __builtin_ceilf(x); }
MEGCC_INLINE float megcc_truncf(float x) { return __builtin_truncf(x); }
/// To the nearest integer, halves to the even one.
MEGCC_INLINE float megcc_roundf(float x) { return __builtin_rintf(x); }
MEGCC_INLINE double megcc_floor(double x) { return __builtin_floor(x); }
MEGCC_INLINE double megcc_ceil(double x) { return __builtin_ceil(x); }
MEGCC_INLINE double megcc_trunc(double x) { return __builtin_trunc(x); }
/// To the nearest integer, halves to the even one.
MEGCC_INLINE double megcc_round(double x) { return __builtin_rint(x); }

#else

/// To the nearest integer, halves to the even one.
MEGCC_INLINE float megcc_roundf(float x) {
  const float a = megcc_fabsf(x);
  const float t = (a + 8388608.0f) - 8388608.0f;
  return megcc_copysignf(a < 8388608.0f ? t : a, x);
}

MEGCC_INLINE float megcc_floorf(float x) {
  const float r = megcc_roundf(x);
  return megcc_copysignf(r > x ? r - 1.0f : r, x);
}

MEGCC_INLINE float megcc_ceilf(float x) {
  const float r = megcc_roundf(x);
  return megcc_copysignf(r < x ? r + 1.0f : r, x);
}

MEGCC_INLINE float megcc_truncf(float x) {
  return megcc_copysignf(megcc_floorf(megcc_fabsf(x)), x);
}

/// To the nearest integer, halves to the even one.
MEGCC_INLINE double megcc_round(double x) {
  const double a = megcc_fabs(x);
  const double t = (a + 4503599627370496.0) - 4503599627370496.0;
  return megcc_copysign(a < 4503599627370496.0 ? t : a, x);
}

MEGCC_INLINE double megcc_floor(double x) {
  const double r = megcc_round(x);
  return megcc_copysign(r > x ? r - 1.0 : r, x);
}

MEGCC_INLINE double megcc_ceil(double x) {
  const double r = megcc_round(x);
  return megcc_copysign(r < x ? r + 1.0 : r, x);
}

MEGCC_INLINE double megcc_trunc(double x) { return megcc_copysign(megcc_floor(megcc_fabs(x)), x); }

#endif  // MEGCC_ROUND_INSTRUCTION

// Square roots are one instruction. The builtin is that instruction only when the compiler need not
// set errno (-fno-math-errno, which also lets it vectorise); otherwise it would call the C library.
//
// The unit of a Cortex-M has them for float only, or there is none: the builtin would call the C
// library there.
#if defined(__arm__) && !(defined(__ARM_FP) && (__ARM_FP & 8))
#define MEGCC_SQRT_BY_STEPS 1
#endif

#if !defined(MEGCC_SQRT_BY_STEPS) && defined(__OPTIMIZE__) && defined(__NO_MATH_ERRNO__)

MEGCC_INLINE float megcc_sqrtf(float x) { return __builtin_sqrtf(x); }
MEGCC_INLINE double megcc_sqrt(double x) { return __builtin_sqrt(x); }

#elif defined(__GNUC__) && defined(__SSE2__)

MEGCC_INLINE float megcc_sqrtf(float x) {
  __asm__("sqrtss %0, %0" : "+x"(x));
  return x;
}
MEGCC_INLINE double megcc_sqrt(double x) {
  __asm__("sqrtsd %0, %0" : "+x"(x));
  return x;
}

#elif defined(__GNUC__) && defined(__aarch64__)

MEGCC_INLINE float megcc_sqrtf(float x) {
  __asm__("fsqrt %s0, %s0" : "+w"(x));
  return x;
}
MEGCC_INLINE double megcc_sqrt(double x) {
  __asm__("fsqrt %d0, %d0" : "+w"(x));
  return x;
}

#elif !defined(MEGCC_SQRT_BY_STEPS) && defined(__GNUC__) && defined(__arm__)

MEGCC_INLINE float megcc_sqrtf(float x) {
  __asm__("vsqrt.f32 %0, %0" : "+t"(x));
  return x;
}
MEGCC_INLINE double megcc_sqrt(double x) {
  __asm__("vsqrt.f64 %P0, %P0" : "+w"(x));
  return x;
}

#else

/// By Newton's iteration on the reciprocal square root; correctly rounded by a last residual step.
MEGCC_INLINE double megcc_sqrt(double x) {
  if (!(x > 0.0) || x > 1.7976931348623157e308)
    return x == 0.0 || x > 0.0 ? x : x - x + (0.0 / 0.0);
  double scale = 1.0;
  if (x < 2.2250738585072014e-308) {
    x *= 18014398509481984.0;
    scale = 7.450580596923828e-09;
  }
  double r = megcc_f64_from_bits(UINT64_C(0x5fe6eb50c7b537a9) - (megcc_f64_bits(x) >> 1));
  for (int i = 0; i < 5; ++i) r = r * (1.5 - 0.5 * x * r * r);
  double s = x * r;
  s = s + 0.5 * r * (x - s * s);
  return s * scale;
}
#if defined(__GNUC__) && defined(__arm__) && defined(__ARM_FP)
MEGCC_INLINE float megcc_sqrtf(float x) {
  __asm__("vsqrt.f32 %0, %0" : "+t"(x));
  return x;
}
#else
MEGCC_INLINE float megcc_sqrtf(float x) { return (float)megcc_sqrt((double)x); }
#endif

#endif

#endif  // MEGCC_ROUND_H
