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
    case MEGCC_ACT_GELU: {
      const megcc_vf e = megcc_vf_erf(megcc_vf_mul(x, megcc_vf_dup(0.70710678f)));
      return megcc_vf_mul(megcc_vf_mul(half, x), megcc_vf_add(one, e));
    }
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
