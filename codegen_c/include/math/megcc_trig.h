// sin, cos and tan of megcc_math.h, float and double; read its head first.
//
// Arguments beyond 2^20 take a branch (Payne and Hanek: multiply by the bits of 2/pi that matter),
// so loops over these functions are not vectorised. The float functions work in double.
#ifndef MEGCC_TRIG_H
#define MEGCC_TRIG_H

#include <stdint.h>

#include "math/megcc_int.h"
#include "math/megcc_mathd.h"
#include "math/megcc_mathf.h"

/// x minus a multiple of pi/2, as hi + lo; returns the multiple modulo 4. For finite |x| >= 1.
static inline int megcc_trig_reduce_big(double x, double *hi, double *lo) {
  // 2/pi, 32 bits a word, starting with the first bit behind the binary point.
  static const uint32_t two_over_pi[42] = {
      0xa2f9836eu, 0x4e441529u, 0xfc2757d1u, 0xf534ddc0u, 0xdb629599u, 0x3c439041u, 0xfe5163abu,
      0xdebbc561u, 0xb7246e3au, 0x424dd2e0u, 0x06492eeau, 0x09d1921cu, 0xfe1deb1cu, 0xb129a73eu,
      0xe88235f5u, 0x2ebb4484u, 0xe99c7026u, 0xb45f7e41u, 0x3991d639u, 0x835339f4u, 0x9c845f8bu,
      0xbdf9283bu, 0x1ff897ffu, 0xde05980fu, 0xef2f118bu, 0x5a0a6d1fu, 0x6d367ecfu, 0x27cb09b7u,
      0x4f463f66u, 0x9e5fea2du, 0x7527bac7u, 0xebe5f17bu, 0x3d0739f7u, 0x8a5292eau, 0x6bfb5fb1u,
      0x1f8d5d08u, 0x56033046u, 0xfc7b6babu, 0xf0cfbc20u, 0x9af4361du, 0xa9e39161u, 0x5ee61b08u};
  const uint64_t bits = megcc_f64_bits(x);
  const uint64_t mantissa = (bits & UINT64_C(0xfffffffffffff)) | UINT64_C(0x10000000000000);
  const int exponent = (int)((bits >> 52) & 0x7ffu) - 1075;  // |x| = mantissa * 2^exponent
  // Words whose product with the mantissa is a multiple of 4 are skipped.
  const int first = exponent > 34 ? (exponent - 2) / 32 : 0;
  // product = mantissa * 6 words, most significant word first; weight of the last bit is
  // 2^(exponent - 32 first - 192).
  uint32_t product[8] = {0, 0, 0, 0, 0, 0, 0, 0};
  uint64_t carry_low = 0;
  uint64_t carry_high = 0;
  const uint64_t m0 = mantissa & 0xffffffffu;
  const uint64_t m1 = mantissa >> 32;
  for (int i = 5; i >= 0; --i) {
    const uint64_t w = two_over_pi[first + i];
    const uint64_t low = w * m0 + carry_low;
    const uint64_t high = w * m1 + carry_high + (low >> 32);
    product[i + 2] = (uint32_t)low;
    carry_low = high & 0xffffffffu;
    carry_high = high >> 32;
  }
  product[1] = (uint32_t)carry_low;
  product[0] = (uint32_t)carry_high;
  // Shift left until the two bits of the quadrant are on top.
  const int shift = exponent - 32 * first + 62;
  const int words = shift / 32;
  const int rest = shift % 32;
  uint32_t top[5];
  for (int i = 0; i < 5; ++i) {
    const uint64_t here = i + words < 8 ? product[i + words] : 0;
    const uint64_t next = i + words + 1 < 8 ? product[i + words + 1] : 0;
    top[i] = (uint32_t)((((here << 32) | next) << rest) >> 32);
  }
  int quadrant = (int)(top[0] >> 30);
  // The fraction's 126 bits, rounded to the nearer quadrant: negate from one half on.
  uint64_t a = ((uint64_t)top[0] << 34) | ((uint64_t)top[1] << 2) | (top[2] >> 30);
  uint64_t b = ((uint64_t)top[2] << 34) | ((uint64_t)top[3] << 2) | (top[4] >> 30);
  const int up = (int)(a >> 63);
  if (up) {
    quadrant += 1;
    a = ~a;
    b = ~b;
  }
  // a is at most 2^63: take 53 bits, then the rest, exactly.
  const int zeros = a != 0 ? megcc_clz_u64(a) : 64;
  if (zeros == 64) {
    a = b;
    b = 0;
  } else if (zeros > 0) {
    a = (a << zeros) | (b >> (64 - zeros));
    b <<= zeros;
  }
  const double unit = megcc_f64_from_bits((uint64_t)(1023 - 64 - zeros) << 52);
  const double f_hi = (double)(a >> 11) * 2048.0 * unit;
  const double f_lo = ((double)(a & 0x7ffu) + (double)(b >> 11) * 1.1102230246251565e-16) * unit;
  // Times pi/2 in two doubles.
  double p_lo;
  const double p_hi = megcc_two_product(f_hi, 1.5707963267948966, &p_lo);
  const double low = p_lo + f_hi * 6.123233995736766e-17 + f_lo * 1.5707963267948966;
  const int negative = (int)(bits >> 63) ^ up;
  const double sum = p_hi + low;
  const double error = (p_hi - sum) + low;
  *hi = negative ? -sum : sum;
  *lo = negative ? -error : error;
  return (int)(bits >> 63) ? (4 - quadrant) & 3 : quadrant & 3;
}

/// x minus the nearest multiple of pi/2, as hi + lo with |hi| <= 0.79; returns the multiple
/// modulo 4. NaN and infinities give NaN.
MEGCC_INLINE int megcc_trig_reduce(double x, double *hi, double *lo) {
  const double a = megcc_fabs(x);
  if (a < 1048576.0) {
    const double shifted = x * 0.6366197723675814 + 6755399441055744.0;
    const double n = shifted - 6755399441055744.0;
    // pi/2 = three parts of 33 bits and a rest: every product below is exact for n < 2^20.
    const double r = x - n * 1.5707963267341256;
    const double w = n * 6.077100506303966e-11;
    const double s = r - w;
    const double t = (r - s) - w - n * 2.0222662487959506e-21;
    *hi = s + t;
    *lo = (s - *hi) + t;
    return (int)(megcc_f64_bits(shifted) & 3u);
  }
  if (!(a <= 1.7976931348623157e308)) {
    *hi = *lo = x - x;
    return 0;
  }
  return megcc_trig_reduce_big(x, hi, lo);
}

/// sin(hi + lo), |hi| <= 0.79.
MEGCC_INLINE double megcc_sin_poly(double hi, double lo) {
  const double z = hi * hi;
  double p = 1.5916726193889336e-10;
  p = p * z + -2.5051112272573243e-08;
  p = p * z + 2.755731600817155e-06;
  p = p * z + -0.0001984126983657571;
  p = p * z + 0.008333333333330827;
  p = p * z + -0.16666666666666666;
  return hi + (hi * z * p + lo * (1.0 - 0.5 * z));
}

/// cos(hi + lo), |hi| <= 0.79.
MEGCC_INLINE double megcc_cos_poly(double hi, double lo) {
  const double z = hi * hi;
  double p = 4.745537017319258e-14;
  p = p * z + -1.1470455178216906e-11;
  p = p * z + 2.0876755754879594e-09;
  p = p * z + -2.755731922129809e-07;
  p = p * z + 2.480158730158451e-05;
  p = p * z + -0.0013888888888888887;
  p = p * z + 0.041666666666666664;
  const double half = 0.5 * z;
  const double w = 1.0 - half;
  return w + (((1.0 - w) - half) + (z * z * p - hi * lo));
}

/// <= 1 ULP.
MEGCC_INLINE double megcc_sin(double x) {
  double hi, lo;
  const int q = megcc_trig_reduce(x, &hi, &lo);
  const double y = (q & 1) != 0 ? megcc_cos_poly(hi, lo) : megcc_sin_poly(hi, lo);
  return x == 0.0 ? x : (q & 2) != 0 ? -y : y;
}

/// <= 1 ULP.
MEGCC_INLINE double megcc_cos(double x) {
  double hi, lo;
  const int q = megcc_trig_reduce(x, &hi, &lo) + 1;
  const double y = (q & 1) != 0 ? megcc_cos_poly(hi, lo) : megcc_sin_poly(hi, lo);
  return (q & 2) != 0 ? -y : y;
}

/// <= 3 ULP.
MEGCC_INLINE double megcc_tan(double x) {
  double hi, lo;
  const int q = megcc_trig_reduce(x, &hi, &lo);
  const double s = megcc_sin_poly(hi, lo);
  const double c = megcc_cos_poly(hi, lo);
  return x == 0.0 ? x : (q & 1) != 0 ? -c / s : s / c;
}

/// <= 1 ULP.
MEGCC_INLINE float megcc_sinf(float x) { return (float)megcc_sin((double)x); }

/// <= 1 ULP.
MEGCC_INLINE float megcc_cosf(float x) { return (float)megcc_cos((double)x); }

/// <= 1 ULP.
MEGCC_INLINE float megcc_tanf(float x) { return (float)megcc_tan((double)x); }

#endif  // MEGCC_TRIG_H
