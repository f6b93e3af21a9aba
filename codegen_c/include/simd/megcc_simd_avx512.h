// megcc_simd.h for AVX-512 (F and DQ): 16 lanes, truth values in mask registers.
#ifndef MEGCC_SIMD_AVX512_H
#define MEGCC_SIMD_AVX512_H

#include <immintrin.h>

#include "megcc_kernel.h"

#define MEGCC_VL 16
#define MEGCC_SIMD_NAME "avx512"
#define MEGCC_SIMD_FMA 1
#define MEGCC_SIMD_NAN 0

typedef __m512 megcc_vf;
typedef __m512i megcc_vi;
typedef __mmask16 megcc_vm;

MEGCC_INLINE __mmask16 megcc_avx512_first_n(int32_t n) { return (__mmask16)((1u << n) - 1u); }
MEGCC_INLINE megcc_vf megcc_vf_load(const float* p) { return _mm512_loadu_ps(p); }
MEGCC_INLINE void megcc_vf_store(float* p, megcc_vf v) { _mm512_storeu_ps(p, v); }
MEGCC_INLINE megcc_vf megcc_vf_load_n(const float* p, int32_t n) {
  return _mm512_maskz_loadu_ps(megcc_avx512_first_n(n), p);
}
MEGCC_INLINE void megcc_vf_store_n(float* p, megcc_vf v, int32_t n) {
  _mm512_mask_storeu_ps(p, megcc_avx512_first_n(n), v);
}

MEGCC_INLINE megcc_vf megcc_vf_dup(float x) { return _mm512_set1_ps(x); }
MEGCC_INLINE megcc_vf megcc_vf_add(megcc_vf a, megcc_vf b) { return _mm512_add_ps(a, b); }
MEGCC_INLINE megcc_vf megcc_vf_sub(megcc_vf a, megcc_vf b) { return _mm512_sub_ps(a, b); }
MEGCC_INLINE megcc_vf megcc_vf_mul(megcc_vf a, megcc_vf b) { return _mm512_mul_ps(a, b); }
MEGCC_INLINE megcc_vf megcc_vf_div(megcc_vf a, megcc_vf b) { return _mm512_div_ps(a, b); }
MEGCC_INLINE megcc_vf megcc_vf_fma(megcc_vf c, megcc_vf a, megcc_vf b) {
  return _mm512_fmadd_ps(a, b, c);
}
MEGCC_INLINE megcc_vf megcc_vf_fnma(megcc_vf c, megcc_vf a, megcc_vf b) {
  return _mm512_fnmadd_ps(a, b, c);
}
MEGCC_INLINE megcc_vf megcc_vf_min(megcc_vf a, megcc_vf b) { return _mm512_min_ps(a, b); }
MEGCC_INLINE megcc_vf megcc_vf_max(megcc_vf a, megcc_vf b) { return _mm512_max_ps(a, b); }
MEGCC_INLINE megcc_vf megcc_vf_neg(megcc_vf a) { return _mm512_xor_ps(a, _mm512_set1_ps(-0.0f)); }
MEGCC_INLINE megcc_vf megcc_vf_abs(megcc_vf a) {
  return _mm512_andnot_ps(_mm512_set1_ps(-0.0f), a);
}
MEGCC_INLINE megcc_vf megcc_vf_sqrt(megcc_vf a) { return _mm512_sqrt_ps(a); }
MEGCC_INLINE megcc_vf megcc_vf_round(megcc_vf a) { return _mm512_roundscale_ps(a, 8); }
MEGCC_INLINE megcc_vf megcc_vf_floor(megcc_vf a) { return _mm512_roundscale_ps(a, 9); }
MEGCC_INLINE megcc_vf megcc_vf_ceil(megcc_vf a) { return _mm512_roundscale_ps(a, 10); }
MEGCC_INLINE megcc_vf megcc_vf_trunc(megcc_vf a) { return _mm512_roundscale_ps(a, 11); }

MEGCC_INLINE megcc_vm megcc_vf_lt(megcc_vf a, megcc_vf b) {
  return _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ);
}
MEGCC_INLINE megcc_vm megcc_vf_le(megcc_vf a, megcc_vf b) {
  return _mm512_cmp_ps_mask(a, b, _CMP_LE_OQ);
}
MEGCC_INLINE megcc_vm megcc_vf_eq(megcc_vf a, megcc_vf b) {
  return _mm512_cmp_ps_mask(a, b, _CMP_EQ_OQ);
}
MEGCC_INLINE megcc_vm megcc_vf_ne(megcc_vf a, megcc_vf b) {
  return _mm512_cmp_ps_mask(a, b, _CMP_NEQ_UQ);
}
MEGCC_INLINE megcc_vm megcc_vm_and(megcc_vm a, megcc_vm b) { return (__mmask16)(a & b); }
MEGCC_INLINE megcc_vm megcc_vm_or(megcc_vm a, megcc_vm b) { return (__mmask16)(a | b); }
MEGCC_INLINE megcc_vm megcc_vm_not(megcc_vm a) { return (__mmask16)~a; }
MEGCC_INLINE megcc_vf megcc_vf_select(megcc_vm m, megcc_vf a, megcc_vf b) {
  return _mm512_mask_blend_ps(m, b, a);
}

MEGCC_INLINE megcc_vi megcc_vi_dup(int32_t x) { return _mm512_set1_epi32(x); }
MEGCC_INLINE megcc_vi megcc_vi_add(megcc_vi a, megcc_vi b) { return _mm512_add_epi32(a, b); }
MEGCC_INLINE megcc_vi megcc_vi_sub(megcc_vi a, megcc_vi b) { return _mm512_sub_epi32(a, b); }
MEGCC_INLINE megcc_vi megcc_vi_and(megcc_vi a, megcc_vi b) { return _mm512_and_si512(a, b); }
MEGCC_INLINE megcc_vi megcc_vi_or(megcc_vi a, megcc_vi b) { return _mm512_or_si512(a, b); }
MEGCC_INLINE megcc_vi megcc_vi_xor(megcc_vi a, megcc_vi b) { return _mm512_xor_si512(a, b); }
#define megcc_vi_shl(v, k) _mm512_slli_epi32(v, k)
#define megcc_vi_shr(v, k) _mm512_srai_epi32(v, k)
MEGCC_INLINE megcc_vi megcc_vf_bits(megcc_vf v) { return _mm512_castps_si512(v); }
MEGCC_INLINE megcc_vf megcc_vi_float(megcc_vi v) { return _mm512_castsi512_ps(v); }
MEGCC_INLINE megcc_vi megcc_vf_to_vi(megcc_vf v) { return _mm512_cvttps_epi32(v); }
MEGCC_INLINE megcc_vf megcc_vi_to_vf(megcc_vi v) { return _mm512_cvtepi32_ps(v); }

MEGCC_INLINE float megcc_vf_first(megcc_vf v) { return _mm512_cvtss_f32(v); }
// A cross-lane reduction by halves: fold(upper, lower) four times.
#define MEGCC_AVX512_REDUCE(v, fold)                                                        \
  const __m256 h = fold##256##_ps(_mm512_extractf32x8_ps(v, 1), _mm512_castps512_ps256(v)); \
  __m128 r = fold##_ps(_mm256_extractf128_ps(h, 1), _mm256_castps256_ps128(h));             \
  r = fold##_ps(_mm_movehl_ps(r, r), r);                                                    \
  return _mm_cvtss_f32(fold##_ps(_mm_shuffle_ps(r, r, 1), r))
#define megcc_add256_ps _mm256_add_ps
#define megcc_add_ps _mm_add_ps
#define megcc_max256_ps _mm256_max_ps
#define megcc_max_ps _mm_max_ps
#define megcc_min256_ps _mm256_min_ps
#define megcc_min_ps _mm_min_ps
MEGCC_INLINE float megcc_vf_sum(megcc_vf v) { MEGCC_AVX512_REDUCE(v, megcc_add); }
MEGCC_INLINE float megcc_vf_hmax(megcc_vf v) { MEGCC_AVX512_REDUCE(v, megcc_max); }
MEGCC_INLINE float megcc_vf_hmin(megcc_vf v) { MEGCC_AVX512_REDUCE(v, megcc_min); }

#endif  // MEGCC_SIMD_AVX512_H
