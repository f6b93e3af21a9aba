// float functions of megcc_math.h; read its head first.
#ifndef MEGCC_MATHF_H
#define MEGCC_MATHF_H

#include <stdint.h>

#include "math/megcc_int.h"
#include "math/megcc_round.h"

#define MEGCC_INFF (megcc_f32_from_bits(0x7f800000u))
#define MEGCC_NANF (megcc_f32_from_bits(0x7fc00000u))

// -- questions, signs (exact) -----------------------------------------------------------------

MEGCC_INLINE int megcc_isnanf(float x) { return x != x; }

MEGCC_INLINE int megcc_isinff(float x) { return (megcc_f32_bits(x) & 0x7fffffffu) == 0x7f800000u; }

MEGCC_INLINE int megcc_isfinitef(float x) {
  return (megcc_f32_bits(x) & 0x7fffffffu) < 0x7f800000u;
}

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

/// e^x, <= 1 ULP.
MEGCC_INLINE float megcc_expf(float x) {
  x = x < -104.0f ? -104.0f : x;
  x = x > 89.0f ? 89.0f : x;
  int32_t k;
  const float r = megcc_exp_reducef(x, &k);
  return megcc_scalef(megcc_exp_polyf(r), k);
}

/// 2^x, <= 2 ULP; exact for integers.
MEGCC_INLINE float megcc_exp2f(float x) {
  x = x < -150.0f ? -150.0f : x;
  x = x > 128.0f ? 128.0f : x;
  int32_t k;
  const float n = megcc_nearestf(x, &k);
  return megcc_scalef(megcc_exp_polyf((x - n) * 0.693147181f), k);
}

/// 10^x, <= 2 ULP.
MEGCC_INLINE float megcc_exp10f(float x) {
  x = x < -46.0f ? -46.0f : x;
  x = x > 39.0f ? 39.0f : x;
  int32_t k;
  const float n = megcc_nearestf(x * 3.32192809f, &k);
  const float r = x - n * 0.301025390625f - n * 4.605038981e-6f;
  return megcc_scalef(megcc_exp_polyf(r * 2.30258512f + r * -3.1975437e-8f), k);
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

/// e^x - 1, <= 2 ULP.
MEGCC_INLINE float megcc_expm1f(float x) {
  float y = x < -18.0f ? -18.0f : x;
  y = y > 89.0f ? 89.0f : y;
  const float e = megcc_expm1_coref(y);
  return x == 0.0f ? x : e;
}

/// 1 / (1 + e^-x), <= 3 ULP.
MEGCC_INLINE float megcc_sigmoidf(float x) {
  const float e = megcc_expf(-megcc_fabsf(x));
  return (x < 0.0f ? e : 1.0f) / (1.0f + e);
}

/// <= 3 ULP.
MEGCC_INLINE float megcc_tanhf(float x) {
  float a = megcc_fabsf(x);
  a = a > 10.0f ? 10.0f : a;
  const float t = megcc_expm1_coref(2.0f * a);
  return megcc_copysignf(t / (t + 2.0f), x);
}

/// e^x / 2 for x >= 0, also where e^x itself overflows.
MEGCC_INLINE float megcc_half_expf(float x) {
  // e^(355/512) / 2; x - 355/512 is exact where the difference matters.
  return megcc_expf(x - 0.693359375f) * 1.00021219f;
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

/// The values of any logarithm where x is not positive and finite.
MEGCC_INLINE float megcc_log_limitsf(float x, float y) {
  y = x == 0.0f ? -MEGCC_INFF : y;
  y = x < 0.0f ? MEGCC_NANF : y;
  return x < MEGCC_INFF ? y : x;
}

/// <= 1 ULP.
MEGCC_INLINE float megcc_logf(float x) {
  float k;
  const float f = megcc_log_splitf(x, &k);
  const float y = k * 0.693359375f + (f + (megcc_log_tailf(f) + k * -2.12194440e-4f));
  return megcc_log_limitsf(x, y);
}

/// <= 2 ULP; exact for powers of two.
MEGCC_INLINE float megcc_log2f(float x) {
  float k;
  const float f = megcc_log_splitf(x, &k);
  // log2(e) in two parts, of which the first has 11 bits.
  const float t = megcc_log_tailf(f);
  const float low = f * 3.12228389e-4f + t * 1.44269504f;
  return megcc_log_limitsf(x, k + (f * 1.4423828125f + low));
}

/// <= 2 ULP.
MEGCC_INLINE float megcc_log10f(float x) {
  float k;
  const float f = megcc_log_splitf(x, &k);
  const float t = megcc_log_tailf(f);
  const float low = f * 2.12450653e-4f + (t * 0.434294482f + k * 4.605038981e-6f);
  const float y = k * 0.301025390625f + (f * 0.43408203125f + low);
  return megcc_log_limitsf(x, y);
}

/// log(1 + x), <= 2 ULP.
MEGCC_INLINE float megcc_log1pf(float x) {
  const float u = 1.0f + x;
  float k;
  const float rounded = megcc_log_splitf(u, &k);
  // What 1 + x lost, relative to it; nothing is lost where x itself is the fraction.
  const float lost = (u > x ? x - (u - 1.0f) : 1.0f - (u - x)) / u;
  const float f = k == 0.0f ? x : rounded;
  const float c = k == 0.0f ? 0.0f : lost;
  float y = k * 0.693359375f + (f + (megcc_log_tailf(f) + (k * -2.12194440e-4f + c)));
  y = x == 0.0f ? x : y;
  y = x == -1.0f ? -MEGCC_INFF : y;
  y = x < -1.0f ? MEGCC_NANF : y;
  return x < MEGCC_INFF ? y : x;
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

/// 1 / sqrt(x), <= 2 ULP.
MEGCC_INLINE float megcc_rsqrtf(float x) { return 1.0f / megcc_sqrtf(x); }

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

/// Remainder of x / y with the sign of y.
MEGCC_INLINE float megcc_floormodf(float x, float y) {
  const float r = megcc_fmodf(x, y);
  return r == 0.0f ? megcc_copysignf(r, y) : (r < 0.0f) != (y < 0.0f) ? r + y : r;
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

/// atan(num / den) for num, den >= 0, not both 0 or infinite; <= 2 ULP.
MEGCC_INLINE float megcc_atan_ratiof(float num, float den) {
  // tan(pi/8) and its inverse bound the middle third, which turns by 45 degrees.
  const int high = num > den * 2.41421356f;
  const int low = num <= den * 0.41421356f;
  const float n = high ? -den : low ? num : num - den;
  const float d = high ? num : low ? den : num + den;
  const float base = high ? 1.57079633f : low ? 0.0f : 0.785398163f;
  const float rest = high ? -4.37113883e-8f : low ? 0.0f : -2.18556941e-8f;
  const float t = n / d;
  const float z = t * t;
  float p = -0.059725042f;
  p = p * z + 0.10553396f;
  p = p * z + -0.14238283f;
  p = p * z + 0.19998208f;
  p = p * z + -0.3333331f;
  return base + (t * z * p + rest + t);
}

/// <= 2 ULP.
MEGCC_INLINE float megcc_atanf(float x) {
  const float a = megcc_fabsf(x);
  const float y = megcc_atan_ratiof(a > 1e30f ? 1e30f : a, 1.0f);
  return megcc_copysignf(x != x ? x : y, x);
}

/// Angle of the point (x, y), <= 3 ULP.
MEGCC_INLINE float megcc_atan2f(float y, float x) {
  float a = megcc_fabsf(y);
  float b = megcc_fabsf(x);
  // Only the ratio matters: two infinities are as good as two ones, and two zeros lie on the axis.
  const int infinite = a > 3.4028235e38f || b > 3.4028235e38f;
  a = infinite ? (a > 3.4028235e38f ? 1.0f : 0.0f) : a;
  b = infinite ? (b > 3.4028235e38f ? 1.0f : 0.0f) : b;
  // Away from the ends of the exponent range: no overflow, no subnormal.
  const int big = a > 1e20f || b > 1e20f;
  const int tiny = a < 1e-20f && b < 1e-20f;
  const float scale = big ? 2.32830644e-10f : tiny ? 1.84467441e19f : 1.0f;
  a *= scale;
  b *= scale;
  b = a == 0.0f && b == 0.0f ? 1.0f : b;
  float t = megcc_atan_ratiof(a, b);
  const int left = (megcc_f32_bits(x) >> 31) != 0u;
  t = left ? 3.14159274f - (t + 8.74227766e-8f) : t;
  t = x != x || y != y ? MEGCC_NANF : t;
  return megcc_copysignf(t, y);
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

/// <= 3 ULP.
MEGCC_INLINE float megcc_asinf(float x) {
  const float a = megcc_fabsf(x);
  const int big = a > 0.5f;
  const float z = big ? 0.5f - 0.5f * a : a * a;
  const float s = big ? megcc_sqrtf(z) : a;
  const float y = s + s * megcc_asin_tailf(z);
  const float up = 1.57079633f - (2.0f * y + 4.37113883e-8f);
  return megcc_copysignf(a <= 1.0f ? (big ? up : y) : MEGCC_NANF, x);
}

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
MEGCC_INLINE float megcc_asinhf(float x) {
  const float a = megcc_fabsf(x);
  const float b = a > 1e9f ? 1e9f : a;
  const float near = megcc_log1pf(b + b * b / (1.0f + megcc_sqrtf(b * b + 1.0f)));
  const float far = megcc_logf(a) + 0.693147181f;
  return megcc_copysignf(a > 1e9f ? far : near, x);
}

/// <= 3 ULP.
MEGCC_INLINE float megcc_acoshf(float x) {
  const float t = (x > 1e9f ? 1e9f : x) - 1.0f;
  const float near = megcc_log1pf(t + megcc_sqrtf(2.0f * t + t * t));
  const float far = megcc_logf(x) + 0.693147181f;
  return x > 1e9f ? far : (x < 1.0f ? MEGCC_NANF : near);
}

/// <= 3 ULP.
MEGCC_INLINE float megcc_atanhf(float x) {
  const float a = megcc_fabsf(x);
  const float y = 0.5f * megcc_log1pf(2.0f * a / (1.0f - a));
  return megcc_copysignf(y, x);
}

#endif  // MEGCC_MATHF_H
