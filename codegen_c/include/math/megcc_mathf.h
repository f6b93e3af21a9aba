// float functions of megcc_math.h; read its head first.
#ifndef MEGCC_MATHF_H
#define MEGCC_MATHF_H

#include <stdint.h>

#include "math/megcc_int.h"
#include "math/megcc_round.h"

#define MEGCC_INFF (megcc_f32_from_bits(0x7f800000u))
#define MEGCC_NANF (megcc_f32_from_bits(0x7fc00000u))

// -- questions, signs (exact) -----------------------------------------------------------------

MEGCC_INLINE int megcc_isinff(float x) { return (megcc_f32_bits(x) & 0x7fffffffu) == 0x7f800000u; }

MEGCC_INLINE int megcc_isfinitef(float x) {
  return (megcc_f32_bits(x) & 0x7fffffffu) < 0x7f800000u;
}

/// Whether x has a minus sign, which -0 and a NaN may have.
MEGCC_INLINE int megcc_signbitf(float x) { return (megcc_f32_bits(x) >> 31) != 0u; }

// -- exponentials -----------------------------------------------------------------------------

/// 2^k for -126 <= k <= 127.
MEGCC_INLINE float megcc_pow2if(int32_t k) {
  return megcc_f32_from_bits((uint32_t)(k + 127) << 23);
}

/// p * 2^k, also where 2^k alone is out of range (|k| <= 252); rounds once.
MEGCC_INLINE float megcc_scalef(float p, int32_t k) {
  const int32_t half = k >> 1;
  return p * megcc_pow2if(half) * megcc_pow2if(k - half);
}

/// Nearest integer to x (|x| < 2^22) as a float; its low bits are an integer too, without a cast.
MEGCC_INLINE float megcc_nearestf(float x, int32_t *k) {
  const float shifted = x + 12582912.0f;
  // A NaN's bits are no such integer: keep them in the range that the callers shift by.
  const uint32_t low = (megcc_f32_bits(shifted) - 0x4b400000u + 256u) & 511u;
  *k = (int32_t)low - 256;
  return shifted - 12582912.0f;
}

/// e^r for |r| <= 0.35.
MEGCC_INLINE float megcc_exp_polyf(float r) {
  float q = 0.0013951717f;
  q = q * r + 0.008369599f;
  q = q * r + 0.041666187f;
  q = q * r + 0.16666512f;
  q = q * r + 0.5f;
  return q * r * r + r + 1.0f;
}

/// x reduced by a multiple of ln 2 (|x| < 110).
MEGCC_INLINE float megcc_exp_reducef(float x, int32_t *k) {
  const float n = megcc_nearestf(x * 1.44269504f, k);
  return x - n * 0.693359375f + n * 2.12194440e-4f;
}

/// e^x - 1 without the sign of a zero and without the limits; |x| <= 89.
MEGCC_INLINE float megcc_expm1_coref(float x) {
  int32_t k;
  const float r = megcc_exp_reducef(x, &k);
  float q = 0.00019915686f;
  q = q * r + 0.0013942046f;
  q = q * r + 0.00833327f;
  q = q * r + 0.041666344f;
  q = q * r + 0.16666667f;
  q = q * r + 0.5f;
  q = q * r * r + r;
  // 2^k q + (2^k - 1) = 2^k (q + (1 - 2^-k)), and the bracket is exact where it matters.
  const float one = 1.0f - megcc_pow2if(k > 64 ? -64 : -k);
  return megcc_scalef(q + one, k);
}

// -- logarithms -------------------------------------------------------------------------------

/// log(1 + f) - f for sqrt(1/2) <= 1 + f <= sqrt(2).
MEGCC_INLINE float megcc_log_tailf(float f) {
  float q = -0.07872869f;
  q = q * f + 0.12900114f;
  q = q * f + -0.13132218f;
  q = q * f + 0.14178833f;
  q = q * f + -0.16623999f;
  q = q * f + 0.20002374f;
  q = q * f + -0.25000826f;
  q = q * f + 0.33333316f;
  const float f2 = f * f;
  return q * f * f2 - 0.5f * f2;
}

/// x = 2^k (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)), x positive and finite; returns f.
MEGCC_INLINE float megcc_log_splitf(float x, float *k) {
  const int subnormal = x < 1.17549435e-38f;
  const uint32_t bits =
      megcc_f32_bits(subnormal ? x * 8388608.0f : x) + (0x3f800000u - 0x3f3504f3u);
  const int32_t e = (int32_t)(bits >> 23) - (subnormal ? 150 : 127);
  *k = (float)e;
  return megcc_f32_from_bits((bits & 0x7fffffu) + 0x3f3504f3u) - 1.0f;
}

// -- inverse functions: polynomials -----------------------------------------------------------

/// (atan(t) - t) / t^3 for |t| <= tan(pi/8), z = t^2.
MEGCC_INLINE float megcc_atan_polyf(float z) {
  float p = -0.059725042f;
  p = p * z + 0.10553396f;
  p = p * z + -0.14238283f;
  p = p * z + 0.19998208f;
  return p * z + -0.3333331f;
}

/// asin(x) - x for 0 <= x <= 1/2, z = x^2, divided by x.
MEGCC_INLINE float megcc_asin_tailf(float z) {
  float p = 0.037565283f;
  p = p * z + 0.014402544f;
  p = p * z + 0.03181763f;
  p = p * z + 0.044515718f;
  p = p * z + 0.07500511f;
  p = p * z + 0.1666666f;
  return p * z;
}

// -- remainders (loop for quotients beyond 2^24; exact) -----------------------------------------

/// Remainder of x / y with the sign of x.
MEGCC_INLINE float megcc_fmodf(float x, float y) {
  const float a = megcc_fabsf(x);
  const float b = megcc_fabsf(y);
  if (!(b > 0.0f) || !(a < MEGCC_INFF)) return MEGCC_NANF;
  if (a < b) return x;
  double rest = (double)a;
  const double divisor = (double)b;
  // Each pass takes off a multiple of y that double holds exactly: 24 bits of the quotient.
  while (rest >= divisor * 16777216.0) {
    const uint64_t gap = (megcc_f64_bits(rest) >> 52) - (megcc_f64_bits(divisor) >> 52) - 24;
    const double shifted = megcc_f64_from_bits(megcc_f64_bits(divisor) + (gap << 52));
    const double q = megcc_trunc(rest / shifted);
    rest -= q * shifted;
    rest = rest < 0.0 ? rest + shifted : rest;
  }
  rest -= megcc_trunc(rest / divisor) * divisor;
  rest = rest < 0.0 ? rest + divisor : rest;
  rest = rest >= divisor ? rest - divisor : rest;
  return megcc_copysignf((float)rest, x);
}

#define MEGCC_REAL_BITS 32
#include "math/megcc_math_real.h"

// -- exponentials -----------------------------------------------------------------------------

/// 10^x, <= 2 ULP.
MEGCC_INLINE float megcc_exp10f(float x) {
  x = x < -46.0f ? -46.0f : x;
  x = x > 39.0f ? 39.0f : x;
  int32_t k;
  const float n = megcc_nearestf(x * 3.32192809f, &k);
  const float r = x - n * 0.301025390625f - n * 4.605038981e-6f;
  return megcc_scalef(megcc_exp_polyf(r * 2.30258512f + r * -3.1975437e-8f), k);
}

/// <= 3 ULP.
MEGCC_INLINE float megcc_coshf(float x) {
  const float e = megcc_half_expf(megcc_fabsf(x));
  return e + 0.25f / e;
}

/// <= 3 ULP.
MEGCC_INLINE float megcc_sinhf(float x) {
  const float a = megcc_fabsf(x);
  const float e = megcc_half_expf(a);
  const float t = megcc_expm1_coref(a > 2.0f ? 2.0f : a);
  const float s = a > 2.0f ? e - 0.25f / e : 0.5f * (t + t / (t + 1.0f));
  return megcc_copysignf(s, x);
}

// -- powers -----------------------------------------------------------------------------------

/// x^y, <= 1 ULP; computes in double.
MEGCC_INLINE float megcc_powf(float x, float y) {
  const float a = megcc_fabsf(x);
  float k;
  const float f = megcc_log_splitf(a, &k);
  // log2(1 + f) = 2/ln 2 atanh(f / (2 + f)), error 2^-44.
  const double s = (double)f / (2.0 + (double)f);
  const double z = s * s;
  double p = 0.0980063836366467;
  p = p * z + 0.11087537552195785;
  p = p * z + 0.14286066910180054;
  p = p * z + 0.1999999770492666;
  p = p * z + 0.33333333338178056;
  const double log2_a = (double)k + 2.885390081777927 * (s + s * z * p);
  double t = (double)y * log2_a;
  t = t < -160.0 ? -160.0 : t;
  t = t > 140.0 ? 140.0 : t;
  const double shifted = t + 6755399441055744.0;
  const double r = t - (shifted - 6755399441055744.0);
  const uint32_t n = ((uint32_t)megcc_f64_bits(shifted) + 512u) & 1023u;
  double q = 1.5315194190660935e-05;
  q = q * r + 0.0001546736532228178;
  q = q * r + 0.0013333429778399828;
  q = q * r + 0.009618036170437943;
  q = q * r + 0.05550410963703047;
  q = q * r + 0.2402265108043658;
  q = q * r + 0.6931471805413749;
  const double two_n = megcc_f64_from_bits((uint64_t)(n + 511u) << 52);
  float v = (float)((q * r + 1.0) * two_n);

  // Limits. An exponent is odd or whole by its value alone; beyond 2^24 every float is even.
  const float ay = megcc_fabsf(y);
  const int whole = megcc_truncf(y) == y;
  const int odd = whole && ay < 16777216.0f && megcc_truncf(y * 0.5f) != y * 0.5f;
  const int up = (a > 1.0f) == (y > 0.0f);  // a^y grows without bound as |y| does
  v = a == 0.0f || a > 3.4028235e38f ? ((a == 0.0f) == (y > 0.0f) ? 0.0f : MEGCC_INFF) : v;
  v = ay > 3.4028235e38f ? (up ? MEGCC_INFF : 0.0f) : v;
  v = a == 1.0f ? 1.0f : v;
  const int negative = (megcc_f32_bits(x) >> 31) != 0u;
  v = negative && odd ? -v : v;
  v = negative && !whole && a > 0.0f && a <= 3.4028235e38f ? MEGCC_NANF : v;
  v = x != x || y != y ? x + y : v;
  return y == 0.0f || x == 1.0f ? 1.0f : v;
}

/// sqrt(x^2 + y^2) without overflow on the way, <= 1 ULP; computes in double.
MEGCC_INLINE float megcc_hypotf(float x, float y) {
  const double a = (double)x;
  const double b = (double)y;
  const float h = (float)megcc_sqrt(a * a + b * b);
  return megcc_isinff(x) || megcc_isinff(y) ? MEGCC_INFF : h;
}

/// x * 2^k.
MEGCC_INLINE float megcc_ldexpf(float x, int32_t k) {
  k = k < -300 ? -300 : k;
  k = k > 300 ? 300 : k;
  const double two_k = megcc_f64_from_bits((uint64_t)(uint32_t)(k + 1023) << 52);
  return (float)((double)x * two_k);
}

// -- error function ---------------------------------------------------------------------------

/// <= 2 ULP.
MEGCC_INLINE float megcc_erff(float x) {
  float a = megcc_fabsf(x);
  a = a > 4.0f ? 4.0f : a;
  const float z = a * a;
  float p = 8.370103e-05f;
  p = p * z + -0.0008142705f;
  p = p * z + 0.0052010324f;
  p = p * z + -0.026859399f;
  p = p * z + 0.11283696f;
  p = p * z + -0.37612635f;
  p = p * z + 0.12837917f;
  const float near = p * a + a;
  // Above 0.92: 1 - e^(-a g(a)), where a g(a) = -log(erfc(a)).
  float g = -4.518019e-05f * a + -5.1635066e-05f;
  g = 4.9053706e-06f * (a * a) + g;
  g = g * a + 0.0029358333f;
  g = g * a + -0.022683354f;
  g = g * a + 0.10527147f;
  g = g * a + 0.6356207f;
  g = g * a + 1.1285527f;
  const float far = 1.0f - megcc_expf(-a * g);
  return megcc_copysignf(a < 0.921875f ? near : far, x);
}

// -- inverse functions ------------------------------------------------------------------------

/// <= 2 ULP.
MEGCC_INLINE float megcc_acosf(float x) {
  const float a = megcc_fabsf(x);
  const int big = a > 0.5f;
  const float z = big ? 0.5f - 0.5f * a : a * a;
  const float s = big ? megcc_sqrtf(z) : x;
  const float tail = s * megcc_asin_tailf(z);
  const float middle = 1.57079633f - (s + (tail + 4.37113883e-8f));
  const float end = 2.0f * (s + tail);
  const float y = big ? (x < 0.0f ? 3.14159274f - (end + 8.74227766e-8f) : end) : middle;
  return a <= 1.0f ? y : MEGCC_NANF;
}

/// <= 3 ULP.
MEGCC_INLINE float megcc_acoshf(float x) {
  const float t = (x > 1e9f ? 1e9f : x) - 1.0f;
  const float near = megcc_log1pf(t + megcc_sqrtf(2.0f * t + t * t));
  const float far = megcc_logf(x) + 0.693147181f;
  return x > 1e9f ? far : (x < 1.0f ? MEGCC_NANF : near);
}

#endif  // MEGCC_MATHF_H
