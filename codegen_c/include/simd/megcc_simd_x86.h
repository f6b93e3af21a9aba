// megcc_simd.h for AVX-512 (F and DQ): 16 lanes, truth values in mask registers; else for AVX2 with
// FMA: 8 lanes.
#ifndef MEGCC_SIMD_X86_H
#define MEGCC_SIMD_X86_H

#include "megcc_kernel.h"
#include "simd/megcc_intrinsics_x86.h"

#define MEGCC_SIMD_FMA 1
#define MEGCC_SIMD_NAN 0

#if defined(__AVX512F__) && defined(__AVX512DQ__) && MEGCC_SIMD_MAX >= 16
#define MEGCC_VL 16
#define MEGCC_SIMD_NAME "avx512"
#define MEGCC_MM(name) _mm512_##name
typedef __m512 megcc_vf;
typedef __m512i megcc_vi;
typedef __mmask16 megcc_vm;
#else
#define MEGCC_VL 8
#define MEGCC_SIMD_NAME "avx2"
#define MEGCC_MM(name) _mm256_##name
typedef __m256 megcc_vf;
typedef __m256i megcc_vi;
typedef __m256 megcc_vm;
#endif

MEGCC_INLINE megcc_vf megcc_vf_load(const float* p) { return MEGCC_MM(loadu_ps)(p); }
MEGCC_INLINE void megcc_vf_store(float* p, megcc_vf v) { MEGCC_MM(storeu_ps)(p, v); }
MEGCC_INLINE megcc_vf megcc_vf_dup(float x) { return MEGCC_MM(set1_ps)(x); }
MEGCC_INLINE megcc_vf megcc_vf_add(megcc_vf a, megcc_vf b) { return MEGCC_MM(add_ps)(a, b); }
MEGCC_INLINE megcc_vf megcc_vf_sub(megcc_vf a, megcc_vf b) { return MEGCC_MM(sub_ps)(a, b); }
MEGCC_INLINE megcc_vf megcc_vf_mul(megcc_vf a, megcc_vf b) { return MEGCC_MM(mul_ps)(a, b); }
MEGCC_INLINE megcc_vf megcc_vf_div(megcc_vf a, megcc_vf b) { return MEGCC_MM(div_ps)(a, b); }
MEGCC_INLINE megcc_vf megcc_vf_fma(megcc_vf c, megcc_vf a, megcc_vf b) {
  return MEGCC_MM(fmadd_ps)(a, b, c);
}
MEGCC_INLINE megcc_vf megcc_vf_fnma(megcc_vf c, megcc_vf a, megcc_vf b) {
  return MEGCC_MM(fnmadd_ps)(a, b, c);
}
MEGCC_INLINE megcc_vf megcc_vf_min(megcc_vf a, megcc_vf b) { return MEGCC_MM(min_ps)(a, b); }
MEGCC_INLINE megcc_vf megcc_vf_max(megcc_vf a, megcc_vf b) { return MEGCC_MM(max_ps)(a, b); }
MEGCC_INLINE megcc_vf megcc_vf_neg(megcc_vf a) {
  return MEGCC_MM(xor_ps)(a, MEGCC_MM(set1_ps)(-0.0f));
}
MEGCC_INLINE megcc_vf megcc_vf_abs(megcc_vf a) {
  return MEGCC_MM(andnot_ps)(MEGCC_MM(set1_ps)(-0.0f), a);
}
MEGCC_INLINE megcc_vf megcc_vf_sqrt(megcc_vf a) { return MEGCC_MM(sqrt_ps)(a); }

MEGCC_INLINE megcc_vi megcc_vi_dup(int32_t x) { return MEGCC_MM(set1_epi32)(x); }
MEGCC_INLINE megcc_vi megcc_vi_add(megcc_vi a, megcc_vi b) { return MEGCC_MM(add_epi32)(a, b); }
MEGCC_INLINE megcc_vi megcc_vi_sub(megcc_vi a, megcc_vi b) { return MEGCC_MM(sub_epi32)(a, b); }
#define megcc_vi_shl(v, k) MEGCC_MM(slli_epi32)(v, k)
#define megcc_vi_shr(v, k) MEGCC_MM(srai_epi32)(v, k)
MEGCC_INLINE megcc_vi megcc_vf_to_vi(megcc_vf v) { return MEGCC_MM(cvttps_epi32)(v); }
MEGCC_INLINE megcc_vf megcc_vi_to_vf(megcc_vi v) { return MEGCC_MM(cvtepi32_ps)(v); }
MEGCC_INLINE float megcc_vf_first(megcc_vf v) { return MEGCC_MM(cvtss_f32)(v); }

#if MEGCC_VL == 16
MEGCC_INLINE __mmask16 megcc_first_n(int32_t n) { return (__mmask16)((1u << n) - 1u); }
MEGCC_INLINE megcc_vf megcc_vf_load_n(const float* p, int32_t n) {
  return _mm512_maskz_loadu_ps(megcc_first_n(n), p);
}
MEGCC_INLINE void megcc_vf_store_n(float* p, megcc_vf v, int32_t n) {
  _mm512_mask_storeu_ps(p, megcc_first_n(n), v);
}
#define MEGCC_MM_ROUND(a, how) _mm512_roundscale_ps(a, how)
#define MEGCC_MM_COMPARE(a, b, how) _mm512_cmp_ps_mask(a, b, how)
MEGCC_INLINE megcc_vm megcc_vm_and(megcc_vm a, megcc_vm b) { return (__mmask16)(a & b); }
MEGCC_INLINE megcc_vm megcc_vm_or(megcc_vm a, megcc_vm b) { return (__mmask16)(a | b); }
MEGCC_INLINE megcc_vm megcc_vm_not(megcc_vm a) { return (__mmask16)~a; }
MEGCC_INLINE megcc_vf megcc_vf_select(megcc_vm m, megcc_vf a, megcc_vf b) {
  return _mm512_mask_blend_ps(m, b, a);
}
MEGCC_INLINE megcc_vi megcc_vi_and(megcc_vi a, megcc_vi b) { return _mm512_and_si512(a, b); }
MEGCC_INLINE megcc_vi megcc_vi_or(megcc_vi a, megcc_vi b) { return _mm512_or_si512(a, b); }
MEGCC_INLINE megcc_vi megcc_vi_xor(megcc_vi a, megcc_vi b) { return _mm512_xor_si512(a, b); }
MEGCC_INLINE megcc_vi megcc_vf_bits(megcc_vf v) { return _mm512_castps_si512(v); }
MEGCC_INLINE megcc_vf megcc_vi_float(megcc_vi v) { return _mm512_castsi512_ps(v); }
// The two halves of v, of which `fold` makes one.
#define MEGCC_MM_HALF(v, fold) fold(_mm512_extractf32x8_ps(v, 1), _mm512_castps512_ps256(v))
#else
MEGCC_INLINE __m256i megcc_first_n(int32_t n) {
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
MEGCC_INLINE megcc_vf megcc_vf_load_n(const float* p, int32_t n) {
  return _mm256_maskload_ps(p, megcc_first_n(n));
}
MEGCC_INLINE void megcc_vf_store_n(float* p, megcc_vf v, int32_t n) {
  _mm256_maskstore_ps(p, megcc_first_n(n), v);
}
#define MEGCC_MM_ROUND(a, how) _mm256_round_ps(a, how)
#define MEGCC_MM_COMPARE(a, b, how) _mm256_cmp_ps(a, b, how)
MEGCC_INLINE megcc_vm megcc_vm_and(megcc_vm a, megcc_vm b) { return _mm256_and_ps(a, b); }
MEGCC_INLINE megcc_vm megcc_vm_or(megcc_vm a, megcc_vm b) { return _mm256_or_ps(a, b); }
MEGCC_INLINE megcc_vm megcc_vm_not(megcc_vm a) {
  return _mm256_xor_ps(a, _mm256_castsi256_ps(_mm256_set1_epi32(-1)));
}
MEGCC_INLINE megcc_vf megcc_vf_select(megcc_vm m, megcc_vf a, megcc_vf b) {
  return _mm256_blendv_ps(b, a, m);
}
MEGCC_INLINE megcc_vi megcc_vi_and(megcc_vi a, megcc_vi b) { return _mm256_and_si256(a, b); }
MEGCC_INLINE megcc_vi megcc_vi_or(megcc_vi a, megcc_vi b) { return _mm256_or_si256(a, b); }
MEGCC_INLINE megcc_vi megcc_vi_xor(megcc_vi a, megcc_vi b) { return _mm256_xor_si256(a, b); }
MEGCC_INLINE megcc_vi megcc_vf_bits(megcc_vf v) { return _mm256_castps_si256(v); }
MEGCC_INLINE megcc_vf megcc_vi_float(megcc_vi v) { return _mm256_castsi256_ps(v); }
#define MEGCC_MM_HALF(v, fold) (v)
#endif

MEGCC_INLINE megcc_vf megcc_vf_round(megcc_vf a) { return MEGCC_MM_ROUND(a, 8); }
MEGCC_INLINE megcc_vf megcc_vf_floor(megcc_vf a) { return MEGCC_MM_ROUND(a, 9); }
MEGCC_INLINE megcc_vf megcc_vf_ceil(megcc_vf a) { return MEGCC_MM_ROUND(a, 10); }
MEGCC_INLINE megcc_vf megcc_vf_trunc(megcc_vf a) { return MEGCC_MM_ROUND(a, 11); }
MEGCC_INLINE megcc_vm megcc_vf_lt(megcc_vf a, megcc_vf b) {
  return MEGCC_MM_COMPARE(a, b, _CMP_LT_OQ);
}
MEGCC_INLINE megcc_vm megcc_vf_le(megcc_vf a, megcc_vf b) {
  return MEGCC_MM_COMPARE(a, b, _CMP_LE_OQ);
}
MEGCC_INLINE megcc_vm megcc_vf_eq(megcc_vf a, megcc_vf b) {
  return MEGCC_MM_COMPARE(a, b, _CMP_EQ_OQ);
}
MEGCC_INLINE megcc_vm megcc_vf_ne(megcc_vf a, megcc_vf b) {
  return MEGCC_MM_COMPARE(a, b, _CMP_NEQ_UQ);
}

// A cross-lane reduction by halves: fold(upper, lower) until one lane is left.
#define MEGCC_MM_REDUCE(v, fold)                                                 \
  const __m256 h = MEGCC_MM_HALF(v, _mm256_##fold);                              \
  __m128 r = _mm_##fold(_mm256_extractf128_ps(h, 1), _mm256_castps256_ps128(h)); \
  r = _mm_##fold(_mm_movehl_ps(r, r), r);                                        \
  return _mm_cvtss_f32(_mm_##fold(_mm_shuffle_ps(r, r, 1), r))
MEGCC_INLINE float megcc_vf_sum(megcc_vf v) { MEGCC_MM_REDUCE(v, add_ps); }
MEGCC_INLINE float megcc_vf_hmax(megcc_vf v) { MEGCC_MM_REDUCE(v, max_ps); }
MEGCC_INLINE float megcc_vf_hmin(megcc_vf v) { MEGCC_MM_REDUCE(v, min_ps); }

#endif  // MEGCC_SIMD_X86_H
