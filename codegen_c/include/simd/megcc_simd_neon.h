// megcc_simd.h for NEON: 4 lanes, AArch64 and Armv7. Armv7 NEON flushes subnormals to zero and,
// before VFPv4, has no fused multiply-add.
#ifndef MEGCC_SIMD_NEON_H
#define MEGCC_SIMD_NEON_H

#include <arm_neon.h>

#include "megcc_kernel.h"

#define MEGCC_VL 4
#define MEGCC_SIMD_NAME "neon"
#if defined(__aarch64__) || defined(__ARM_FEATURE_FMA)
#define MEGCC_SIMD_FMA 1
#else
#define MEGCC_SIMD_FMA 0
#endif

#define MEGCC_SIMD_NAN 1  // min and max of a NaN are one

typedef float32x4_t megcc_vf;
typedef int32x4_t megcc_vi;
typedef uint32x4_t megcc_vm;

MEGCC_INLINE megcc_vf megcc_vf_load(const float* p) { return vld1q_f32(p); }
MEGCC_INLINE void megcc_vf_store(float* p, megcc_vf v) { vst1q_f32(p, v); }

// By name: compilers add to the pointer in an instruction of its own.
#define MEGCC_SIMD_MOVES
#if defined(__aarch64__)
#define MEGCC_NEON_LD1 "ld1 {%0.4s}, [%1], %2"
#define MEGCC_NEON_ST1 "st1 {%2.4s}, [%1], %3"
#else
#define MEGCC_NEON_LD1 "vld1.32 {%e0-%f0}, [%1], %2"
#define MEGCC_NEON_ST1 "vst1.32 {%e2-%f2}, [%1], %3"
#endif
MEGCC_INLINE megcc_vf megcc_vf_load_move(const float** p, ptrdiff_t bytes) {
  const float(*from)[4] = (const float(*)[4]) * p;
  megcc_vf v;
  __asm__(MEGCC_NEON_LD1 : "=w"(v), "+r"(*p) : "r"(bytes), "m"(*from));
  return v;
}
MEGCC_INLINE void megcc_vf_store_move(float** p, megcc_vf v, ptrdiff_t bytes) {
  float(*to)[4] = (float(*)[4]) * p;
  __asm__(MEGCC_NEON_ST1 : "=m"(*to), "+r"(*p) : "w"(v), "r"(bytes));
}

// A load that stays where it is written: with 16 registers, what compilers move out of a loop comes
// back from the stack by two instructions.
#if !defined(__aarch64__)
#define MEGCC_SIMD_LOAD_HERE
MEGCC_INLINE megcc_vf megcc_vf_load_here(const float* p) {
  const float(*from)[4] = (const float(*)[4])p;
  megcc_vf v;
  __asm__ volatile("vld1.32 {%e0-%f0}, [%1]" : "=w"(v) : "r"(p), "m"(*from));
  return v;
}
#endif

// Two vectors by one instruction, by name for the same reason. It takes lanes as 16 bytes, which is
// another order on a big-endian machine.
#if defined(__aarch64__) && !defined(__AARCH64EB__)
#define MEGCC_SIMD_PAIRS
MEGCC_INLINE void megcc_vf_load_pair(const float** p, megcc_vf* a, megcc_vf* b) {
  const float(*from)[8] = (const float(*)[8]) * p;
  __asm__("ldp %q0, %q1, [%2], #32" : "=w"(*a), "=w"(*b), "+r"(*p) : "m"(*from));
}
MEGCC_INLINE void megcc_vf_store_pair(float** p, megcc_vf a, megcc_vf b) {
  float(*to)[8] = (float(*)[8]) * p;
  __asm__("stp %q2, %q3, [%1], #32" : "=m"(*to), "+r"(*p) : "w"(a), "w"(b));
}
#endif

MEGCC_INLINE megcc_vf megcc_vf_load_n(const float* p, int32_t n) {
  float32x2_t lo = vdup_n_f32(0.0f), hi = lo;
  if (n >= 4) return vld1q_f32(p);
  if (n >= 2) {
    lo = vld1_f32(p);
    if (n == 3) hi = vld1_lane_f32(p + 2, hi, 0);
  } else if (n == 1) {
    lo = vld1_lane_f32(p, lo, 0);
  }
  return vcombine_f32(lo, hi);
}

MEGCC_INLINE void megcc_vf_store_n(float* p, megcc_vf v, int32_t n) {
  if (n >= 4) {
    vst1q_f32(p, v);
  } else if (n >= 2) {
    vst1_f32(p, vget_low_f32(v));
    if (n == 3) vst1q_lane_f32(p + 2, v, 2);
  } else if (n == 1) {
    vst1q_lane_f32(p, v, 0);
  }
}

MEGCC_INLINE megcc_vf megcc_vf_dup(float x) { return vdupq_n_f32(x); }
MEGCC_INLINE megcc_vf megcc_vf_add(megcc_vf a, megcc_vf b) { return vaddq_f32(a, b); }
MEGCC_INLINE megcc_vf megcc_vf_sub(megcc_vf a, megcc_vf b) { return vsubq_f32(a, b); }
MEGCC_INLINE megcc_vf megcc_vf_mul(megcc_vf a, megcc_vf b) { return vmulq_f32(a, b); }
MEGCC_INLINE megcc_vf megcc_vf_min(megcc_vf a, megcc_vf b) { return vminq_f32(a, b); }
MEGCC_INLINE megcc_vf megcc_vf_max(megcc_vf a, megcc_vf b) { return vmaxq_f32(a, b); }
MEGCC_INLINE megcc_vf megcc_vf_neg(megcc_vf a) { return vnegq_f32(a); }
MEGCC_INLINE megcc_vf megcc_vf_abs(megcc_vf a) { return vabsq_f32(a); }
#if defined(__arm__)
// gcc compares lane by lane where it is given the intrinsics: Armv7's vectors are not all of IEEE.
#define MEGCC_NEON_COMPARE(name, instruction)          \
  MEGCC_INLINE megcc_vm name(megcc_vf a, megcc_vf b) { \
    megcc_vm m;                                        \
    __asm__(instruction : "=w"(m) : "w"(a), "w"(b));   \
    return m;                                          \
  }
MEGCC_NEON_COMPARE(megcc_vf_lt, "vcgt.f32 %q0, %q2, %q1")
MEGCC_NEON_COMPARE(megcc_vf_le, "vcge.f32 %q0, %q2, %q1")
MEGCC_NEON_COMPARE(megcc_vf_eq, "vceq.f32 %q0, %q1, %q2")
#else
MEGCC_INLINE megcc_vm megcc_vf_lt(megcc_vf a, megcc_vf b) { return vcltq_f32(a, b); }
MEGCC_INLINE megcc_vm megcc_vf_le(megcc_vf a, megcc_vf b) { return vcleq_f32(a, b); }
MEGCC_INLINE megcc_vm megcc_vf_eq(megcc_vf a, megcc_vf b) { return vceqq_f32(a, b); }
#endif
MEGCC_INLINE megcc_vm megcc_vf_ne(megcc_vf a, megcc_vf b) { return vmvnq_u32(megcc_vf_eq(a, b)); }
MEGCC_INLINE megcc_vm megcc_vm_and(megcc_vm a, megcc_vm b) { return vandq_u32(a, b); }
MEGCC_INLINE megcc_vm megcc_vm_or(megcc_vm a, megcc_vm b) { return vorrq_u32(a, b); }
MEGCC_INLINE megcc_vm megcc_vm_not(megcc_vm a) { return vmvnq_u32(a); }
MEGCC_INLINE megcc_vf megcc_vf_select(megcc_vm m, megcc_vf a, megcc_vf b) {
  return vbslq_f32(m, a, b);
}

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

#if MEGCC_SIMD_FMA
MEGCC_INLINE megcc_vf megcc_vf_fma(megcc_vf c, megcc_vf a, megcc_vf b) {
  return vfmaq_f32(c, a, b);
}
MEGCC_INLINE megcc_vf megcc_vf_fnma(megcc_vf c, megcc_vf a, megcc_vf b) {
  return vfmsq_f32(c, a, b);
}
#else
MEGCC_INLINE megcc_vf megcc_vf_fma(megcc_vf c, megcc_vf a, megcc_vf b) {
  return vmlaq_f32(c, a, b);
}
MEGCC_INLINE megcc_vf megcc_vf_fnma(megcc_vf c, megcc_vf a, megcc_vf b) {
  return vmlsq_f32(c, a, b);
}
#endif

#if defined(__aarch64__)
MEGCC_INLINE megcc_vf megcc_vf_div(megcc_vf a, megcc_vf b) { return vdivq_f32(a, b); }
MEGCC_INLINE megcc_vf megcc_vf_sqrt(megcc_vf a) { return vsqrtq_f32(a); }
MEGCC_INLINE megcc_vf megcc_vf_round(megcc_vf a) { return vrndnq_f32(a); }
MEGCC_INLINE megcc_vf megcc_vf_floor(megcc_vf a) { return vrndmq_f32(a); }
MEGCC_INLINE megcc_vf megcc_vf_ceil(megcc_vf a) { return vrndpq_f32(a); }
MEGCC_INLINE megcc_vf megcc_vf_trunc(megcc_vf a) { return vrndq_f32(a); }
MEGCC_INLINE float megcc_vf_sum(megcc_vf v) { return vaddvq_f32(v); }
MEGCC_INLINE float megcc_vf_hmax(megcc_vf v) { return vmaxvq_f32(v); }
MEGCC_INLINE float megcc_vf_hmin(megcc_vf v) { return vminvq_f32(v); }
#else
// The estimate instructions of Armv7 cannot give a correctly rounded quotient: divide lane by lane.
MEGCC_INLINE megcc_vf megcc_vf_div(megcc_vf a, megcc_vf b) {
  float32x4_t r = vdupq_n_f32(vgetq_lane_f32(a, 0) / vgetq_lane_f32(b, 0));
  r = vsetq_lane_f32(vgetq_lane_f32(a, 1) / vgetq_lane_f32(b, 1), r, 1);
  r = vsetq_lane_f32(vgetq_lane_f32(a, 2) / vgetq_lane_f32(b, 2), r, 2);
  return vsetq_lane_f32(vgetq_lane_f32(a, 3) / vgetq_lane_f32(b, 3), r, 3);
}

MEGCC_INLINE float megcc_vsqrt_lane(float x) {
  float r;
  __asm__("vsqrt.f32 %0, %1" : "=t"(r) : "t"(x));
  return r;
}

MEGCC_INLINE megcc_vf megcc_vf_sqrt(megcc_vf a) {
  float32x4_t r = vdupq_n_f32(megcc_vsqrt_lane(vgetq_lane_f32(a, 0)));
  r = vsetq_lane_f32(megcc_vsqrt_lane(vgetq_lane_f32(a, 1)), r, 1);
  r = vsetq_lane_f32(megcc_vsqrt_lane(vgetq_lane_f32(a, 2)), r, 2);
  return vsetq_lane_f32(megcc_vsqrt_lane(vgetq_lane_f32(a, 3)), r, 3);
}

// From 2^23 on every float is whole; below it, adding and subtracting 2^23 rounds. `vbsl` takes the
// sign of the operand back, so that -0.25 gives -0.
MEGCC_INLINE megcc_vf megcc_vf_round(megcc_vf a) {
  const uint32x4_t sign = vdupq_n_u32(0x80000000u);
  const float32x4_t big = vdupq_n_f32(8388608.0f), mag = vabsq_f32(a);
  const float32x4_t r = vsubq_f32(vaddq_f32(mag, big), big);
  return vbslq_f32(megcc_vf_lt(mag, big), vbslq_f32(sign, a, r), a);
}
MEGCC_INLINE megcc_vf megcc_vf_trunc(megcc_vf a) {
  const uint32x4_t sign = vdupq_n_u32(0x80000000u);
  const float32x4_t r = vcvtq_f32_s32(vcvtq_s32_f32(a));
  const uint32x4_t small = megcc_vf_lt(vabsq_f32(a), vdupq_n_f32(8388608.0f));
  return vbslq_f32(small, vbslq_f32(sign, a, r), a);
}
// a < r of equal signs, as integers: a comparison of floats takes a subnormal number for 0.
MEGCC_INLINE megcc_vm megcc_vf_below(megcc_vf a, megcc_vf r) {
  const int32x4_t bits = vreinterpretq_s32_f32(a), sign = vshrq_n_s32(bits, 31);
  return vcltq_s32(veorq_s32(bits, sign), veorq_s32(vreinterpretq_s32_f32(r), sign));
}
MEGCC_INLINE megcc_vf megcc_vf_floor(megcc_vf a) {
  const float32x4_t r = megcc_vf_round(a);
  const float32x4_t down = vbslq_f32(megcc_vf_below(a, r), vdupq_n_f32(1.0f), vdupq_n_f32(0.0f));
  return vbslq_f32(vdupq_n_u32(0x80000000u), a, vsubq_f32(r, down));
}
MEGCC_INLINE megcc_vf megcc_vf_ceil(megcc_vf a) { return vnegq_f32(megcc_vf_floor(vnegq_f32(a))); }
MEGCC_INLINE float megcc_vf_sum(megcc_vf v) {
  const float32x2_t s = vadd_f32(vget_low_f32(v), vget_high_f32(v));
  return vget_lane_f32(vpadd_f32(s, s), 0);
}
MEGCC_INLINE float megcc_vf_hmax(megcc_vf v) {
  const float32x2_t s = vmax_f32(vget_low_f32(v), vget_high_f32(v));
  return vget_lane_f32(vpmax_f32(s, s), 0);
}
MEGCC_INLINE float megcc_vf_hmin(megcc_vf v) {
  const float32x2_t s = vmin_f32(vget_low_f32(v), vget_high_f32(v));
  return vget_lane_f32(vpmin_f32(s, s), 0);
}
#endif

#endif  // MEGCC_SIMD_NEON_H
