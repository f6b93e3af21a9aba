// double functions of megcc_math.h; read its head first.
#ifndef MEGCC_MATHD_H
#define MEGCC_MATHD_H

#include <stdint.h>

#include "math/megcc_int.h"
#include "math/megcc_round.h"

#define MEGCC_INF (megcc_f64_from_bits(UINT64_C(0x7ff0000000000000)))
#define MEGCC_NAN (megcc_f64_from_bits(UINT64_C(0x7ff8000000000000)))

#define MEGCC_LN2_HI 0.6931471804855391  // 33 bits
#define MEGCC_LN2_LO 7.440617110012397e-11

// -- questions (exact) ------------------------------------------------------------------------

MEGCC_INLINE int megcc_isinf(double x) { return megcc_fabs(x) > 1.7976931348623157e308; }
MEGCC_INLINE int megcc_isfinite(double x) { return megcc_fabs(x) <= 1.7976931348623157e308; }

// -- products and sums of which nothing is lost -------------------------------------------------

/// a * b = result + *error, exactly (Dekker), for |a|, |b| < 2^970 and a product that is normal.
MEGCC_INLINE double megcc_two_product(double a, double b, double *error) {
  // Halves of 26 bits, so that all partial products are exact; contracting them changes nothing.
  const double a1 = megcc_f64_from_bits(megcc_f64_bits(a) & UINT64_C(0xfffffffff8000000));
  const double b1 = megcc_f64_from_bits(megcc_f64_bits(b) & UINT64_C(0xfffffffff8000000));
  const double a2 = a - a1;
  const double b2 = b - b1;
  const double p = a * b;
  *error = ((a1 * b1 - p) + a1 * b2 + a2 * b1) + a2 * b2;
  return p;
}

/// a + b = result + *error, exactly, for |a| >= |b|.
MEGCC_INLINE double megcc_fast_two_sum(double a, double b, double *error) {
  const double s = a + b;
  *error = (a - s) + b;
  return s;
}

/// Whether x has a minus sign, which -0 and a NaN may have.
MEGCC_INLINE int megcc_signbit(double x) { return (megcc_f64_bits(x) >> 63) != 0u; }

// -- exponentials -----------------------------------------------------------------------------

/// 2^k for -1022 <= k <= 1023.
MEGCC_INLINE double megcc_pow2i(int32_t k) {
  return megcc_f64_from_bits((uint64_t)(uint32_t)(k + 1023) << 52);
}

/// p * 2^k, also where 2^k alone is out of range (|k| <= 2044); rounds once.
MEGCC_INLINE double megcc_scale(double p, int32_t k) {
  const int32_t half = k >> 1;
  return p * megcc_pow2i(half) * megcc_pow2i(k - half);
}

/// Nearest integer to x (|x| < 2047); its low bits are an integer too, without a cast.
MEGCC_INLINE double megcc_nearest(double x, int32_t *k) {
  const double shifted = x + 6755399441055744.0;
  const uint32_t low = ((uint32_t)megcc_f64_bits(shifted) + 2048u) & 4095u;
  *k = (int32_t)low - 2048;
  // The range that megcc_scale takes, for a NaN's bits.
  *k = *k < -1100 ? -1100 : *k;
  return shifted - 6755399441055744.0;
}

/// e^r - 1 for |r| <= 0.35.
MEGCC_INLINE double megcc_expm1_poly(double r) {
  double q = 2.0915442297780116e-09;
  q = q * r + 2.5106274733573296e-08;
  q = q * r + 2.75572718102198e-07;
  q = q * r + 2.755725283351691e-06;
  q = q * r + 2.4801587327007187e-05;
  q = q * r + 0.00019841269876864356;
  q = q * r + 0.0013888888888883327;
  q = q * r + 0.008333333333325544;
  q = q * r + 0.04166666666666667;
  q = q * r + 0.1666666666666667;
  q = q * r + 0.5;
  return q * r * r + r;
}

/// e^r for |r| <= 0.35.
MEGCC_INLINE double megcc_exp_poly(double r) { return 1.0 + megcc_expm1_poly(r); }

/// x reduced by a multiple of ln 2 (|x| < 1400).
MEGCC_INLINE double megcc_exp_reduce(double x, int32_t *k) {
  const double n = megcc_nearest(x * 1.4426950408889634, k);
  return (x - n * MEGCC_LN2_HI) - n * MEGCC_LN2_LO;
}

/// e^x - 1 without the sign of a zero and without the limits; |x| <= 710.
MEGCC_INLINE double megcc_expm1_core(double x) {
  int32_t k;
  const double r = megcc_exp_reduce(x, &k);
  const double one = 1.0 - megcc_pow2i(k > 128 ? -128 : -k);
  return megcc_scale(megcc_expm1_poly(r) + one, k);
}

// -- logarithms -------------------------------------------------------------------------------

/// log(1 + f) - f for sqrt(1/2) <= 1 + f <= sqrt(2).
MEGCC_INLINE double megcc_log_tail(double f) {
  const double s = f / (2.0 + f);
  const double z = s * s;
  double p = 0.13089445145246312;
  p = p * z + 0.1326850331279476;
  p = p * z + 0.15386249788196105;
  p = p * z + 0.181817954545265;
  p = p * z + 0.2222222239345263;
  p = p * z + 0.28571428570795937;
  p = p * z + 0.4000000000000089;
  p = p * z + 0.6666666666666666;
  // log(1 + f) = 2s + s^3 p, and 2s = f - f^2/2 + s f^2/2.
  const double half = 0.5 * f * f;
  return s * (half + z * p) - half;
}

/// x = 2^k (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)), x positive and finite; returns f.
MEGCC_INLINE double megcc_log_split(double x, double *k) {
  const int subnormal = x < 2.2250738585072014e-308;
  const uint64_t offset = UINT64_C(0x3ff0000000000000) - UINT64_C(0x3fe6a09e667f3bcd);
  const uint64_t bits = megcc_f64_bits(subnormal ? x * 18014398509481984.0 : x) + offset;
  *k = (double)((int32_t)(bits >> 52) - (subnormal ? 1077 : 1023));
  const uint64_t mantissa = (bits & UINT64_C(0xfffffffffffff)) + UINT64_C(0x3fe6a09e667f3bcd);
  return megcc_f64_from_bits(mantissa) - 1.0;
}

// -- inverse functions: polynomials -----------------------------------------------------------

/// (atan(t) - t) / t^3 for |t| <= tan(pi/8), z = t^2.
MEGCC_INLINE double megcc_atan_poly(double z) {
  double p = -0.019147248964611764;
  p = p * z + 0.03920743321261196;
  p = p * z + -0.05084610357631765;
  p = p * z + 0.05857988350245762;
  p = p * z + -0.06664492945806264;
  p = p * z + 0.07692181876036845;
  p = p * z + -0.0909090452147169;
  p = p * z + 0.11111111013860688;
  p = p * z + -0.14285714284649173;
  p = p * z + 0.19999999999995438;
  return p * z + -0.3333333333333333;
}

/// (asin(x) - x) / x for 0 <= x <= 1/2, z = x^2.
MEGCC_INLINE double megcc_asin_tail(double z) {
  double p = 0.028169218060881414;
  p = p * z + -0.010749050339697808;
  p = p * z + 0.01603551434914882;
  p = p * z + 0.0078029494773533175;
  p = p * z + 0.011875494382636922;
  p = p * z + 0.013929652902326633;
  p = p * z + 0.017355259955786323;
  p = p * z + 0.02237204763174451;
  p = p * z + 0.03038194736709848;
  p = p * z + 0.044642857103423646;
  p = p * z + 0.07500000000020764;
  p = p * z + 0.1666666666666665;
  return p * z;
}

// -- remainders (a loop over the bits of the quotient; exact) ------------------------------------

/// Remainder of x / y with the sign of x.
MEGCC_INLINE double megcc_fmod(double x, double y) {
  const double a = megcc_fabs(x);
  const double b = megcc_fabs(y);
  if (!(b > 0.0) || !(a <= 1.7976931348623157e308)) return MEGCC_NAN;
  if (a < b) return x;
  // Both as 53-bit integers times a power of two, the divisor with its top bit set.
  const uint64_t one = UINT64_C(1) << 52;
  uint64_t m = megcc_f64_bits(a);
  uint64_t n = megcc_f64_bits(b);
  int em = (int)(m >> 52);
  int en = (int)(n >> 52);
  m = em != 0 ? (m & (one - 1)) | one : m;
  n = en != 0 ? (n & (one - 1)) | one : n;
  em = em != 0 ? em : 1;
  en = en != 0 ? en : 1;
  for (; n < one; --en) n <<= 1;
  for (; em > en; --em) {
    m = m >= n ? m - n : m;
    m <<= 1;
  }
  m = em == en && m >= n ? m - n : m;
  return megcc_copysign(megcc_scale((double)m, em - 1075), x);
}

#define MEGCC_REAL_BITS 64
#include "math/megcc_math_real.h"

// -- exponentials -----------------------------------------------------------------------------

/// 10^x, <= 2 ULP.
MEGCC_INLINE double megcc_exp10(double x) {
  x = x < -324.0 ? -324.0 : x;
  x = x > 309.0 ? 309.0 : x;
  int32_t k;
  const double n = megcc_nearest(x * 3.321928094887362, &k);
  const double r = (x - n * 0.30102999560767785) - n * 5.630334806675098e-11;
  return megcc_scale(megcc_exp_poly(r * 2.302585092994046), k);
}

/// <= 3 ULP.
MEGCC_INLINE double megcc_cosh(double x) {
  const double a = megcc_fabs(x);
  const double e = a < 700.0 ? 0.5 * megcc_exp(a) : megcc_half_exp(a);
  return e + 0.25 / e;
}

/// <= 3 ULP.
MEGCC_INLINE double megcc_sinh(double x) {
  const double a = megcc_fabs(x);
  const double t = megcc_expm1_core(a > 709.0 ? 709.0 : a);
  const double s = a < 709.0 ? 0.5 * (t + t / (t + 1.0)) : megcc_half_exp(a);
  return megcc_copysign(s, x);
}

// -- powers -----------------------------------------------------------------------------------

/// log(a) = result + *low with an error below 2^-64 of it, a positive and finite.
MEGCC_INLINE double megcc_log_pair(double a, double *low) {
  double k;
  const double f = megcc_log_split(a, &k);
  // s = f / (2 + f) with its rounding error.
  double d_lo;
  const double d = megcc_fast_two_sum(2.0, f, &d_lo);
  const double s = f / d;
  double p_lo;
  const double p = megcc_two_product(s, d, &p_lo);
  const double s_lo = (((f - p) - p_lo) - s * d_lo) / d;
  double z_lo;
  const double z = megcc_two_product(s, s, &z_lo);
  z_lo += 2.0 * s * s_lo;
  double q = 0.11725604536475413;
  q = q * z + 0.11706004128016817;
  q = q * z + 0.13334813373687013;
  q = q * z + 0.15384594802772;
  q = q * z + 0.18181818336889324;
  q = q * z + 0.22222222221649277;
  q = q * z + 0.28571428571429375;
  q = q * z + 0.4;
  // log = k ln2 + 2s + s z (2/3 + z q); the last bracket and product as pairs.
  double c_lo;
  const double c = megcc_fast_two_sum(0.6666666666666666, z * q, &c_lo);
  c_lo += 3.7007434154171886e-17 + z_lo * q;
  double w_lo;
  const double w = megcc_two_product(z, c, &w_lo);
  w_lo += z * c_lo + z_lo * c;
  double t_lo;
  const double t = megcc_two_product(s, w, &t_lo);
  t_lo += s * w_lo + s_lo * w;
  // k ln2 with ln2 in parts of 33 and 33 bits and a rest: the first product is exact.
  const double k_hi = k * MEGCC_LN2_HI;
  double e1, e2, e3;
  const double a1 = megcc_fast_two_sum(2.0 * s, t, &e1);
  const double big = k != 0.0 ? k_hi : a1;
  const double small = k != 0.0 ? a1 : 0.0;
  const double a2 = megcc_fast_two_sum(big, small, &e2);
  double l_lo;
  const double l = megcc_two_product(k, MEGCC_LN2_LO, &l_lo);
  const double rest = e1 + 2.0 * s_lo + t_lo + e2 + l;
  const double sum = megcc_fast_two_sum(a2, rest, &e3);
  *low = e3 + l_lo + k * -1.3124698417785255e-27;
  return sum;
}

/// x^y, <= 2 ULP.
MEGCC_INLINE double megcc_pow(double x, double y) {
  const double a = megcc_fabs(x);
  const double base = a > 0.0 && a <= 1.7976931348623157e308 ? a : 1.0;
  double l_lo;
  const double l = megcc_log_pair(base, &l_lo);
  double e = y < -1e20 ? -1e20 : y;  // far beyond any limit, and no product overflows
  e = e > 1e20 ? 1e20 : e;
  double t_lo;
  double t = megcc_two_product(e, l, &t_lo);
  t_lo += e * l_lo;
  const int over = t > 710.0;
  const int under = t < -746.0;
  t = over ? 710.0 : under ? -746.0 : t;
  t_lo = over || under ? 0.0 : t_lo;
  int32_t k;
  const double r = megcc_exp_reduce(t, &k);
  const double m = megcc_expm1_poly(r);
  double v = megcc_scale(1.0 + (m + (t_lo + t_lo * m)), k);

  // Limits. An exponent is odd or whole by its value alone; beyond 2^53 every double is even.
  const double ay = megcc_fabs(y);
  const double inf = MEGCC_INF;
  const int whole = megcc_trunc(y) == y;
  const int odd = whole && ay < 9007199254740992.0 && megcc_trunc(y * 0.5) != y * 0.5;
  const int up = (a > 1.0) == (y > 0.0);  // a^y grows without bound as |y| does
  v = a == 0.0 || a == inf ? ((a == 0.0) == (y > 0.0) ? 0.0 : inf) : v;
  v = ay == inf ? (up ? inf : 0.0) : v;
  v = a == 1.0 ? 1.0 : v;
  const int negative = (megcc_f64_bits(x) >> 63) != 0u;
  v = negative && odd ? -v : v;
  v = negative && !whole && a > 0.0 && a < inf ? MEGCC_NAN : v;
  v = x != x || y != y ? x + y : v;
  return y == 0.0 || x == 1.0 ? 1.0 : v;
}

/// sqrt(x^2 + y^2) without overflow on the way, <= 2 ULP.
MEGCC_INLINE double megcc_hypot(double x, double y) {
  const double a = megcc_fabs(x);
  const double b = megcc_fabs(y);
  const double big = a > b ? a : b;
  const double scale = big > 1e150 ? megcc_pow2i(-600) : big < 1e-140 ? megcc_pow2i(600) : 1.0;
  const double c = a * scale;
  const double d = b * scale;
  const double h = megcc_sqrt(c * c + d * d) / scale;
  return megcc_isinf(x) || megcc_isinf(y) ? MEGCC_INF : h;
}

/// x * 2^k.
MEGCC_INLINE double megcc_ldexp(double x, int32_t k) {
  k = k < -2200 ? -2200 : k;
  k = k > 2200 ? 2200 : k;
  // Powers of two go in from large to small, so that a result is rounded only by the last.
  const int32_t a = k < -1000 ? -1000 : k > 1000 ? 1000 : k;
  const int32_t b = k - a < -1000 ? -1000 : k - a > 1000 ? 1000 : k - a;
  const double y = x * megcc_pow2i(k - a - b);
  return k < 0 && y != 0.0 ? megcc_scale(y, a + b) : y * megcc_pow2i(a) * megcc_pow2i(b);
}

// -- error function ---------------------------------------------------------------------------

/// -log(erfc(a)) for 0.92 <= a <= 6: three polynomials around the middles of three intervals.
MEGCC_INLINE double megcc_log_erfc(double a) {
  const int first = a < 2.0;
  const int second = a < 3.25;
#define MEGCC_PICK(x, y, z) (first ? (x) : second ? (y) : (z))
  const double t = a - MEGCC_PICK(1.4375, 2.625, 4.625);
  double p = MEGCC_PICK(2.39501337622695e-08, 2.5127845223472e-09, -3.1948354594725305e-11);
  p = p * t + MEGCC_PICK(-2.091659332332245e-07, -7.353890599793984e-09, 3.1260084121819706e-10);
  p = p * t + MEGCC_PICK(9.584727640816977e-07, 6.896809113051749e-10, -2.4902181932614885e-09);
  p = p * t + MEGCC_PICK(-2.926768241914986e-06, 1.6408691460876338e-07, 1.9465699071588568e-08);
  p = p * t + MEGCC_PICK(4.132395676470316e-06, -1.5877630759855572e-06, -1.4569746131979826e-07);
  p = p * t + MEGCC_PICK(2.0792118308988427e-05, 1.107665461116393e-05, 1.0530545873971664e-06);
  p = p * t + MEGCC_PICK(-0.00022545473500377547, -6.661728483172177e-05, -7.443573205051916e-06);
  p = p * t + MEGCC_PICK(0.0013400055052049246, 0.00036715637192262756, 5.203817272644451e-05);
  p = p * t + MEGCC_PICK(-0.006412469612810244, -0.0019196057851773804, -0.0003650908315217078);
  p = p * t + MEGCC_PICK(0.02737600361468142, 0.0098382020105179, 0.0026342844570764012);
  p = p * t + MEGCC_PICK(0.8876544018756609, 0.9477704445742474, 0.979386017915136);
  p = p * t + MEGCC_PICK(3.3975293502270265, 5.589146738801664, 9.457121380493959);
  p = p * t + MEGCC_PICK(3.168672518142356, 8.490669397237284, 23.516610805305117);
#undef MEGCC_PICK
  return p;
}

/// <= 3 ULP.
MEGCC_INLINE double megcc_erf(double x) {
  double a = megcc_fabs(x);
  a = a > 6.0 ? 6.0 : a;
  const double z = a * a;
  double p = -8.342328901682342e-10;
  p = p * z + 1.3985356985352318e-08;
  p = p * z + -1.6264102432769319e-07;
  p = p * z + 1.6454012531282943e-06;
  p = p * z + -1.4925221170901272e-05;
  p = p * z + 0.00012055317752469981;
  p = p * z + -0.0008548326666795295;
  p = p * z + 0.00522397762013796;
  p = p * z + -0.026866170644665226;
  p = p * z + 0.11283791670953008;
  p = p * z + -0.37612638903183715;
  p = p * z + 0.1283791670955126;
  const double near = p * a + a;
  const double far = 1.0 - megcc_exp(-megcc_log_erfc(a));
  return megcc_copysign(a < 0.921875 ? near : far, x);
}

// -- inverse functions ------------------------------------------------------------------------

/// <= 2 ULP.
MEGCC_INLINE double megcc_acos(double x) {
  const double a = megcc_fabs(x);
  const int big = a > 0.5;
  const double z = big ? 0.5 - 0.5 * a : a * a;
  const double s = big ? megcc_sqrt(z) : x;
  const double tail = s * megcc_asin_tail(z);
  const double middle = 1.5707963267948966 - (s + (tail - 6.123233995736766e-17));
  const double end = 2.0 * (s + tail);
  const double left = 3.141592653589793 - (end - 1.2246467991473532e-16);
  return a <= 1.0 ? (big ? (x < 0.0 ? left : end) : middle) : MEGCC_NAN;
}

/// <= 3 ULP.
MEGCC_INLINE double megcc_acosh(double x) {
  const double t = (x > 1e9 ? 1e9 : x) - 1.0;
  const double near = megcc_log1p(t + megcc_sqrt(2.0 * t + t * t));
  const double far = megcc_log(x) + 0.6931471805599453;
  return x > 1e9 ? far : (x < 1.0 ? MEGCC_NAN : near);
}

#endif  // MEGCC_MATHD_H
