// megcc_simd.h for AVX2 with FMA: 8 lanes.
#ifndef MEGCC_SIMD_AVX2_H
#define MEGCC_SIMD_AVX2_H

#include <immintrin.h>

#include "megcc_kernel.h"

#define MEGCC_VL 8
#define MEGCC_SIMD_NAME "avx2"
#define MEGCC_SIMD_FMA 1
#define MEGCC_SIMD_NAN 0

typedef __m256 megcc_vf;
typedef __m256i megcc_vi;
typedef __m256 megcc_vm;

MEGCC_INLINE __m256i megcc_avx2_first_n(int32_t n) {
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
MEGCC_INLINE megcc_vf megcc_vf_load(const float* p) { return _mm256_loadu_ps(p); }
MEGCC_INLINE void megcc_vf_store(float* p, megcc_vf v) { _mm256_storeu_ps(p, v); }
MEGCC_INLINE megcc_vf megcc_vf_load_n(const float* p, int32_t n) {
  return _mm256_maskload_ps(p, megcc_avx2_first_n(n));
}
MEGCC_INLINE void megcc_vf_store_n(float* p, megcc_vf v, int32_t n) {
  _mm256_maskstore_ps(p, megcc_avx2_first_n(n), v);
}

MEGCC_INLINE megcc_vf megcc_vf_dup(float x) { return _mm256_set1_ps(x); }
MEGCC_INLINE megcc_vf megcc_vf_add(megcc_vf a, megcc_vf b) { return _mm256_add_ps(a, b); }
MEGCC_INLINE megcc_vf megcc_vf_sub(megcc_vf a, megcc_vf b) { return _mm256_sub_ps(a, b); }
MEGCC_INLINE megcc_vf megcc_vf_mul(megcc_vf a, megcc_vf b) { return _mm256_mul_ps(a, b); }
MEGCC_INLINE megcc_vf megcc_vf_div(megcc_vf a, megcc_vf b) { return _mm256_div_ps(a, b); }
MEGCC_INLINE megcc_vf megcc_vf_fma(megcc_vf c, megcc_vf a, megcc_vf b) {
  return _mm256_fmadd_ps(a, b, c);
}
MEGCC_INLINE megcc_vf megcc_vf_fnma(megcc_vf c, megcc_vf a, megcc_vf b) {
  return _mm256_fnmadd_ps(a, b, c);
}
MEGCC_INLINE megcc_vf megcc_vf_min(megcc_vf a, megcc_vf b) { return _mm256_min_ps(a, b); }
MEGCC_INLINE megcc_vf megcc_vf_max(megcc_vf a, megcc_vf b) { return _mm256_max_ps(a, b); }
MEGCC_INLINE megcc_vf megcc_vf_neg(megcc_vf a) { return _mm256_xor_ps(a, _mm256_set1_ps(-0.0f)); }
MEGCC_INLINE megcc_vf megcc_vf_abs(megcc_vf a) {
  return _mm256_andnot_ps(_mm256_set1_ps(-0.0f), a);
}
MEGCC_INLINE megcc_vf megcc_vf_sqrt(megcc_vf a) { return _mm256_sqrt_ps(a); }
MEGCC_INLINE megcc_vf megcc_vf_round(megcc_vf a) { return _mm256_round_ps(a, 8); }
MEGCC_INLINE megcc_vf megcc_vf_floor(megcc_vf a) { return _mm256_round_ps(a, 9); }
MEGCC_INLINE megcc_vf megcc_vf_ceil(megcc_vf a) { return _mm256_round_ps(a, 10); }
MEGCC_INLINE megcc_vf megcc_vf_trunc(megcc_vf a) { return _mm256_round_ps(a, 11); }

MEGCC_INLINE megcc_vm megcc_vf_lt(megcc_vf a, megcc_vf b) {
  return _mm256_cmp_ps(a, b, _CMP_LT_OQ);
}
MEGCC_INLINE megcc_vm megcc_vf_le(megcc_vf a, megcc_vf b) {
  return _mm256_cmp_ps(a, b, _CMP_LE_OQ);
}
MEGCC_INLINE megcc_vm megcc_vf_eq(megcc_vf a, megcc_vf b) {
  return _mm256_cmp_ps(a, b, _CMP_EQ_OQ);
}
MEGCC_INLINE megcc_vm megcc_vf_ne(megcc_vf a, megcc_vf b) {
  return _mm256_cmp_ps(a, b, _CMP_NEQ_UQ);
}
MEGCC_INLINE megcc_vm megcc_vm_and(megcc_vm a, megcc_vm b) { return _mm256_and_ps(a, b); }
MEGCC_INLINE megcc_vm megcc_vm_or(megcc_vm a, megcc_vm b) { return _mm256_or_ps(a, b); }
MEGCC_INLINE megcc_vm megcc_vm_not(megcc_vm a) {
  return _mm256_xor_ps(a, _mm256_castsi256_ps(_mm256_set1_epi32(-1)));
}
MEGCC_INLINE megcc_vf megcc_vf_select(megcc_vm m, megcc_vf a, megcc_vf b) {
  return _mm256_blendv_ps(b, a, m);
}

MEGCC_INLINE megcc_vi megcc_vi_dup(int32_t x) { return _mm256_set1_epi32(x); }
MEGCC_INLINE megcc_vi megcc_vi_add(megcc_vi a, megcc_vi b) { return _mm256_add_epi32(a, b); }
MEGCC_INLINE megcc_vi megcc_vi_sub(megcc_vi a, megcc_vi b) { return _mm256_sub_epi32(a, b); }
MEGCC_INLINE megcc_vi megcc_vi_and(megcc_vi a, megcc_vi b) { return _mm256_and_si256(a, b); }
MEGCC_INLINE megcc_vi megcc_vi_or(megcc_vi a, megcc_vi b) { return _mm256_or_si256(a, b); }
MEGCC_INLINE megcc_vi megcc_vi_xor(megcc_vi a, megcc_vi b) { return _mm256_xor_si256(a, b); }
#define megcc_vi_shl(v, k) _mm256_slli_epi32(v, k)
#define megcc_vi_shr(v, k) _mm256_srai_epi32(v, k)
MEGCC_INLINE megcc_vi megcc_vf_bits(megcc_vf v) { return _mm256_castps_si256(v); }
MEGCC_INLINE megcc_vf megcc_vi_float(megcc_vi v) { return _mm256_castsi256_ps(v); }
MEGCC_INLINE megcc_vi megcc_vf_to_vi(megcc_vf v) { return _mm256_cvttps_epi32(v); }
MEGCC_INLINE megcc_vf megcc_vi_to_vf(megcc_vi v) { return _mm256_cvtepi32_ps(v); }

MEGCC_INLINE float megcc_vf_first(megcc_vf v) { return _mm256_cvtss_f32(v); }
// A cross-lane reduction by halves: fold(upper, lower) three times.
#define MEGCC_AVX2_REDUCE(v, fold)                                              \
  __m128 r = fold##_ps(_mm256_extractf128_ps(v, 1), _mm256_castps256_ps128(v)); \
  r = fold##_ps(_mm_movehl_ps(r, r), r);                                        \
  return _mm_cvtss_f32(fold##_ps(_mm_shuffle_ps(r, r, 1), r))
MEGCC_INLINE float megcc_vf_sum(megcc_vf v) { MEGCC_AVX2_REDUCE(v, _mm_add); }
MEGCC_INLINE float megcc_vf_hmax(megcc_vf v) { MEGCC_AVX2_REDUCE(v, _mm_max); }
MEGCC_INLINE float megcc_vf_hmin(megcc_vf v) { MEGCC_AVX2_REDUCE(v, _mm_min); }

#endif  // MEGCC_SIMD_AVX2_H
