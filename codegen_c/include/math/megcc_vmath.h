// exp, expm1, sigmoid, tanh, erf, log and log1p on one megcc_vf. No table, no libm, no state.
//
// Largest relative error, measured over 10^7 arguments against double (tests/kernels/test_simd.py
// holds these bounds): exp 1e-7, expm1 1.5e-7, sigmoid 1.5e-7, tanh 2e-7, erf 1.2e-7, log and
// log1p 9e-8. A NaN gives a NaN. exp(x) is 0 below -87.0 (no subnormal results) and +inf above
// 88.73. On Armv7, log of a subnormal number is -inf.
//
// Method: exp(x) = 2^n * (1 + m), n = round(x / ln 2), m = expm1(r), |r| <= ln 2 / 2, by a minimax
// polynomial (Lawson iteration in double). n comes from adding 1.5 * 2^23, which leaves it in the
// low bits of the sum: do not compile with -ffast-math. ln 2 is split in two parts (Cody and
// Waite), the first short enough for n * part to be exact without a fused multiply-add.
#ifndef MEGCC_VMATH_H
#define MEGCC_VMATH_H

#include "simd/megcc_simd.h"

// x = n ln 2 + r: returns expm1(r) and puts 2^(n-1) in *half. x is within [-87.33, 88.75].
MEGCC_INLINE megcc_vf megcc_vf_exp_parts(megcc_vf x, megcc_vf* half) {
  const megcc_vf magic = megcc_vf_dup(12582912.0f);
  const megcc_vf t = megcc_vf_fma(magic, x, megcc_vf_dup(1.44269504f));
  const megcc_vf n = megcc_vf_sub(t, magic);
  megcc_vf r = megcc_vf_fnma(x, n, megcc_vf_dup(0.693359375f));
  megcc_vf q = megcc_vf_dup(0.0013950489228591323f);
  r = megcc_vf_fnma(r, n, megcc_vf_dup(-2.12194440e-4f));
  q = megcc_vf_fma(megcc_vf_dup(0.008368889801204205f), q, r);
  q = megcc_vf_fma(megcc_vf_dup(0.04166620597243309f), q, r);
  q = megcc_vf_fma(megcc_vf_dup(0.166665181517601f), q, r);
  q = megcc_vf_fma(megcc_vf_dup(0.5f), q, r);
  *half = megcc_vi_float(megcc_vi_shl(megcc_vi_add(megcc_vf_bits(t), megcc_vi_dup(126)), 23));
  return megcc_vf_fma(r, megcc_vf_mul(r, r), q);
}

MEGCC_INLINE megcc_vf megcc_vf_exp_range(megcc_vf x) {
  return megcc_vf_min(megcc_vf_dup(88.75f), megcc_vf_max(megcc_vf_dup(-87.33f), x));
}

MEGCC_INLINE megcc_vf megcc_vf_exp(megcc_vf x) {
  megcc_vf half;
  const megcc_vf m = megcc_vf_exp_parts(megcc_vf_exp_range(x), &half);
  const megcc_vf y = megcc_vf_fma(half, half, m);
  return megcc_vf_add(y, y);
}

MEGCC_INLINE megcc_vf megcc_vf_expm1(megcc_vf x) {
  megcc_vf half;
  const megcc_vf m = megcc_vf_exp_parts(megcc_vf_exp_range(x), &half);
  const megcc_vf y = megcc_vf_fma(megcc_vf_sub(half, megcc_vf_dup(0.5f)), half, m);
  return megcc_vf_add(y, y);
}

MEGCC_INLINE megcc_vf megcc_vf_sigmoid(megcc_vf x) {
  const megcc_vf one = megcc_vf_dup(1.0f);
  return megcc_vf_div(one, megcc_vf_add(one, megcc_vf_exp(megcc_vf_neg(x))));
}

// The magnitude of m with the sign of s.
MEGCC_INLINE megcc_vf megcc_vf_copysign(megcc_vf m, megcc_vf s) {
  const megcc_vi mag = megcc_vi_dup(0x7fffffff);
  return megcc_vi_float(
      megcc_vi_or(megcc_vi_and(megcc_vf_bits(m), mag),
                  megcc_vi_and(megcc_vf_bits(s), megcc_vi_xor(mag, megcc_vi_dup(-1)))));
}

// tanh|x| = -e / (e + 2) with e = expm1(-2|x|): no cancellation anywhere.
MEGCC_INLINE megcc_vf megcc_vf_tanh(megcc_vf x) {
  const megcc_vf e = megcc_vf_expm1(megcc_vf_mul(megcc_vf_abs(x), megcc_vf_dup(-2.0f)));
  return megcc_vf_copysign(megcc_vf_div(e, megcc_vf_add(e, megcc_vf_dup(2.0f))), x);
}

// Below 0.95, x + x p(x^2); above, 1 - exp(p(|x|)) with p a fit of log erfc, and 1 from 4 on.
MEGCC_INLINE megcc_vf megcc_vf_erf(megcc_vf x) {
  const megcc_vf a = megcc_vf_abs(x), t = megcc_vf_min(megcc_vf_dup(4.0f), a);
  const megcc_vf s = megcc_vf_mul(t, t);
  megcc_vf p = megcc_vf_dup(-0.0005886773578822613f), big = megcc_vf_dup(-2.1278761778376065e-05f);
  p = megcc_vf_fma(megcc_vf_dup(0.004973116796463728f), p, s);
  p = megcc_vf_fma(megcc_vf_dup(-0.02675333432853222f), p, s);
  p = megcc_vf_fma(megcc_vf_dup(0.11281466484069824f), p, s);
  p = megcc_vf_fma(megcc_vf_dup(-0.37612462043762207f), p, s);
  p = megcc_vf_fma(megcc_vf_dup(0.12837915122509003f), p, s);
  p = megcc_vf_fma(t, t, p);
  big = megcc_vf_fma(megcc_vf_dup(0.0004365749773569405f), big, t);
  big = megcc_vf_fma(megcc_vf_dup(-0.004181241150945425f), big, t);
  big = megcc_vf_fma(megcc_vf_dup(0.025146078318357468f), big, t);
  big = megcc_vf_fma(megcc_vf_dup(-0.10832107067108154f), big, t);
  big = megcc_vf_fma(megcc_vf_dup(-0.6333099007606506f), big, t);
  big = megcc_vf_fma(megcc_vf_dup(-1.1295331716537476f), big, t);
  big = megcc_vf_fma(megcc_vf_dup(0.0001784523337846622f), big, t);
  big = megcc_vf_sub(megcc_vf_dup(1.0f), megcc_vf_exp(big));
  return megcc_vf_copysign(megcc_vf_select(megcc_vf_lt(t, megcc_vf_dup(0.95f)), p, big), x);
}

// x = 2^k (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)), x positive and finite; returns f.
MEGCC_INLINE megcc_vf megcc_vf_log_split(megcc_vf x, megcc_vf* k) {
  const megcc_vm tiny = megcc_vf_lt(x, megcc_vf_dup(1.17549435e-38f));
  const megcc_vf scaled = megcc_vf_select(tiny, megcc_vf_mul(x, megcc_vf_dup(8388608.0f)), x);
  const megcc_vf less = megcc_vf_select(tiny, megcc_vf_dup(150.0f), megcc_vf_dup(127.0f));
  const megcc_vi from_root = megcc_vi_dup(0x3f800000 - 0x3f3504f3);
  const megcc_vi bits = megcc_vi_add(megcc_vf_bits(scaled), from_root);
  const megcc_vi fraction = megcc_vi_and(bits, megcc_vi_dup(0x7fffff));
  *k = megcc_vf_sub(megcc_vi_to_vf(megcc_vi_shr(bits, 23)), less);
  return megcc_vf_sub(megcc_vi_float(megcc_vi_add(fraction, megcc_vi_dup(0x3f3504f3))),
                      megcc_vf_dup(1.0f));
}

// log(1 + f) - f for sqrt(1/2) <= 1 + f <= sqrt(2).
MEGCC_INLINE megcc_vf megcc_vf_log_tail(megcc_vf f) {
  const megcc_vf f2 = megcc_vf_mul(f, f);
  megcc_vf q = megcc_vf_dup(-0.07872869f);
  q = megcc_vf_fma(megcc_vf_dup(0.12900114f), q, f);
  q = megcc_vf_fma(megcc_vf_dup(-0.13132218f), q, f);
  q = megcc_vf_fma(megcc_vf_dup(0.14178833f), q, f);
  q = megcc_vf_fma(megcc_vf_dup(-0.16623999f), q, f);
  q = megcc_vf_fma(megcc_vf_dup(0.20002374f), q, f);
  q = megcc_vf_fma(megcc_vf_dup(-0.25000826f), q, f);
  q = megcc_vf_fma(megcc_vf_dup(0.33333316f), q, f);
  return megcc_vf_mul(f2, megcc_vf_fma(megcc_vf_dup(-0.5f), q, f));
}

// A logarithm's value y of x, and its values where x is not positive and finite.
MEGCC_INLINE megcc_vf megcc_vf_log_limits(megcc_vf x, megcc_vf y) {
  const megcc_vf zero = megcc_vf_zero(), inf = megcc_vi_float(megcc_vi_dup(0x7f800000));
  y = megcc_vf_select(megcc_vf_eq(x, zero), megcc_vf_neg(inf), y);
  y = megcc_vf_select(megcc_vf_lt(x, zero), megcc_vi_float(megcc_vi_dup(0x7fc00000)), y);
  return megcc_vf_select(megcc_vf_lt(x, inf), y, x);
}

MEGCC_INLINE megcc_vf megcc_vf_log(megcc_vf x) {
  megcc_vf k;
  const megcc_vf f = megcc_vf_log_split(x, &k);
  const megcc_vf low = megcc_vf_fma(megcc_vf_log_tail(f), k, megcc_vf_dup(-2.12194440e-4f));
  return megcc_vf_log_limits(x, megcc_vf_fma(megcc_vf_add(f, low), k, megcc_vf_dup(0.693359375f)));
}

// log(1 + x). What 1 + x loses by rounding, relative to it, is added to the logarithm.
MEGCC_INLINE megcc_vf megcc_vf_log1p(megcc_vf x) {
  const megcc_vf one = megcc_vf_dup(1.0f), zero = megcc_vf_zero(), u = megcc_vf_add(one, x);
  megcc_vf k;
  const megcc_vf rounded = megcc_vf_log_split(u, &k);
  const megcc_vm small = megcc_vf_eq(k, zero);
  const megcc_vf lost = megcc_vf_select(megcc_vf_lt(x, u), megcc_vf_sub(x, megcc_vf_sub(u, one)),
                                        megcc_vf_sub(one, megcc_vf_sub(u, x)));
  const megcc_vf f = megcc_vf_select(small, x, rounded);
  const megcc_vf rest = megcc_vf_select(small, zero, megcc_vf_div(lost, u));
  const megcc_vf low =
      megcc_vf_fma(megcc_vf_add(megcc_vf_log_tail(f), rest), k, megcc_vf_dup(-2.12194440e-4f));
  const megcc_vf y = megcc_vf_fma(megcc_vf_add(f, low), k, megcc_vf_dup(0.693359375f));
  return megcc_vf_select(megcc_vf_eq(x, zero), x, megcc_vf_log_limits(u, y));
}

// log(1 + x) for x in [0, 1] (or NaN): 2 atanh(x / (2 + x)) by its series.
MEGCC_INLINE megcc_vf megcc_vf_log1p_unit(megcc_vf x) {
  const megcc_vf s = megcc_vf_div(x, megcc_vf_add(x, megcc_vf_dup(2.0f)));
  const megcc_vf z = megcc_vf_mul(s, s), twice = megcc_vf_add(s, s);
  megcc_vf p = megcc_vf_fma(megcc_vf_dup(1.0f / 11.0f), z, megcc_vf_dup(1.0f / 13.0f));
  p = megcc_vf_fma(megcc_vf_dup(1.0f / 9.0f), p, z);
  p = megcc_vf_fma(megcc_vf_dup(1.0f / 7.0f), p, z);
  p = megcc_vf_fma(megcc_vf_dup(1.0f / 5.0f), p, z);
  p = megcc_vf_fma(megcc_vf_dup(1.0f / 3.0f), p, z);
  return megcc_vf_fma(twice, megcc_vf_mul(twice, z), p);
}

#endif  // MEGCC_VMATH_H
