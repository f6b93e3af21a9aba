// megcc_simd.h for Helium with floats: 4 lanes, eight registers. Subnormal numbers are 0.
//
// Tails are loaded and stored under a predicate. Helium has neither division nor square root: the
// scalar unit computes them lane by lane, as its registers s0 to s3 are the lanes of q0.
#ifndef MEGCC_SIMD_MVE_H
#define MEGCC_SIMD_MVE_H

#include <arm_mve.h>

#include "megcc_kernel.h"

#define MEGCC_VL 4
#define MEGCC_SIMD_NAME "helium"
#define MEGCC_SIMD_FMA 1
#define MEGCC_SIMD_NAN 0  // vminnm and vmaxnm give the other operand instead

typedef float32x4_t megcc_vf;
typedef int32x4_t megcc_vi;
typedef mve_pred16_t megcc_vm;

MEGCC_INLINE megcc_vf megcc_vf_load(const float* p) { return vldrwq_f32(p); }
MEGCC_INLINE void megcc_vf_store(float* p, megcc_vf v) { vstrwq_f32(p, v); }

MEGCC_INLINE megcc_vf megcc_vf_load_n(const float* p, int32_t n) {
  return vldrwq_z_f32(p, vctp32q((uint32_t)n));
}
MEGCC_INLINE void megcc_vf_store_n(float* p, megcc_vf v, int32_t n) {
#if defined(__clang__)
  vstrwq_p_f32(p, v, vctp32q((uint32_t)n));
#else  // by name: gcc before 13 takes a predicated store for one of all lanes
  megcc_vm some;
  __asm__ volatile("vctp.32 %[n]\n\tvpst\n\tvstrwt.32 %q[v], [%[p]]"
                   : "=Up"(some)
                   : [p] "r"(p), [n] "r"(n), [v] "w"(v)
                   : "memory");
  (void)some;
#endif
}

MEGCC_INLINE megcc_vf megcc_vf_dup(float x) { return vdupq_n_f32(x); }
MEGCC_INLINE megcc_vf megcc_vf_add(megcc_vf a, megcc_vf b) { return vaddq_f32(a, b); }
MEGCC_INLINE megcc_vf megcc_vf_sub(megcc_vf a, megcc_vf b) { return vsubq_f32(a, b); }
MEGCC_INLINE megcc_vf megcc_vf_mul(megcc_vf a, megcc_vf b) { return vmulq_f32(a, b); }
MEGCC_INLINE megcc_vf megcc_vf_fma(megcc_vf c, megcc_vf a, megcc_vf b) {
  return vfmaq_f32(c, a, b);
}
MEGCC_INLINE megcc_vf megcc_vf_fnma(megcc_vf c, megcc_vf a, megcc_vf b) {
  return vfmsq_f32(c, a, b);
}
MEGCC_INLINE megcc_vf megcc_vf_neg(megcc_vf a) { return vnegq_f32(a); }
MEGCC_INLINE megcc_vf megcc_vf_abs(megcc_vf a) { return vabsq_f32(a); }
// The conditions lt and le hold for a NaN; gt and ge do not.
MEGCC_INLINE megcc_vm megcc_vf_lt(megcc_vf a, megcc_vf b) { return vcmpgtq_f32(b, a); }
MEGCC_INLINE megcc_vm megcc_vf_le(megcc_vf a, megcc_vf b) { return vcmpgeq_f32(b, a); }
MEGCC_INLINE megcc_vm megcc_vf_eq(megcc_vf a, megcc_vf b) { return vcmpeqq_f32(a, b); }
MEGCC_INLINE megcc_vm megcc_vf_ne(megcc_vf a, megcc_vf b) { return vcmpneq_f32(a, b); }
MEGCC_INLINE megcc_vm megcc_vm_and(megcc_vm a, megcc_vm b) { return (megcc_vm)(a & b); }
MEGCC_INLINE megcc_vm megcc_vm_or(megcc_vm a, megcc_vm b) { return (megcc_vm)(a | b); }
MEGCC_INLINE megcc_vm megcc_vm_not(megcc_vm a) { return (megcc_vm)~a; }
MEGCC_INLINE megcc_vf megcc_vf_select(megcc_vm m, megcc_vf a, megcc_vf b) {
  return vpselq_f32(a, b, m);
}
#if defined(__clang__)
MEGCC_INLINE megcc_vf megcc_vf_min(megcc_vf a, megcc_vf b) {
  return megcc_vf_select(megcc_vf_lt(a, b), a, b);
}
MEGCC_INLINE megcc_vf megcc_vf_max(megcc_vf a, megcc_vf b) {
  return megcc_vf_select(megcc_vf_lt(b, a), a, b);
}
#else  // by name: gcc moves predicates through core registers
#define MEGCC_MVE_WHERE_GREATER(name, x, y)                                  \
  MEGCC_INLINE megcc_vf name(megcc_vf a, megcc_vf b) {                       \
    megcc_vf v;                                                              \
    megcc_vm greater;                                                        \
    __asm__("vcmp.f32 gt, %q[" x "], %q[" y "]\n\tvpsel %q[v], %q[a], %q[b]" \
            : [v] "=w"(v), "=Up"(greater)                                    \
            : [a] "w"(a), [b] "w"(b));                                       \
    (void)greater;                                                           \
    return v;                                                                \
  }
MEGCC_MVE_WHERE_GREATER(megcc_vf_min, "b", "a")
MEGCC_MVE_WHERE_GREATER(megcc_vf_max, "a", "b")
#endif

MEGCC_INLINE megcc_vi megcc_vi_dup(int32_t x) { return vdupq_n_s32(x); }
MEGCC_INLINE megcc_vi megcc_vi_add(megcc_vi a, megcc_vi b) { return vaddq_s32(a, b); }
MEGCC_INLINE megcc_vi megcc_vi_sub(megcc_vi a, megcc_vi b) { return vsubq_s32(a, b); }
MEGCC_INLINE megcc_vi megcc_vi_and(megcc_vi a, megcc_vi b) { return vandq_s32(a, b); }
MEGCC_INLINE megcc_vi megcc_vi_or(megcc_vi a, megcc_vi b) { return vorrq_s32(a, b); }
MEGCC_INLINE megcc_vi megcc_vi_xor(megcc_vi a, megcc_vi b) { return veorq_s32(a, b); }
#define megcc_vi_shl(v, k) vshlq_n_s32(v, k)
#define megcc_vi_shr(v, k) vshrq_n_s32(v, k)
MEGCC_INLINE megcc_vi megcc_vf_bits(megcc_vf v) { return vreinterpretq_s32_f32(v); }
MEGCC_INLINE megcc_vf megcc_vi_float(megcc_vi v) { return vreinterpretq_f32_s32(v); }
MEGCC_INLINE megcc_vi megcc_vf_to_vi(megcc_vf v) { return vcvtq_s32_f32(v); }
MEGCC_INLINE megcc_vf megcc_vi_to_vf(megcc_vi v) { return vcvtq_f32_s32(v); }
MEGCC_INLINE float megcc_vf_first(megcc_vf v) { return vgetq_lane_f32(v, 0); }

MEGCC_INLINE megcc_vf megcc_vf_round(megcc_vf a) { return vrndnq_f32(a); }
MEGCC_INLINE megcc_vf megcc_vf_trunc(megcc_vf a) { return vrndq_f32(a); }
// A result of -0 may be that of a negative subnormal number, whose floor is -1.
MEGCC_INLINE megcc_vf megcc_vf_floor(megcc_vf a) {
  const megcc_vi zero = vdupq_n_s32(INT32_MIN);
  const megcc_vf r = vrndmq_f32(a);
  const megcc_vm of_zero = vcmpeqq_s32(megcc_vf_bits(a), zero);
  const megcc_vm lost = vcmpeqq_s32(megcc_vf_bits(r), zero);
  return megcc_vf_select(of_zero, r, megcc_vf_select(lost, vdupq_n_f32(-1.0f), r));
}
MEGCC_INLINE megcc_vf megcc_vf_ceil(megcc_vf a) { return vnegq_f32(megcc_vf_floor(vnegq_f32(a))); }

MEGCC_INLINE megcc_vf megcc_vf_div(megcc_vf a, megcc_vf b) {
  megcc_vf q;
  __asm__(
      "vmov q0, %q1\n\tvmov q1, %q2\n\t"
      "vdiv.f32 s0, s0, s4\n\tvdiv.f32 s1, s1, s5\n\t"
      "vdiv.f32 s2, s2, s6\n\tvdiv.f32 s3, s3, s7\n\t"
      "vmov %q0, q0"
      : "=w"(q)
      : "w"(a), "w"(b)
      : "q0", "q1");
  return q;
}
MEGCC_INLINE megcc_vf megcc_vf_sqrt(megcc_vf a) {
  megcc_vf r;
  __asm__(
      "vmov q0, %q1\n\t"
      "vsqrt.f32 s0, s0\n\tvsqrt.f32 s1, s1\n\t"
      "vsqrt.f32 s2, s2\n\tvsqrt.f32 s3, s3\n\t"
      "vmov %q0, q0"
      : "=w"(r)
      : "w"(a)
      : "q0");
  return r;
}
MEGCC_INLINE float megcc_vf_sum(megcc_vf v) {
  float sum;
  __asm__(
      "vmov q0, %q1\n\t"
      "vadd.f32 s0, s0, s2\n\tvadd.f32 s1, s1, s3\n\tvadd.f32 s0, s0, s1\n\t"
      "vmov %0, s0"
      : "=r"(sum)
      : "w"(v)
      : "q0");
  return sum;
}
MEGCC_INLINE float megcc_vf_hmax(megcc_vf v) {
  const float a = vgetq_lane_f32(v, 0), b = vgetq_lane_f32(v, 1);
  const float c = vgetq_lane_f32(v, 2), d = vgetq_lane_f32(v, 3);
  const float low = a > b ? a : b, high = c > d ? c : d;
  return low > high ? low : high;
}
MEGCC_INLINE float megcc_vf_hmin(megcc_vf v) {
  const float a = vgetq_lane_f32(v, 0), b = vgetq_lane_f32(v, 1);
  const float c = vgetq_lane_f32(v, 2), d = vgetq_lane_f32(v, 3);
  const float low = a < b ? a : b, high = c < d ? c : d;
  return low < high ? low : high;
}

#endif  // MEGCC_SIMD_MVE_H
