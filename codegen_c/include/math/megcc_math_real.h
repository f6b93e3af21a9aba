// Functions of megcc_math.h that are the same for float and double but for some numbers.
//
// Included once by megcc_mathf.h and once by megcc_mathd.h (no include guard), which define
// MEGCC_REAL_BITS and the parts that the functions use: polynomials, splitting into exponent and
// fraction, remainders.

#if MEGCC_REAL_BITS == 32
#define MEGCC_REAL float
#define MEGCC_FN(name) megcc_##name##f
#define MEGCC_NUM(x) (x##f)
#define MEGCC_NUMS(of_float, of_double) (of_float##f)
#define MEGCC_REAL_INF MEGCC_INFF
#define MEGCC_REAL_NAN MEGCC_NANF
#else
#define MEGCC_REAL double
#define MEGCC_FN(name) megcc_##name
#define MEGCC_NUM(x) (x)
#define MEGCC_NUMS(of_float, of_double) (of_double)
#define MEGCC_REAL_INF MEGCC_INF
#define MEGCC_REAL_NAN MEGCC_NAN
#endif
#define MEGCC_LARGEST MEGCC_NUMS(3.4028235e38, 1.7976931348623157e308)  // finite number
#define MEGCC_LN2_HIGH MEGCC_NUMS(0.693359375, 0.6931471804855391)
#define MEGCC_LN2_LOW MEGCC_NUMS(-2.12194440e-4, 7.440617110012397e-11)

MEGCC_INLINE int MEGCC_FN(isnan)(MEGCC_REAL x) { return x != x; }

// -- exponentials -----------------------------------------------------------------------------

/// e^x, <= 1 ULP.
MEGCC_INLINE MEGCC_REAL MEGCC_FN(exp)(MEGCC_REAL x) {
  x = x < MEGCC_NUMS(-104.0, -746.0) ? MEGCC_NUMS(-104.0, -746.0) : x;
  x = x > MEGCC_NUMS(89.0, 710.0) ? MEGCC_NUMS(89.0, 710.0) : x;
  int32_t k;
  const MEGCC_REAL r = MEGCC_FN(exp_reduce)(x, &k);
  return MEGCC_FN(scale)(MEGCC_FN(exp_poly)(r), k);
}

/// 2^x, <= 2 ULP; exact for integers.
MEGCC_INLINE MEGCC_REAL MEGCC_FN(exp2)(MEGCC_REAL x) {
  x = x < MEGCC_NUMS(-150.0, -1076.0) ? MEGCC_NUMS(-150.0, -1076.0) : x;
  x = x > MEGCC_NUMS(128.0, 1024.0) ? MEGCC_NUMS(128.0, 1024.0) : x;
  int32_t k;
  const MEGCC_REAL n = MEGCC_FN(nearest)(x, &k);
  return MEGCC_FN(scale)(MEGCC_FN(exp_poly)((x - n) * MEGCC_NUM(0.6931471805599453)), k);
}

/// e^x - 1, <= 2 ULP.
MEGCC_INLINE MEGCC_REAL MEGCC_FN(expm1)(MEGCC_REAL x) {
  MEGCC_REAL y = x < MEGCC_NUMS(-18.0, -40.0) ? MEGCC_NUMS(-18.0, -40.0) : x;
  y = y > MEGCC_NUMS(89.0, 710.0) ? MEGCC_NUMS(89.0, 710.0) : y;
  const MEGCC_REAL e = MEGCC_FN(expm1_core)(y);
  return x == 0 ? x : e;
}

/// 1 / (1 + e^-x), <= 3 ULP.
MEGCC_INLINE MEGCC_REAL MEGCC_FN(sigmoid)(MEGCC_REAL x) {
  const MEGCC_REAL e = MEGCC_FN(exp)(-MEGCC_FN(fabs)(x));
  return (x < 0 ? e : 1) / (1 + e);
}

/// <= 3 ULP.
MEGCC_INLINE MEGCC_REAL MEGCC_FN(tanh)(MEGCC_REAL x) {
  MEGCC_REAL a = MEGCC_FN(fabs)(x);
  a = a > MEGCC_NUMS(10.0, 20.0) ? MEGCC_NUMS(10.0, 20.0) : a;
  const MEGCC_REAL t = MEGCC_FN(expm1_core)(2 * a);
  return MEGCC_FN(copysign)(t / (t + 2), x);
}

/// e^x / 2 for x >= 0, also where e^x itself overflows.
MEGCC_INLINE MEGCC_REAL MEGCC_FN(half_exp)(MEGCC_REAL x) {
  // e^(355/512) / 2; x - 355/512 is exact where e^x overflows.
  return MEGCC_FN(exp)(x - MEGCC_NUM(0.693359375)) * MEGCC_NUM(1.0002122169548873);
}

// -- logarithms -------------------------------------------------------------------------------

/// The values of any logarithm where x is not positive and finite.
MEGCC_INLINE MEGCC_REAL MEGCC_FN(log_limits)(MEGCC_REAL x, MEGCC_REAL y) {
  y = x == 0 ? -MEGCC_REAL_INF : y;
  y = x < 0 ? MEGCC_REAL_NAN : y;
  return x < MEGCC_REAL_INF ? y : x;
}

/// <= 1 ULP.
MEGCC_INLINE MEGCC_REAL MEGCC_FN(log)(MEGCC_REAL x) {
  MEGCC_REAL k;
  const MEGCC_REAL f = MEGCC_FN(log_split)(x, &k);
  const MEGCC_REAL low = MEGCC_FN(log_tail)(f) + k * MEGCC_LN2_LOW;
  return MEGCC_FN(log_limits)(x, k * MEGCC_LN2_HIGH + (f + low));
}

/// <= 2 ULP; exact for powers of two.
MEGCC_INLINE MEGCC_REAL MEGCC_FN(log2)(MEGCC_REAL x) {
  MEGCC_REAL k;
  const MEGCC_REAL f = MEGCC_FN(log_split)(x, &k);
  const MEGCC_REAL t = MEGCC_FN(log_tail)(f);
  // log2(e) in two parts, of which the first has 11 (31) bits.
  const MEGCC_REAL high = MEGCC_NUMS(1.4423828125, 1.442695040255785);
  const MEGCC_REAL rest = MEGCC_NUMS(3.12228389e-4, 6.331784189566044e-10);
  const MEGCC_REAL low = f * rest + t * MEGCC_NUM(1.4426950408889634);
  return MEGCC_FN(log_limits)(x, k + (f * high + low));
}

/// <= 2 ULP.
MEGCC_INLINE MEGCC_REAL MEGCC_FN(log10)(MEGCC_REAL x) {
  MEGCC_REAL k;
  const MEGCC_REAL f = MEGCC_FN(log_split)(x, &k);
  const MEGCC_REAL t = MEGCC_FN(log_tail)(f);
  // log10(e) and log10(2) in two parts.
  const MEGCC_REAL e_high = MEGCC_NUMS(0.43408203125, 0.43429448176175356);
  const MEGCC_REAL e_low = MEGCC_NUMS(2.12450653e-4, 1.414982685385801e-10);
  const MEGCC_REAL two_high = MEGCC_NUMS(0.301025390625, 0.30102999560767785);
  const MEGCC_REAL two_low = MEGCC_NUMS(4.605038981e-6, 5.630334806675098e-11);
  const MEGCC_REAL low = f * e_low + (t * MEGCC_NUM(0.4342944819032518) + k * two_low);
  return MEGCC_FN(log_limits)(x, k * two_high + (f * e_high + low));
}

/// log(1 + x), <= 2 ULP.
MEGCC_INLINE MEGCC_REAL MEGCC_FN(log1p)(MEGCC_REAL x) {
  const MEGCC_REAL u = 1 + x;
  MEGCC_REAL k;
  const MEGCC_REAL rounded = MEGCC_FN(log_split)(u, &k);
  // The rounding error of 1 + x, relative to it; none where x itself is the fraction.
  const MEGCC_REAL lost = (u > x ? x - (u - 1) : 1 - (u - x)) / u;
  const MEGCC_REAL f = k == 0 ? x : rounded;
  const MEGCC_REAL c = k == 0 ? 0 : lost;
  const MEGCC_REAL low = MEGCC_FN(log_tail)(f) + (k * MEGCC_LN2_LOW + c);
  MEGCC_REAL y = k * MEGCC_LN2_HIGH + (f + low);
  y = x == 0 ? x : y;
  y = x == -1 ? -MEGCC_REAL_INF : y;
  y = x < -1 ? MEGCC_REAL_NAN : y;
  return x < MEGCC_REAL_INF ? y : x;
}

// -- powers -----------------------------------------------------------------------------------

/// 1 / sqrt(x), <= 2 ULP.
MEGCC_INLINE MEGCC_REAL MEGCC_FN(rsqrt)(MEGCC_REAL x) { return 1 / MEGCC_FN(sqrt)(x); }

/// Remainder of x / y with the sign of y.
MEGCC_INLINE MEGCC_REAL MEGCC_FN(floormod)(MEGCC_REAL x, MEGCC_REAL y) {
  const MEGCC_REAL r = MEGCC_FN(fmod)(x, y);
  return r == 0 ? MEGCC_FN(copysign)(r, y) : (r < 0) != (y < 0) ? r + y : r;
}

// -- inverse functions ------------------------------------------------------------------------

// Pi and its half are a number and a rest, which is subtracted.
#define MEGCC_PI MEGCC_NUM(3.141592653589793)
#define MEGCC_PI_REST MEGCC_NUMS(-8.74227766e-8, 1.2246467991473532e-16)
#define MEGCC_HALF_PI MEGCC_NUM(1.5707963267948966)
#define MEGCC_HALF_PI_REST MEGCC_NUMS(-4.37113883e-8, 6.123233995736766e-17)

/// atan(num / den) for num, den >= 0, not both 0 or infinite; <= 2 ULP.
MEGCC_INLINE MEGCC_REAL MEGCC_FN(atan_ratio)(MEGCC_REAL num, MEGCC_REAL den) {
  // tan(pi/8) and its inverse bound the middle third, which turns by 45 degrees.
  const MEGCC_REAL quarter = MEGCC_NUM(0.7853981633974483);
  const MEGCC_REAL quarter_rest = MEGCC_NUMS(-2.18556941e-8, 3.061616997868383e-17);
  const int high = num > den * MEGCC_NUM(2.414213562373095);
  const int low = num <= den * MEGCC_NUM(0.41421356237309503);
  const MEGCC_REAL n = high ? -den : low ? num : num - den;
  const MEGCC_REAL d = high ? num : low ? den : num + den;
  const MEGCC_REAL base = high ? MEGCC_HALF_PI : low ? 0 : quarter;
  const MEGCC_REAL rest = high ? MEGCC_HALF_PI_REST : low ? 0 : quarter_rest;
  const MEGCC_REAL t = n / d;
  const MEGCC_REAL z = t * t;
  return base + (t * z * MEGCC_FN(atan_poly)(z) + rest + t);
}

/// <= 2 ULP.
MEGCC_INLINE MEGCC_REAL MEGCC_FN(atan)(MEGCC_REAL x) {
  const MEGCC_REAL a = MEGCC_FN(fabs)(x), far = MEGCC_NUM(1e30);
  const MEGCC_REAL y = MEGCC_FN(atan_ratio)(a > far ? far : a, 1);
  return MEGCC_FN(copysign)(x != x ? x : y, x);
}

/// Angle of the point (x, y), <= 3 ULP.
MEGCC_INLINE MEGCC_REAL MEGCC_FN(atan2)(MEGCC_REAL y, MEGCC_REAL x) {
  const MEGCC_REAL large = MEGCC_NUMS(1e20, 1e200), small = MEGCC_NUMS(1e-20, 1e-200);
  MEGCC_REAL a = MEGCC_FN(fabs)(y);
  MEGCC_REAL b = MEGCC_FN(fabs)(x);
  // Only the ratio matters: two infinities are as good as two ones, and two zeros lie on the axis.
  const int infinite = a > MEGCC_LARGEST || b > MEGCC_LARGEST;
  a = infinite ? (a > MEGCC_LARGEST ? 1 : 0) : a;
  b = infinite ? (b > MEGCC_LARGEST ? 1 : 0) : b;
  // Away from the ends of the exponent range: no overflow, no subnormal.
  const int big = a > large || b > large;
  const int tiny = a < small && b < small;
  const MEGCC_REAL down = MEGCC_NUMS(2.32830644e-10, 5.421010862427522e-20);
  const MEGCC_REAL up = MEGCC_NUMS(1.84467441e19, 1.3407807929942597e154);
  const MEGCC_REAL scale = big ? down : tiny ? up : 1;
  a *= scale;
  b *= scale;
  b = a == 0 && b == 0 ? 1 : b;
  MEGCC_REAL t = MEGCC_FN(atan_ratio)(a, b);
  t = MEGCC_FN(signbit)(x) ? MEGCC_PI - (t - MEGCC_PI_REST) : t;
  t = x != x || y != y ? MEGCC_REAL_NAN : t;
  return MEGCC_FN(copysign)(t, y);
}

/// <= 3 ULP.
MEGCC_INLINE MEGCC_REAL MEGCC_FN(asin)(MEGCC_REAL x) {
  const MEGCC_REAL half = MEGCC_NUM(0.5), a = MEGCC_FN(fabs)(x);
  const int big = a > half;
  const MEGCC_REAL z = big ? half - half * a : a * a;
  const MEGCC_REAL s = big ? MEGCC_FN(sqrt)(z) : a;
  const MEGCC_REAL y = s + s * MEGCC_FN(asin_tail)(z);
  const MEGCC_REAL up = MEGCC_HALF_PI - (2 * y - MEGCC_HALF_PI_REST);
  return MEGCC_FN(copysign)(a <= 1 ? (big ? up : y) : MEGCC_REAL_NAN, x);
}

/// <= 3 ULP.
MEGCC_INLINE MEGCC_REAL MEGCC_FN(asinh)(MEGCC_REAL x) {
  const MEGCC_REAL large = MEGCC_NUM(1e9), a = MEGCC_FN(fabs)(x);
  const MEGCC_REAL b = a > large ? large : a;
  const MEGCC_REAL near = MEGCC_FN(log1p)(b + b * b / (1 + MEGCC_FN(sqrt)(b * b + 1)));
  const MEGCC_REAL far = MEGCC_FN(log)(a) + MEGCC_NUM(0.6931471805599453);
  return MEGCC_FN(copysign)(a > large ? far : near, x);
}

/// <= 3 ULP.
MEGCC_INLINE MEGCC_REAL MEGCC_FN(atanh)(MEGCC_REAL x) {
  const MEGCC_REAL half = MEGCC_NUM(0.5), a = MEGCC_FN(fabs)(x);
  const MEGCC_REAL y = half * MEGCC_FN(log1p)(2 * a / (1 - a));
  return MEGCC_FN(copysign)(y, x);
}

#undef MEGCC_REAL_BITS
#undef MEGCC_REAL
#undef MEGCC_FN
#undef MEGCC_NUM
#undef MEGCC_NUMS
#undef MEGCC_REAL_INF
#undef MEGCC_REAL_NAN
#undef MEGCC_LARGEST
#undef MEGCC_LN2_HIGH
#undef MEGCC_LN2_LOW
#undef MEGCC_PI
#undef MEGCC_PI_REST
#undef MEGCC_HALF_PI
#undef MEGCC_HALF_PI_REST
