// megcc_elem.h for f16 that is computed with: vectors of eight f16, on Arm64 with FEAT_FP16. From
// here on what kernels call megcc_vf is such a vector. exp and what is made of it are computed in
// f32, by halves of a vector.
#ifndef MEGCC_SIMD_FP16_H
#define MEGCC_SIMD_FP16_H

#include <arm_neon.h>

#include "megcc_act.h"

typedef float16_t megcc_elem_t;
MEGCC_INLINE float megcc_elem_f32(megcc_elem_t e) { return (float)e; }
MEGCC_INLINE megcc_elem_t megcc_elem_of(float x) { return (megcc_elem_t)x; }

typedef float16x8_t megcc_vh;
typedef uint16x8_t megcc_vhm;

MEGCC_INLINE megcc_vh megcc_vh_load(const float16_t *p) { return vld1q_f16(p); }
MEGCC_INLINE void megcc_vh_store(float16_t *p, megcc_vh v) { vst1q_f16(p, v); }

MEGCC_INLINE megcc_vh megcc_vh_load_n(const float16_t *p, int32_t n) {
  float16_t lanes[8] = {0};
  if (n >= 8) return vld1q_f16(p);
  for (int32_t k = 0; k < n; ++k) lanes[k] = p[k];
  return vld1q_f16(lanes);
}
MEGCC_INLINE void megcc_vh_store_n(float16_t *p, megcc_vh v, int32_t n) {
  float16_t lanes[8];
  if (n >= 8) {
    vst1q_f16(p, v);
    return;
  }
  vst1q_f16(lanes, v);
  for (int32_t k = 0; k < n; ++k) p[k] = lanes[k];
}

MEGCC_INLINE megcc_vh megcc_vh_load_move(const float16_t **p, ptrdiff_t bytes) {
  const float16_t(*from)[8] = (const float16_t(*)[8]) * p;
  megcc_vh v;
  __asm__("ld1 {%0.8h}, [%1], %2" : "=w"(v), "+r"(*p) : "r"(bytes), "m"(*from));
  return v;
}
MEGCC_INLINE void megcc_vh_store_move(float16_t **p, megcc_vh v, ptrdiff_t bytes) {
  float16_t(*to)[8] = (float16_t(*)[8]) * p;
  __asm__("st1 {%2.8h}, [%1], %3" : "=m"(*to), "+r"(*p) : "w"(v), "r"(bytes));
}

MEGCC_INLINE megcc_vh megcc_vh_dup(float x) { return vdupq_n_f16((float16_t)x); }
MEGCC_INLINE megcc_vh megcc_vh_zero(void) { return vdupq_n_f16((float16_t)0.0f); }
MEGCC_INLINE megcc_vh megcc_vh_add(megcc_vh a, megcc_vh b) { return vaddq_f16(a, b); }
MEGCC_INLINE megcc_vh megcc_vh_sub(megcc_vh a, megcc_vh b) { return vsubq_f16(a, b); }
MEGCC_INLINE megcc_vh megcc_vh_mul(megcc_vh a, megcc_vh b) { return vmulq_f16(a, b); }
MEGCC_INLINE megcc_vh megcc_vh_div(megcc_vh a, megcc_vh b) { return vdivq_f16(a, b); }
MEGCC_INLINE megcc_vh megcc_vh_fma(megcc_vh c, megcc_vh a, megcc_vh b) {
  return vfmaq_f16(c, a, b);
}
MEGCC_INLINE megcc_vh megcc_vh_fnma(megcc_vh c, megcc_vh a, megcc_vh b) {
  return vfmsq_f16(c, a, b);
}
MEGCC_INLINE megcc_vh megcc_vh_min(megcc_vh a, megcc_vh b) { return vminq_f16(a, b); }
MEGCC_INLINE megcc_vh megcc_vh_max(megcc_vh a, megcc_vh b) { return vmaxq_f16(a, b); }
MEGCC_INLINE megcc_vh megcc_vh_neg(megcc_vh a) { return vnegq_f16(a); }
MEGCC_INLINE megcc_vh megcc_vh_abs(megcc_vh a) { return vabsq_f16(a); }
MEGCC_INLINE megcc_vh megcc_vh_sqrt(megcc_vh a) { return vsqrtq_f16(a); }
MEGCC_INLINE megcc_vh megcc_vh_round(megcc_vh a) { return vrndnq_f16(a); }
MEGCC_INLINE megcc_vh megcc_vh_floor(megcc_vh a) { return vrndmq_f16(a); }
MEGCC_INLINE megcc_vh megcc_vh_ceil(megcc_vh a) { return vrndpq_f16(a); }
MEGCC_INLINE megcc_vh megcc_vh_trunc(megcc_vh a) { return vrndq_f16(a); }
MEGCC_INLINE megcc_vhm megcc_vh_lt(megcc_vh a, megcc_vh b) { return vcltq_f16(a, b); }
MEGCC_INLINE megcc_vhm megcc_vhm_or(megcc_vhm a, megcc_vhm b) { return vorrq_u16(a, b); }
MEGCC_INLINE megcc_vh megcc_vh_select(megcc_vhm m, megcc_vh a, megcc_vh b) {
  return vbslq_f16(m, a, b);
}
MEGCC_INLINE megcc_vh megcc_vh_copysign(megcc_vh m, megcc_vh s) {
  return vbslq_f16(vdupq_n_u16(0x8000u), s, m);
}

// The activations of megcc_act.h: those with an exponential in f32.
MEGCC_INLINE megcc_vh megcc_vh_wide(int act, megcc_vh x, megcc_vh a, megcc_vh b) {
  const megcc_vf lo =
      megcc_act_any_vf(act, vcvt_f32_f16(vget_low_f16(x)), vcvt_f32_f16(vget_low_f16(a)),
                       vcvt_f32_f16(vget_low_f16(b)));
  const megcc_vf hi =
      megcc_act_any_vf(act, vcvt_f32_f16(vget_high_f16(x)), vcvt_f32_f16(vget_high_f16(a)),
                       vcvt_f32_f16(vget_high_f16(b)));
  return vcombine_f16(vcvt_f16_f32(lo), vcvt_f16_f32(hi));
}
MEGCC_INLINE megcc_vh megcc_vh_act(int act, megcc_vh x, megcc_vh a, megcc_vh b) {
  const megcc_vh zero = megcc_vh_zero(), one = megcc_vh_dup(1.0f);
  switch (act) {
    case MEGCC_ACT_NONE: return x;
    case MEGCC_ACT_RELU: return vmaxq_f16(zero, x);
    case MEGCC_ACT_CLIP: return vminq_f16(b, vmaxq_f16(a, x));
    case MEGCC_ACT_HARDSIGMOID: return vminq_f16(one, vmaxq_f16(zero, vfmaq_f16(b, a, x)));
    case MEGCC_ACT_LEAKY_RELU: return vbslq_f16(vcltq_f16(x, zero), vmulq_f16(a, x), x);
    case MEGCC_ACT_HARDSWISH: {
      const megcc_vh line = vfmaq_f16(megcc_vh_dup(0.5f), x, megcc_vh_dup(1.0f / 6.0f));
      return vmulq_f16(x, vminq_f16(one, vmaxq_f16(zero, line)));
    }
    default: return megcc_vh_wide(act, x, a, b);
  }
}

#undef MEGCC_VL
#define MEGCC_VL 8
#define megcc_vf megcc_vh
#define megcc_vm megcc_vhm
#define megcc_vf_load megcc_vh_load
#define megcc_vf_store megcc_vh_store
#define megcc_vf_load_n megcc_vh_load_n
#define megcc_vf_store_n megcc_vh_store_n
#define megcc_vf_load_move megcc_vh_load_move
#define megcc_vf_store_move megcc_vh_store_move
#define megcc_vf_dup megcc_vh_dup
#define megcc_vf_zero megcc_vh_zero
#define megcc_vf_add megcc_vh_add
#define megcc_vf_sub megcc_vh_sub
#define megcc_vf_mul megcc_vh_mul
#define megcc_vf_div megcc_vh_div
#define megcc_vf_fma megcc_vh_fma
#define megcc_vf_fnma megcc_vh_fnma
#define megcc_vf_min megcc_vh_min
#define megcc_vf_max megcc_vh_max
#define megcc_vf_nanmin megcc_vh_min
#define megcc_vf_nanmax megcc_vh_max
#define megcc_vf_neg megcc_vh_neg
#define megcc_vf_abs megcc_vh_abs
#define megcc_vf_sqrt megcc_vh_sqrt
#define megcc_vf_round megcc_vh_round
#define megcc_vf_floor megcc_vh_floor
#define megcc_vf_ceil megcc_vh_ceil
#define megcc_vf_trunc megcc_vh_trunc
#define megcc_vf_lt megcc_vh_lt
#define megcc_vm_or megcc_vhm_or
#define megcc_vf_select megcc_vh_select
#define megcc_vf_copysign megcc_vh_copysign
#define megcc_act_any_vf megcc_vh_act

#endif  // MEGCC_SIMD_FP16_H
