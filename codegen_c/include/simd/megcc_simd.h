// One vector of floats, whatever the machine: megcc_vf holds MEGCC_VL lanes.
//
//   chosen by the compiler's macros    lanes   header
//   AArch64 or Armv7 NEON                  4   megcc_simd_neon.h
//   Helium with floats                     4   megcc_simd_mve.h
//   AVX-512F                              16   megcc_simd_x86.h
//   AVX2 + FMA                             8   megcc_simd_x86.h
//   GCC or clang with 128-bit vectors      4   megcc_simd_c.h (vector extension, no intrinsics)
//   any other C99 compiler                 1   megcc_simd_c.h (plain float)
//
// A kernel whose data has rows of n < 16 floats defines MEGCC_SIMD_MAX as n to keep AVX-512 away.
// -DMEGCC_SIMD_PORTABLE keeps to megcc_simd_c.h, -DMEGCC_SIMD_SCALAR to its one-lane form.
//
// Types: megcc_vf (f32 lanes), megcc_vi (i32 lanes), megcc_vm (one truth value per lane).
// Functions (all always inline; n is in [0, MEGCC_VL]):
//   vf load(p) store(p, v)         unaligned
//   vf load_n(p, n) store_n(p, v, n)   touch exactly n floats; lanes past n load as 0
//   vf load_move(&p, bytes) store_move(&p, v, bytes)   then move the pointer on
//   megcc_vf2_load_move(&p) megcc_vf2_store_move(&p, v)   two vectors .a .b, then move behind them
//   megcc_vf2_add(v, w) megcc_vf2_sub(v, w)
//   vf dup(x) add sub mul div neg abs sqrt
//   vf fma(acc, a, b) fnma(acc, a, b)  acc + a * b, acc - a * b; fused where MEGCC_SIMD_FMA is 1
//   vf min(a, b) max(a, b)         a NaN in b gives NaN everywhere; a NaN in a only on Arm
//   vf nanmin(a, b) nanmax(a, b)   a NaN in either gives NaN
//   vf round floor ceil trunc      round is to nearest, ties to even
//   vm lt le eq (a, b)             false when a lane is NaN;  vm ne(a, b) true
//   vf select(m, a, b)             m ? a : b;  vm megcc_vm_and/or/not
//   float sum(v) hmax(v) hmin(v) first(v)
//   vi megcc_vi_dup add sub and or xor, megcc_vi_shl(v, const) megcc_vi_shr(v, const), arithmetic
//   vi megcc_vf_bits(v), vf megcc_vi_float(v)   the same bits
//   vi megcc_vf_to_vi(v) (truncates; in range only), vf megcc_vi_to_vf(v)
#ifndef MEGCC_SIMD_H
#define MEGCC_SIMD_H

#include "megcc_kernel.h"

#ifndef MEGCC_SIMD_MAX
#define MEGCC_SIMD_MAX 16
#endif

#if defined(MEGCC_SIMD_PORTABLE) || defined(MEGCC_SIMD_SCALAR)
#include "simd/megcc_simd_c.h"
#elif defined(__ARM_NEON) || defined(__ARM_NEON__)
#include "simd/megcc_simd_neon.h"
#elif defined(__ARM_FEATURE_MVE) && (__ARM_FEATURE_MVE & 2)
#include "simd/megcc_simd_mve.h"
#elif (defined(__AVX512F__) && defined(__AVX512DQ__) && MEGCC_SIMD_MAX >= 16) || \
    (defined(__AVX2__) && defined(__FMA__))
#include "simd/megcc_simd_x86.h"
#else
#include "simd/megcc_simd_c.h"
#endif

#ifndef MEGCC_SIMD_MOVES
MEGCC_INLINE megcc_vf megcc_vf_load_move(const float** p, ptrdiff_t bytes) {
  const megcc_vf v = megcc_vf_load(*p);
  *p = (const float*)(const void*)((const char*)*p + bytes);
  return v;
}
MEGCC_INLINE void megcc_vf_store_move(float** p, megcc_vf v, ptrdiff_t bytes) {
  megcc_vf_store(*p, v);
  *p = (float*)(void*)((char*)*p + bytes);
}
#endif

// Two vectors that follow each other in memory.
typedef struct {
  megcc_vf a, b;
} megcc_vf2;

#ifdef MEGCC_SIMD_PAIRS
MEGCC_INLINE megcc_vf2 megcc_vf2_load_move(const float** p) {
  megcc_vf2 v;
  megcc_vf_load_pair(p, &v.a, &v.b);
  return v;
}
MEGCC_INLINE void megcc_vf2_store_move(float** p, megcc_vf2 v) { megcc_vf_store_pair(p, v.a, v.b); }
#else
MEGCC_INLINE megcc_vf2 megcc_vf2_load_move(const float** p) {
  megcc_vf2 v;
  v.a = megcc_vf_load(*p);
  v.b = megcc_vf_load(*p + MEGCC_VL);
  *p += 2 * MEGCC_VL;
  return v;
}
MEGCC_INLINE void megcc_vf2_store_move(float** p, megcc_vf2 v) {
  megcc_vf_store(*p, v.a);
  megcc_vf_store(*p + MEGCC_VL, v.b);
  *p += 2 * MEGCC_VL;
}
#endif
MEGCC_INLINE megcc_vf2 megcc_vf2_add(megcc_vf2 v, megcc_vf2 w) {
  v.a = megcc_vf_add(v.a, w.a);
  v.b = megcc_vf_add(v.b, w.b);
  return v;
}
MEGCC_INLINE megcc_vf2 megcc_vf2_sub(megcc_vf2 v, megcc_vf2 w) {
  v.a = megcc_vf_sub(v.a, w.a);
  v.b = megcc_vf_sub(v.b, w.b);
  return v;
}

MEGCC_INLINE megcc_vf megcc_vf_zero(void) { return megcc_vf_dup(0.0f); }
MEGCC_INLINE megcc_vm megcc_vf_gt(megcc_vf a, megcc_vf b) { return megcc_vf_lt(b, a); }
MEGCC_INLINE megcc_vm megcc_vf_ge(megcc_vf a, megcc_vf b) { return megcc_vf_le(b, a); }

#if MEGCC_SIMD_NAN  // min and max do so themselves
MEGCC_INLINE megcc_vf megcc_vf_nanmin(megcc_vf a, megcc_vf b) { return megcc_vf_min(a, b); }
MEGCC_INLINE megcc_vf megcc_vf_nanmax(megcc_vf a, megcc_vf b) { return megcc_vf_max(a, b); }
#else
MEGCC_INLINE megcc_vf megcc_vf_nanmin(megcc_vf a, megcc_vf b) {
  return megcc_vf_select(megcc_vf_eq(a, a), megcc_vf_min(a, b), a);
}
MEGCC_INLINE megcc_vf megcc_vf_nanmax(megcc_vf a, megcc_vf b) {
  return megcc_vf_select(megcc_vf_eq(a, a), megcc_vf_max(a, b), a);
}
#endif

// One float, with the machine's own square root (never a libm call).
MEGCC_INLINE float megcc_sqrt_f32(float x) {
  return megcc_vf_first(megcc_vf_sqrt(megcc_vf_dup(x)));
}

#endif  // MEGCC_SIMD_H
