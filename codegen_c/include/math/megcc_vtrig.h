// sin and cos on one megcc_vf. Lanes beyond +-8192 (and NaN) are computed by megcc_trig.h, one by
// one.
//
// Largest absolute error 1e-7 (tests/kernels/test_simd.py): n = round(x / (pi / 2)), and pi / 2
// is subtracted n times in four parts, of which the first three have so few bits that their
// products with n are exact. Polynomials in the rest, |r| <= pi / 4, by Lawson's iteration.
#ifndef MEGCC_VTRIG_H
#define MEGCC_VTRIG_H

#include "math/megcc_trig.h"
#include "simd/megcc_simd.h"

// sin(x + quarter * pi / 2); |x| <= 8192.
MEGCC_INLINE megcc_vf megcc_vf_sine(megcc_vf x, int32_t quarter) {
  const megcc_vf magic = megcc_vf_dup(12582912.0f);
  const megcc_vf shifted = megcc_vf_fma(magic, x, megcc_vf_dup(0.636619772f));
  const megcc_vf n = megcc_vf_sub(shifted, magic);
  const megcc_vi turn = megcc_vi_add(megcc_vf_bits(shifted), megcc_vi_dup(quarter));
  megcc_vf r = megcc_vf_fnma(x, n, megcc_vf_dup(1.5703125f));
  r = megcc_vf_fnma(r, n, megcc_vf_dup(0.0004837513f));
  r = megcc_vf_fnma(r, n, megcc_vf_dup(7.5495336e-08f));
  r = megcc_vf_fnma(r, n, megcc_vf_dup(2.563344e-12f));
  const megcc_vf z = megcc_vf_mul(r, r);
  megcc_vf s = megcc_vf_fma(megcc_vf_dup(0.008332156f), z, megcc_vf_dup(-0.00019514632f));
  s = megcc_vf_fma(megcc_vf_dup(-0.16666655f), z, s);
  s = megcc_vf_fma(r, megcc_vf_mul(z, r), s);
  megcc_vf c = megcc_vf_fma(megcc_vf_dup(-0.0013887362f), z, megcc_vf_dup(2.443773e-05f));
  c = megcc_vf_fma(megcc_vf_dup(0.041666646f), z, c);
  c = megcc_vf_fma(megcc_vf_dup(-0.5f), z, c);
  c = megcc_vf_fma(megcc_vf_dup(1.0f), z, c);
  // An odd number of quarter turns takes the cosine; two of them turn the sign.
  const megcc_vi odd = megcc_vi_and(turn, megcc_vi_dup(1));
  const megcc_vf y = megcc_vf_select(megcc_vf_lt(megcc_vf_zero(), megcc_vi_to_vf(odd)), c, s);
  const megcc_vi sign = megcc_vi_shl(megcc_vi_and(turn, megcc_vi_dup(2)), 30);
  return megcc_vi_float(megcc_vi_xor(megcc_vf_bits(y), sign));
}

// sin(x + quarter * pi / 2) of any x. A lane's bits do not depend on its neighbours.
MEGCC_INLINE megcc_vf megcc_vf_sine_any(megcc_vf x, int32_t quarter) {
  const megcc_vf zero = megcc_vf_zero(), y = megcc_vf_sine(x, quarter);
  const megcc_vm near = megcc_vf_le(megcc_vf_abs(x), megcc_vf_dup(8192.0f));
  float lanes[MEGCC_VL], far[MEGCC_VL];
  if (megcc_vf_hmax(megcc_vf_select(near, zero, megcc_vf_dup(1.0f))) == 0.0f) return y;
  megcc_vf_store(lanes, y);
  megcc_vf_store(far, x);
  for (int k = 0; k < MEGCC_VL; ++k) {
    if (!(megcc_fabsf(far[k]) <= 8192.0f)) {
      lanes[k] = quarter ? megcc_cosf(far[k]) : megcc_sinf(far[k]);
    }
  }
  return megcc_vf_load(lanes);
}

MEGCC_INLINE megcc_vf megcc_vf_sin(megcc_vf x) {
  return megcc_vf_select(megcc_vf_eq(x, megcc_vf_zero()), x, megcc_vf_sine_any(x, 0));
}
MEGCC_INLINE megcc_vf megcc_vf_cos(megcc_vf x) { return megcc_vf_sine_any(x, 1); }

#endif  // MEGCC_VTRIG_H
