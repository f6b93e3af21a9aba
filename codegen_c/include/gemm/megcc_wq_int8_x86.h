// The products of megcc_matmul_wq_int8.h on x86, eight columns to a vector, four k of each.
// Unsigned bytes by signed ones: of 4 bits 0 .. 15, of 8 the magnitude, with the sign given to the
// row's.
//
//   VNNI    vpdpbusd adds four products to a sum
//   AVX2    vpmaddubsw adds two to 16 bits: of 4 bits at most 3,810, so that 32 k fit; of 8 bits at
//           most 32,512
#ifndef MEGCC_WQ_INT8_X86_H
#define MEGCC_WQ_INT8_X86_H

#define MEGCC_WQ8_KR 4
#define MEGCC_WQ8_MM 0
#define MEGCC_WQ8_FLIP 1
#define MEGCC_WQ8_SHIFT 0
#define MEGCC_WQ8_UNIT 16
#define MEGCC_WQ8_TILE 4
#define MEGCC_WQ8_WIDE 0
#define MEGCC_SIMD_MAX 8

#include "gemm/megcc_wq_int8_rows.h"

typedef struct {
  __m256i v0, v1;
} megcc_wq8_sums;

#if defined(__AVX512VNNI__) && defined(__AVX512VL__)
#define MEGCC_WQ8_VNNI 1
#define megcc_wq8_dpbusd _mm256_dpbusd_epi32
#elif defined(__AVXVNNI__)
#define MEGCC_WQ8_VNNI 1
#define megcc_wq8_dpbusd _mm256_dpbusd_avx_epi32
#else
#define MEGCC_WQ8_VNNI 0
#endif

MEGCC_INLINE __m256i megcc_wq8_load(const void *p) { return _mm256_loadu_si256(p); }

// What sums of eight columns begin with, for a 1 of the row's sum.
MEGCC_INLINE __m256i megcc_wq8_minus(const int8_t *zero) {
#if ZERO
  const __m256i z = CHANNELS ? _mm256_cvtepi8_epi32(_mm_loadl_epi64((const void *)zero))
                             : _mm256_set1_epi32(*zero);
  return _mm256_sub_epi32(_mm256_set1_epi32(MEGCC_WQ8_MINUS(0)), z);
#else
  (void)zero;
  return _mm256_set1_epi32(MEGCC_WQ8_MINUS(0));
#endif
}
MEGCC_INLINE megcc_wq8_sums megcc_wq8_start(const int8_t *zero, int32_t sum) {
  megcc_wq8_sums s;
#if ZERO
  const __m256i by = _mm256_set1_epi32(sum);
  s.v0 = _mm256_mullo_epi32(megcc_wq8_minus(zero), by);
  s.v1 = _mm256_mullo_epi32(megcc_wq8_minus(zero + (CHANNELS ? 8 : 0)), by);
#else
  (void)zero;
  s.v0 = s.v1 = _mm256_set1_epi32(MEGCC_WQ8_OFFSET ? MEGCC_WQ8_MINUS(0) * sum : 0);
#endif
  return s;
}

MEGCC_INLINE megcc_w16 megcc_wq8_floats(megcc_wq8_sums s) {
  const megcc_w16 w = {_mm256_cvtepi32_ps(s.v0), _mm256_cvtepi32_ps(s.v1)};
  return w;
}

// Four k of a row, in every lane.
MEGCC_INLINE __m256i megcc_wq8_four(const int8_t *x) {
  int32_t four;
  __builtin_memcpy(&four, x, sizeof four);
  return _mm256_set1_epi32(four);
}

MEGCC_INLINE __m256i megcc_wq8_low(__m256i w) { return _mm256_and_si256(w, _mm256_set1_epi8(15)); }
MEGCC_INLINE __m256i megcc_wq8_high(__m256i w) { return megcc_wq8_low(_mm256_srli_epi16(w, 4)); }

// Sums of eight columns are a vector `a`, and a second one `b`: another sum of 32 bits, or one of
// 16 bits that `megcc_wq8_flush` adds to the first.
typedef struct {
  __m256i a, b;
} megcc_wq8_pair;

MEGCC_INLINE megcc_wq8_pair megcc_wq8_begin(__m256i start) {
  const megcc_wq8_pair s = {start, _mm256_setzero_si256()};
  return s;
}
MEGCC_INLINE megcc_wq8_pair megcc_wq8_mla(megcc_wq8_pair s, __m256i w, __m256i x, int odd) {
  (void)odd;
#if BITS == 8
  x = _mm256_sign_epi8(x, w);
  w = _mm256_abs_epi8(w);
#endif
#if MEGCC_WQ8_VNNI
  if (odd) {
    s.b = megcc_wq8_dpbusd(s.b, w, x);
  } else {
    s.a = megcc_wq8_dpbusd(s.a, w, x);
  }
#elif BITS == 4
  s.b = _mm256_add_epi16(s.b, _mm256_maddubs_epi16(w, x));
#else
  s.a = _mm256_add_epi32(s.a, _mm256_madd_epi16(_mm256_maddubs_epi16(w, x), _mm256_set1_epi16(1)));
#endif
  return s;
}
// Of AVX2 and 4 bits after two steps at most.
MEGCC_INLINE megcc_wq8_pair megcc_wq8_flush(megcc_wq8_pair s) {
#if !MEGCC_WQ8_VNNI && BITS == 4
  return megcc_wq8_begin(_mm256_add_epi32(s.a, _mm256_madd_epi16(s.b, _mm256_set1_epi16(1))));
#else
  return s;
#endif
}
MEGCC_INLINE __m256i megcc_wq8_end(megcc_wq8_pair s) {
  return MEGCC_WQ8_VNNI ? _mm256_add_epi32(s.a, s.b) : s.a;
}

// A row by a step of eight columns.
MEGCC_INLINE megcc_wq8_pair megcc_wq8_half(megcc_wq8_pair s, const int8_t *w, __m256i x0,
                                           __m256i x1, __m256i x2, __m256i x3) {
  const __m256i a = megcc_wq8_load(w), b = megcc_wq8_load(w + 32);
#if BITS == 4
  s = megcc_wq8_mla(megcc_wq8_mla(s, megcc_wq8_low(a), x0, 0), megcc_wq8_low(b), x1, 1);
  return megcc_wq8_mla(megcc_wq8_mla(s, megcc_wq8_high(a), x2, 0), megcc_wq8_high(b), x3, 1);
#else
  const __m256i c = megcc_wq8_load(w + 64), d = megcc_wq8_load(w + 96);
  s = megcc_wq8_mla(megcc_wq8_mla(s, a, x0, 0), b, x1, 1);
  return megcc_wq8_mla(megcc_wq8_mla(s, c, x2, 0), d, x3, 1);
#endif
}

#define MEGCC_WQ8_A_STEP                                                   \
  {                                                                        \
    const __m256i x0 = megcc_wq8_four(x), x1 = megcc_wq8_four(x + 4);      \
    const __m256i x2 = megcc_wq8_four(x + 8), x3 = megcc_wq8_four(x + 12); \
    low = megcc_wq8_half(low, w, x0, x1, x2, x3);                          \
    high = megcc_wq8_half(high, w + 16 * BITS, x0, x1, x2, x3);            \
    w += 32 * BITS;                                                        \
    x += MEGCC_WQ8_STEP;                                                   \
  }
// The sums, and a row by so many steps of 16 columns; both pointers move behind them.
MEGCC_INLINE megcc_wq8_sums megcc_wq8_dot(megcc_wq8_sums s, const int8_t **weights,
                                          const int8_t **row, int32_t steps) {
  const int8_t *w = *weights, *x = *row;
  megcc_wq8_pair low = megcc_wq8_begin(s.v0), high = megcc_wq8_begin(s.v1);
#if STEPS == 2
  (void)steps;
  MEGCC_WQ8_A_STEP
  MEGCC_WQ8_A_STEP
#else
  for (; steps > 1; steps -= 2) {
    MEGCC_WQ8_A_STEP
    MEGCC_WQ8_A_STEP
    low = megcc_wq8_flush(low), high = megcc_wq8_flush(high);
  }
  if (steps) MEGCC_WQ8_A_STEP
#endif
  s.v0 = megcc_wq8_end(megcc_wq8_flush(low));
  s.v1 = megcc_wq8_end(megcc_wq8_flush(high));
  *weights = w;
  *row = x;
  return s;
}

MEGCC_INLINE __m256i megcc_wq8_whole(const megcc_elem_t *a, megcc_vf inverse) {
  return _mm256_cvtps_epi32(megcc_vf_mul(megcc_vf_load(a), inverse));
}
MEGCC_INLINE int32_t megcc_wq8_sixteen(int8_t *to, int32_t half, const megcc_elem_t *a,
                                       megcc_vf inverse) {
  const __m256i both =
      _mm256_packs_epi32(megcc_wq8_whole(a, inverse), megcc_wq8_whole(a + 8, inverse));
  const __m256i sorted = _mm256_permute4x64_epi64(both, 0xd8);
  const __m128i bytes =
      _mm_packs_epi16(_mm256_castsi256_si128(sorted), _mm256_extracti128_si256(sorted, 1));
  const __m128i sums = _mm_sad_epu8(_mm_xor_si128(bytes, _mm_set1_epi8(-128)), _mm_setzero_si128());
  _mm_storel_epi64((void *)to, bytes);
  _mm_storel_epi64((void *)(to + half), _mm_unpackhi_epi64(bytes, bytes));
  return _mm_cvtsi128_si32(sums) + _mm_extract_epi16(sums, 4) - 16 * 128;
}

MEGCC_INLINE megcc_w16 megcc_wq8_bits(megcc_wq8_sums s) {
  const megcc_w16 w = {_mm256_castsi256_ps(s.v0), _mm256_castsi256_ps(s.v1)};
  return w;
}
MEGCC_INLINE void megcc_wq8_put(megcc_w16 w, int8_t *p, int8_t *q) {
  _mm256_storeu_ps((float *)(void *)p, w.v0);
  _mm256_storeu_ps((float *)(void *)q, w.v1);
}

// Half a step of weights in bytes.
MEGCC_INLINE void megcc_wq8_unpack(const int8_t *w, int8_t *to) {
  const __m256i a = megcc_wq8_load(w), b = megcc_wq8_load(w + 32);
#if BITS == 4
  _mm256_storeu_si256((void *)to, megcc_wq8_low(a));
  _mm256_storeu_si256((void *)(to + 32), megcc_wq8_low(b));
  _mm256_storeu_si256((void *)(to + 64), megcc_wq8_high(a));
  _mm256_storeu_si256((void *)(to + 96), megcc_wq8_high(b));
#else
  _mm256_storeu_si256((void *)to, a);
  _mm256_storeu_si256((void *)(to + 32), b);
  _mm256_storeu_si256((void *)(to + 64), megcc_wq8_load(w + 64));
  _mm256_storeu_si256((void *)(to + 96), megcc_wq8_load(w + 96));
#endif
}

#define MEGCC_WQ8_EACH(M) M(0) M(1) M(2) M(3)
#define MEGCC_WQ8_TOTAL(r) __m256 t##r = _mm256_setzero_ps();
#define MEGCC_WQ8_BEGIN(r) megcc_wq8_pair s##r = megcc_wq8_begin(MEGCC_WQ8_FIRST(r));
#define MEGCC_WQ8_MULTIPLY(r) s##r = megcc_wq8_mla(s##r, w, megcc_wq8_four(x + 16 * (r)), g & 1);
#define MEGCC_WQ8_FLUSH(r) s##r = megcc_wq8_flush(s##r);
#define MEGCC_WQ8_ADD(r)                                                                  \
  t##r = _mm256_fmadd_ps(_mm256_mul_ps(_mm256_cvtepi32_ps(megcc_wq8_end(s##r)), columns), \
                         _mm256_broadcast_ss(scales + (r)), t##r);
#define MEGCC_WQ8_PUT(r) _mm256_storeu_ps(out + MEGCC_WQ_COLS * (r), t##r);
#define MEGCC_WQ8_GROUP(group)                    \
  {                                               \
    enum { g = group };                           \
    const int8_t *x = at + 4 * g;                 \
    const __m256i w = megcc_wq8_load(p + 32 * g); \
    MEGCC_WQ8_EACH(MEGCC_WQ8_MULTIPLY)            \
  }
#define MEGCC_WQ8_TILE_STEP                                                             \
  MEGCC_WQ8_GROUP(0) MEGCC_WQ8_GROUP(1) MEGCC_WQ8_GROUP(2) MEGCC_WQ8_GROUP(3) p += 128; \
  at += 64;

// Four rows by eight columns.
MEGCC_HOT static void megcc_wq8_tile(const int8_t *p, const megcc_wq8_rows_t *rows, int32_t length,
                                     int32_t steps, float *out) {
  const float *scales = rows->scale;
  const int32_t *sums = rows->sum;
  const int8_t *at = rows->x;
  MEGCC_WQ8_EACH(MEGCC_WQ8_TOTAL)
  (void)sums;
  for (; steps > 0; steps -= length, scales += 4, sums += 4) {
    int32_t left = steps < length ? steps : length;
#if ZERO || (MEGCC_WQ8_FLIP && BITS == 4)
    const __m256i zeros = megcc_wq8_load(p);
    p += 32;
#define MEGCC_WQ8_FIRST(r) _mm256_mullo_epi32(zeros, _mm256_set1_epi32(sums[r]))
#else
#define MEGCC_WQ8_FIRST(r) _mm256_setzero_si256()
#endif
    MEGCC_WQ8_EACH(MEGCC_WQ8_BEGIN)
    for (; left > 1; left -= 2) {
      MEGCC_WQ8_TILE_STEP
      MEGCC_WQ8_TILE_STEP
      MEGCC_WQ8_EACH(MEGCC_WQ8_FLUSH)
    }
    if (left) {
      MEGCC_WQ8_TILE_STEP
      MEGCC_WQ8_EACH(MEGCC_WQ8_FLUSH)
    }
    const __m256 columns = _mm256_loadu_ps((const float *)(const void *)p);
    p += 32;
    MEGCC_WQ8_EACH(MEGCC_WQ8_ADD)
  }
  MEGCC_WQ8_EACH(MEGCC_WQ8_PUT)
}

#endif  // MEGCC_WQ_INT8_X86_H
