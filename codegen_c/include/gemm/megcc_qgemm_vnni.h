// The sums of a tile of megcc_qgemm_lanes.h on x86 with VNNI: four k of a row are in every lane,
// and `vpdpbusd` multiplies them, as unsigned bytes, by those of its column and adds the four
// products, exactly. Signed bytes become unsigned ones as they are loaded: x ^ 0x80 is x + 128, and
// the bias holds what that adds.
//
// A sum waits for the one before it: two accumulators per row and vector, for even and odd groups
// of k, are as many as there are ports and cycles to fill.
#ifndef MEGCC_QGEMM_VNNI_H
#define MEGCC_QGEMM_VNNI_H

#define MEGCC_QGEMM_PANEL 16
#define MEGCC_QGEMM_KR 4
#define MEGCC_QGEMM_FLIP 2  // signed bytes are flipped

#include "gemm/megcc_qgemm_lanes.h"

MEGCC_INLINE megcc_q8s megcc_vnni(megcc_q8s s, megcc_ints x, megcc_ints w) {
#if defined(__AVX512VNNI__) && defined(__AVX512BW__)
  return _mm512_dpbusd_epi32(s, x, w);
#elif defined(__AVX512BW__)  // AVX-VNNI has halves of these vectors
  const __m256i low = _mm256_dpbusd_avx_epi32(_mm512_castsi512_si256(s), _mm512_castsi512_si256(x),
                                              _mm512_castsi512_si256(w));
  const __m256i high =
      _mm256_dpbusd_avx_epi32(_mm512_extracti64x4_epi64(s, 1), _mm512_extracti64x4_epi64(x, 1),
                              _mm512_extracti64x4_epi64(w, 1));
  return _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
#else
  return _mm256_dpbusd_avx_epi32(s, x, w);
#endif
}

MEGCC_INLINE megcc_ints megcc_qgemm_weights(const int8_t *b) {
#ifdef __AVX512BW__
  return _mm512_loadu_si512(b);
#else
  return _mm256_loadu_si256((const __m256i *)(const void *)b);
#endif
}

// Four k of a row, in every lane.
MEGCC_INLINE megcc_ints megcc_qgemm_four(const uint8_t *x) {
  int32_t four;
  __builtin_memcpy(&four, x, sizeof four);
  const megcc_ints lanes = MEGCC_X86_(set1_epi32)(four);
  if (MEGCC_IS_UNSIGNED(X)) return lanes;
#ifdef __AVX512BW__
  return _mm512_xor_si512(lanes, _mm512_set1_epi8(-128));
#else
  return _mm256_xor_si256(lanes, _mm256_set1_epi8(-128));
#endif
}

#define MEGCC_QGEMM_PARTS (MEGCC_QGEMM_PANEL / MEGCC_Q8_LANES)
#define MEGCC_QGEMM_LAST (MEGCC_QGEMM_PARTS - 1)
#define MEGCC_QGEMM_STEP (MEGCC_QGEMM_KR * MEGCC_QGEMM_PANEL)  // bytes of a group of a panel
#define MEGCC_QGEMM_HALF (MEGCC_QGEMM_KR * MEGCC_Q8_LANES * MEGCC_QGEMM_LAST)
#define MEGCC_QGEMM_MLA(r, s, t)                          \
  {                                                       \
    const megcc_ints x = megcc_qgemm_four(x##r + 4 * k);  \
    s##r = megcc_vnni(s##r, x, w);                        \
    if (MEGCC_QGEMM_LAST) t##r = megcc_vnni(t##r, x, w2); \
  }
// Group `k` of all rows, into sums whose names begin with `s` and `t`.
#define MEGCC_QGEMM_GROUP(s, t)                                                             \
  {                                                                                         \
    const megcc_ints w = megcc_qgemm_weights(b);                                            \
    const megcc_ints w2 = MEGCC_QGEMM_LAST ? megcc_qgemm_weights(b + MEGCC_QGEMM_HALF) : w; \
    (void)w2;                                                                               \
    MEGCC_QGEMM_MLA(0, s, t)                                                                \
    if (rows != 1) {                                                                        \
      MEGCC_QGEMM_MLA(1, s, t)                                                              \
      MEGCC_QGEMM_MLA(2, s, t)                                                              \
      MEGCC_QGEMM_MLA(3, s, t)                                                              \
    }                                                                                       \
    b += MEGCC_QGEMM_STEP;                                                                  \
  }
#define MEGCC_QGEMM_PUT(r)                                                                \
  {                                                                                       \
    sums[(r)*MEGCC_QGEMM_PARTS] = MEGCC_X86_(add_epi32)(s##r, u##r);                      \
    if (MEGCC_QGEMM_LAST)                                                                 \
      sums[(r)*MEGCC_QGEMM_PARTS + MEGCC_QGEMM_LAST] = MEGCC_X86_(add_epi32)(t##r, v##r); \
  }

MEGCC_INLINE void megcc_qgemm_sums(const megcc_qgemm_t *g, const uint8_t *const *a, const int8_t *b,
                                   const int32_t *bias, megcc_q8s *sums, int rows) {
  const int last = rows - 1;
  megcc_q8s s0 = megcc_q8_sums(bias), s1 = s0, s2 = s0, s3 = s0;
  megcc_q8s t0 = megcc_q8_sums(bias + MEGCC_QGEMM_LAST * MEGCC_Q8_LANES), t1 = t0, t2 = t0, t3 = t0;
  megcc_q8s u0 = MEGCC_X86_(set1_epi32)(0), u1 = u0, u2 = u0, u3 = u0;
  megcc_q8s v0 = u0, v1 = u0, v2 = u0, v3 = u0;
  for (size_t s = 0; s < g->segments; ++s, a += g->a_stride) {
    const uint8_t *x0 = a[0] + g->a_skip, *x1 = a[last ? 1 : 0] + g->a_skip;
    const uint8_t *x2 = a[last ? 2 : 0] + g->a_skip, *x3 = a[last] + g->a_skip;
    size_t k = 0;
    for (; k + 2 <= g->groups; ++k) {
      MEGCC_QGEMM_GROUP(s, t)
      ++k;
      MEGCC_QGEMM_GROUP(u, v)
    }
    if (k < g->groups) MEGCC_QGEMM_GROUP(s, t)
  }
  MEGCC_QGEMM_PUT(0)
  if (rows == 1) return;
  MEGCC_QGEMM_PUT(1)
  MEGCC_QGEMM_PUT(2)
  MEGCC_QGEMM_PUT(3)
}

#endif  // MEGCC_QGEMM_VNNI_H
