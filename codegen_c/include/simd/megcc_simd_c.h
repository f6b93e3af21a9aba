// megcc_simd.h without intrinsics: four lanes through the vector extension of GCC and clang where
// the machine has 128-bit registers, else one plain float.
#ifndef MEGCC_SIMD_C_H
#define MEGCC_SIMD_C_H

#include "megcc_kernel.h"

#define MEGCC_SIMD_FMA 0
#define MEGCC_SIMD_NAN 0

#if !defined(MEGCC_SIMD_SCALAR) && (defined(__GNUC__) || defined(__clang__)) &&   \
    (defined(MEGCC_SIMD_PORTABLE) || defined(__SSE2__) || defined(__aarch64__) || \
     defined(__ARM_NEON) || defined(__ALTIVEC__) || defined(__wasm_simd128__))
#define MEGCC_VL 4
#define MEGCC_SIMD_NAME "vector"
typedef float megcc_vf __attribute__((vector_size(16)));
typedef int32_t megcc_vi __attribute__((vector_size(16)));
typedef megcc_vi megcc_vm;
#define MEGCC_C_LANE(v, i) (v)[i]
#else
#define MEGCC_VL 1
#define MEGCC_SIMD_NAME "scalar"
typedef float megcc_vf;
typedef int32_t megcc_vi;
typedef int32_t megcc_vm;  // 0 or -1
#define MEGCC_C_LANE(v, i) (v)
#endif

#if MEGCC_VL == 4
MEGCC_INLINE megcc_vf megcc_vf_load(const float* p) {
  megcc_vf v;
  __builtin_memcpy(&v, p, sizeof v);
  return v;
}
MEGCC_INLINE void megcc_vf_store(float* p, megcc_vf v) { __builtin_memcpy(p, &v, sizeof v); }
MEGCC_INLINE megcc_vf megcc_vf_dup(float x) { return (megcc_vf){x, x, x, x}; }
MEGCC_INLINE megcc_vi megcc_vi_dup(int32_t x) { return (megcc_vi){x, x, x, x}; }
MEGCC_INLINE megcc_vi megcc_vf_bits(megcc_vf v) { return (megcc_vi)v; }
MEGCC_INLINE megcc_vf megcc_vi_float(megcc_vi v) { return (megcc_vf)v; }
MEGCC_INLINE megcc_vm megcc_vf_lt(megcc_vf a, megcc_vf b) { return a < b; }
MEGCC_INLINE megcc_vm megcc_vf_le(megcc_vf a, megcc_vf b) { return a <= b; }
MEGCC_INLINE megcc_vm megcc_vf_eq(megcc_vf a, megcc_vf b) { return a == b; }
MEGCC_INLINE megcc_vm megcc_vf_ne(megcc_vf a, megcc_vf b) { return a != b; }
MEGCC_INLINE megcc_vi megcc_vi_add(megcc_vi a, megcc_vi b) {
  typedef uint32_t vu __attribute__((vector_size(16)));
  return (megcc_vi)((vu)a + (vu)b);
}
MEGCC_INLINE megcc_vi megcc_vi_sub(megcc_vi a, megcc_vi b) {
  typedef uint32_t vu __attribute__((vector_size(16)));
  return (megcc_vi)((vu)a - (vu)b);
}
MEGCC_INLINE megcc_vi megcc_vi_shl(megcc_vi v, int k) {
  typedef uint32_t vu __attribute__((vector_size(16)));
  return (megcc_vi)((vu)v << k);
}
MEGCC_INLINE megcc_vf megcc_vf_select(megcc_vm m, megcc_vf a, megcc_vf b) {
  return (megcc_vf)((m & (megcc_vi)a) | (~m & (megcc_vi)b));
}
MEGCC_INLINE megcc_vi megcc_vf_to_vi(megcc_vf v) {
  return (megcc_vi){(int32_t)v[0], (int32_t)v[1], (int32_t)v[2], (int32_t)v[3]};
}
MEGCC_INLINE megcc_vf megcc_vi_to_vf(megcc_vi v) {
  return (megcc_vf){(float)v[0], (float)v[1], (float)v[2], (float)v[3]};
}
#else
MEGCC_INLINE megcc_vf megcc_vf_load(const float* p) { return *p; }
MEGCC_INLINE void megcc_vf_store(float* p, megcc_vf v) { *p = v; }
MEGCC_INLINE megcc_vf megcc_vf_dup(float x) { return x; }
MEGCC_INLINE megcc_vi megcc_vi_dup(int32_t x) { return x; }
MEGCC_INLINE megcc_vi megcc_vf_bits(megcc_vf v) {
  union {
    float f;
    int32_t i;
  } u;
  u.f = v;
  return u.i;
}
MEGCC_INLINE megcc_vf megcc_vi_float(megcc_vi v) { return megcc_attr_f32(v); }
MEGCC_INLINE megcc_vm megcc_vf_lt(megcc_vf a, megcc_vf b) { return -(a < b); }
MEGCC_INLINE megcc_vm megcc_vf_le(megcc_vf a, megcc_vf b) { return -(a <= b); }
MEGCC_INLINE megcc_vm megcc_vf_eq(megcc_vf a, megcc_vf b) { return -(a == b); }
MEGCC_INLINE megcc_vm megcc_vf_ne(megcc_vf a, megcc_vf b) { return -(a != b); }
MEGCC_INLINE megcc_vi megcc_vi_add(megcc_vi a, megcc_vi b) {
  return (int32_t)((uint32_t)a + (uint32_t)b);
}
MEGCC_INLINE megcc_vi megcc_vi_sub(megcc_vi a, megcc_vi b) {
  return (int32_t)((uint32_t)a - (uint32_t)b);
}
MEGCC_INLINE megcc_vi megcc_vi_shl(megcc_vi v, int k) { return (int32_t)((uint32_t)v << k); }
MEGCC_INLINE megcc_vf megcc_vf_select(megcc_vm m, megcc_vf a, megcc_vf b) { return m ? a : b; }
MEGCC_INLINE megcc_vi megcc_vf_to_vi(megcc_vf v) { return (int32_t)v; }
MEGCC_INLINE megcc_vf megcc_vi_to_vf(megcc_vi v) { return (float)v; }
#endif

MEGCC_INLINE megcc_vf megcc_vf_load_n(const float* p, int32_t n) {
  megcc_vf v = megcc_vf_dup(0.0f);
  if (n > 0) MEGCC_C_LANE(v, 0) = p[0];
#if MEGCC_VL == 4
  if (n > 1) v[1] = p[1];
  if (n > 2) v[2] = p[2];
  if (n > 3) v[3] = p[3];
#endif
  return v;
}
MEGCC_INLINE void megcc_vf_store_n(float* p, megcc_vf v, int32_t n) {
  if (n > 0) p[0] = MEGCC_C_LANE(v, 0);
#if MEGCC_VL == 4
  if (n > 1) p[1] = v[1];
  if (n > 2) p[2] = v[2];
  if (n > 3) p[3] = v[3];
#endif
}

// Operators of C mean the same for a vector and for one float from here on.
MEGCC_INLINE megcc_vf megcc_vf_add(megcc_vf a, megcc_vf b) { return a + b; }
MEGCC_INLINE megcc_vf megcc_vf_sub(megcc_vf a, megcc_vf b) { return a - b; }
MEGCC_INLINE megcc_vf megcc_vf_mul(megcc_vf a, megcc_vf b) { return a * b; }
MEGCC_INLINE megcc_vf megcc_vf_div(megcc_vf a, megcc_vf b) { return a / b; }
MEGCC_INLINE megcc_vf megcc_vf_fma(megcc_vf c, megcc_vf a, megcc_vf b) { return c + a * b; }
MEGCC_INLINE megcc_vf megcc_vf_fnma(megcc_vf c, megcc_vf a, megcc_vf b) { return c - a * b; }
MEGCC_INLINE megcc_vf megcc_vf_neg(megcc_vf a) { return -a; }
MEGCC_INLINE megcc_vi megcc_vi_and(megcc_vi a, megcc_vi b) { return a & b; }
MEGCC_INLINE megcc_vi megcc_vi_or(megcc_vi a, megcc_vi b) { return a | b; }
MEGCC_INLINE megcc_vi megcc_vi_xor(megcc_vi a, megcc_vi b) { return a ^ b; }
MEGCC_INLINE megcc_vi megcc_vi_shr(megcc_vi v, int k) { return v >> k; }
MEGCC_INLINE megcc_vm megcc_vm_and(megcc_vm a, megcc_vm b) { return a & b; }
MEGCC_INLINE megcc_vm megcc_vm_or(megcc_vm a, megcc_vm b) { return a | b; }
MEGCC_INLINE megcc_vm megcc_vm_not(megcc_vm a) { return ~a; }
MEGCC_INLINE megcc_vf megcc_vf_min(megcc_vf a, megcc_vf b) {
  return megcc_vf_select(megcc_vf_lt(a, b), a, b);
}
MEGCC_INLINE megcc_vf megcc_vf_max(megcc_vf a, megcc_vf b) {
  return megcc_vf_select(megcc_vf_lt(b, a), a, b);
}
MEGCC_INLINE megcc_vf megcc_vf_abs(megcc_vf a) {
  return megcc_vi_float(megcc_vi_and(megcc_vf_bits(a), megcc_vi_dup(0x7fffffff)));
}
// The magnitude of m with the sign of s.
MEGCC_INLINE megcc_vf megcc_c_copysign(megcc_vf m, megcc_vf s) {
  return megcc_vi_float(
      megcc_vi_or(megcc_vi_and(megcc_vf_bits(m), megcc_vi_dup(0x7fffffff)),
                  megcc_vi_and(megcc_vf_bits(s), megcc_vi_dup((int32_t)-0x7fffffff - 1))));
}
// From 2^23 on every float is whole; below it, adding and subtracting 2^23 rounds.
MEGCC_INLINE megcc_vf megcc_vf_round(megcc_vf a) {
  const megcc_vf big = megcc_vf_dup(8388608.0f), mag = megcc_vf_abs(a);
  volatile megcc_vf shifted = mag + big;  // keeps -ffast-math from cancelling the two additions
  return megcc_vf_select(megcc_vf_lt(mag, big), megcc_c_copysign(shifted - big, a), a);
}
MEGCC_INLINE megcc_vf megcc_vf_floor(megcc_vf a) {
  const megcc_vf r = megcc_vf_round(a);
  const megcc_vf down = megcc_vf_select(megcc_vf_lt(a, r), megcc_vf_dup(1.0f), megcc_vf_dup(0.0f));
  return megcc_c_copysign(r - down, a);
}
MEGCC_INLINE megcc_vf megcc_vf_ceil(megcc_vf a) { return -megcc_vf_floor(-a); }
MEGCC_INLINE megcc_vf megcc_vf_trunc(megcc_vf a) {
  return megcc_c_copysign(megcc_vf_floor(megcc_vf_abs(a)), a);
}

// The square root is an instruction where C can name it without the call to sqrtf that errno would
// need; elsewhere Newton's iteration on the reciprocal root and one correction step: 1 ulp.
MEGCC_INLINE float megcc_c_sqrt(float x) {
#if defined(__clang__) && defined(__SSE2__)
  // Its newer versions lack the function that gcc has.
  float r;
#if defined(__AVX__)
  __asm__("vsqrtss %1, %1, %0" : "=x"(r) : "x"(x));
#else
  __asm__("sqrtss %1, %0" : "=x"(r) : "x"(x));
#endif
  return r;
#elif defined(__SSE2__)
  typedef float vf4 __attribute__((vector_size(16)));
  return __builtin_ia32_sqrtss((vf4){x, 0.0f, 0.0f, 0.0f})[0];
#elif defined(__aarch64__)
  float r;
  __asm__("fsqrt %s0, %s1" : "=w"(r) : "w"(x));
  return r;
#elif defined(__NO_MATH_ERRNO__)
  return __builtin_sqrtf(x);
#else
  float scale = 1.0f, y, s;
  if (!(x > 0.0f) || x > 3.4028235e38f)
    return x == 0.0f || x > 0.0f ? x : x - x + (x - x) / (x - x);
  if (x < 1.1754944e-38f) {  // a subnormal has no exponent to halve: 2^-24 comes out of the root as
                             // 2^-12
    x *= 16777216.0f;
    scale = 1.0f / 4096.0f;
  }
  {
    union {
      float f;
      uint32_t i;
    } u;
    u.f = x;
    u.i = 0x5f3759dfu - (u.i >> 1);
    y = u.f;
  }
  y = y * (1.5f - 0.5f * x * y * y);
  y = y * (1.5f - 0.5f * x * y * y);
  y = y * (1.5f - 0.5f * x * y * y);
  s = x * y;
  return (s + 0.5f * y * (x - s * s)) * scale;
#endif
}

#if MEGCC_VL == 4
MEGCC_INLINE megcc_vf megcc_vf_sqrt(megcc_vf a) {
  return (megcc_vf){megcc_c_sqrt(a[0]), megcc_c_sqrt(a[1]), megcc_c_sqrt(a[2]), megcc_c_sqrt(a[3])};
}
MEGCC_INLINE float megcc_vf_first(megcc_vf v) { return v[0]; }
MEGCC_INLINE float megcc_vf_sum(megcc_vf v) { return (v[0] + v[2]) + (v[1] + v[3]); }
MEGCC_INLINE float megcc_vf_hmax(megcc_vf v) {
  const float a = v[0] > v[1] ? v[0] : v[1], b = v[2] > v[3] ? v[2] : v[3];
  return a > b ? a : b;
}
MEGCC_INLINE float megcc_vf_hmin(megcc_vf v) {
  const float a = v[0] < v[1] ? v[0] : v[1], b = v[2] < v[3] ? v[2] : v[3];
  return a < b ? a : b;
}
#else
MEGCC_INLINE megcc_vf megcc_vf_sqrt(megcc_vf a) { return megcc_c_sqrt(a); }
MEGCC_INLINE float megcc_vf_first(megcc_vf v) { return v; }
MEGCC_INLINE float megcc_vf_sum(megcc_vf v) { return v; }
MEGCC_INLINE float megcc_vf_hmax(megcc_vf v) { return v; }
MEGCC_INLINE float megcc_vf_hmin(megcc_vf v) { return v; }
#endif

#endif  // MEGCC_SIMD_C_H
