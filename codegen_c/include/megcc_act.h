// The activations a kernel can fuse. `act` is a compile-time constant, so one case remains.
//
//   MEGCC_ACT_*     value                                     parameters
//   NONE            x
//   RELU            max(x, 0)
//   CLIP            min(max(x, a), b)                         a = lo, b = hi
//   SIGMOID         1 / (1 + exp(-x))
//   TANH            tanh(x)
//   SILU            x / (1 + exp(-x))
//   HARDSIGMOID     min(max(a x + b, 0), 1)                   a = alpha, b = beta
//   HARDSWISH       x min(max(x / 6 + 1/2, 0), 1)
//   LEAKY_RELU      x < 0 ? a x : x                           a = alpha
//   GELU            x / 2 (1 + erf(x / sqrt 2))
//   GELU_TANH       x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))), as x sigmoid of twice that
//   ELU             x < 0 ? a (exp(x) - 1) : x                a = alpha
//
// A NaN stays a NaN in all of them, Relu and Clip included. Errors: those of megcc_vmath.h for the
// single functions; GELU within 2e-7 (1 + |x|) absolute (1 + erf cancels for x << 0), GELU_TANH
// within 2e-7 + 1e-7 |t| of its value, t what exp is taken of.
#ifndef MEGCC_ACT_H
#define MEGCC_ACT_H

#include "megcc_act_codes.h"
#include "math/megcc_vmath.h"

// min(max(x, lo), hi); x stands second so that its NaN survives on x86 too.
MEGCC_INLINE megcc_vf megcc_vf_clip(megcc_vf x, megcc_vf lo, megcc_vf hi) {
  return megcc_vf_min(hi, megcc_vf_max(lo, x));
}

// x (1/2 + x P(x^2) / Q(x^2)), a minimax fit (Lawson iteration in double) of erf(x / sqrt 2) / 2x
// up to 5.4 within 6e-9; the bracket is 0 below -5.4.
MEGCC_INLINE megcc_vf megcc_vf_gelu(megcc_vf x) {
  const megcc_vf low = megcc_vf_dup(-5.4f);
  const megcc_vf near = megcc_vf_clip(x, low, megcc_vf_dup(5.4f)), t = megcc_vf_mul(near, near);
  megcc_vf p = megcc_vf_dup(2.3386789393953222e-08f), q = megcc_vf_dup(1.2165926364104962e-06f);
  p = megcc_vf_fma(megcc_vf_dup(6.360020051943138e-06f), p, t);
  p = megcc_vf_fma(megcc_vf_dup(0.00016432128904853016f), p, t);
  p = megcc_vf_fma(megcc_vf_dup(0.004650848917663097f), p, t);
  p = megcc_vf_fma(megcc_vf_dup(0.0333721861243248f), p, t);
  p = megcc_vf_fma(megcc_vf_dup(0.398942232131958f), p, t);
  q = megcc_vf_fma(megcc_vf_dup(7.240007107611746e-05f), q, t);
  q = megcc_vf_fma(megcc_vf_dup(0.001858979114331305f), q, t);
  q = megcc_vf_fma(megcc_vf_dup(0.028378663584589958f), q, t);
  q = megcc_vf_fma(megcc_vf_dup(0.2503177523612976f), q, t);
  q = megcc_vf_fma(megcc_vf_dup(1.0f), q, t);
  p = megcc_vf_add(megcc_vf_dup(0.5f), megcc_vf_div(megcc_vf_mul(near, p), q));
  return megcc_vf_mul(x, megcc_vf_select(megcc_vf_lt(x, low), megcc_vf_dup(0.0f), p));
}

MEGCC_INLINE megcc_vf megcc_act_any_vf(int act, megcc_vf x, megcc_vf a, megcc_vf b) {
  const megcc_vf zero = megcc_vf_dup(0.0f), one = megcc_vf_dup(1.0f), half = megcc_vf_dup(0.5f);
  switch (act) {
    case MEGCC_ACT_RELU: return megcc_vf_max(zero, x);
    case MEGCC_ACT_CLIP: return megcc_vf_clip(x, a, b);
    case MEGCC_ACT_SIGMOID: return megcc_vf_sigmoid(x);
    case MEGCC_ACT_TANH: return megcc_vf_tanh(x);
    case MEGCC_ACT_SILU: return megcc_vf_div(x, megcc_vf_add(one, megcc_vf_exp(megcc_vf_neg(x))));
    case MEGCC_ACT_HARDSIGMOID: return megcc_vf_clip(megcc_vf_fma(b, a, x), zero, one);
    case MEGCC_ACT_HARDSWISH:
      return megcc_vf_mul(
          x, megcc_vf_clip(megcc_vf_fma(half, x, megcc_vf_dup(1.0f / 6.0f)), zero, one));
    case MEGCC_ACT_LEAKY_RELU: return megcc_vf_select(megcc_vf_lt(x, zero), megcc_vf_mul(a, x), x);
    case MEGCC_ACT_GELU: return megcc_vf_gelu(x);
    case MEGCC_ACT_GELU_TANH: {
      const megcc_vf cube = megcc_vf_mul(megcc_vf_mul(x, x), x);
      const megcc_vf inner = megcc_vf_fma(x, cube, megcc_vf_dup(0.044715f));
      const megcc_vf e = megcc_vf_exp(megcc_vf_mul(inner, megcc_vf_dup(-1.5957691f)));
      return megcc_vf_div(x, megcc_vf_add(one, e));
    }
    case MEGCC_ACT_ELU:
      return megcc_vf_select(megcc_vf_lt(x, zero), megcc_vf_mul(a, megcc_vf_expm1(x)), x);
    default: return x;
  }
}

// The scalar form gives the same bits as the vector form, so tails and bodies agree.
MEGCC_INLINE float megcc_act_any_f32(int act, float x, float a, float b) {
  if (act == MEGCC_ACT_NONE) return x;
  if (act == MEGCC_ACT_RELU) return x < 0.0f ? 0.0f : x;
  if (act == MEGCC_ACT_CLIP) {
    x = x < a ? a : x;
    return x > b ? b : x;
  }
  return megcc_vf_first(megcc_act_any_vf(act, megcc_vf_dup(x), megcc_vf_dup(a), megcc_vf_dup(b)));
}

// A kernel instance defines ACT before it includes this header and uses these two.
#ifndef ACT
#define ACT MEGCC_ACT_NONE
#endif
#define megcc_act_vf(x, a, b) megcc_act_any_vf(ACT, x, a, b)
#define megcc_act_f32(x, a, b) megcc_act_any_f32(ACT, x, a, b)

#endif  // MEGCC_ACT_H
