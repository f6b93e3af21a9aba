// exp, expm1, sigmoid, tanh and erf on one megcc_vf. No table, no libm, no state.
//
// Largest relative error, measured over 10^7 arguments against double (tests/kernels/test_simd.py
// holds these bounds): exp 1e-7, expm1 1.5e-7, sigmoid 1.5e-7, tanh 2e-7, erf 1.2e-7. A NaN gives a
// NaN. exp(x) is 0 below -87.0 (no subnormal results) and +inf above 88.73.
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

#endif  // MEGCC_VMATH_H
