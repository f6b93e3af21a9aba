// The sums of a tile of megcc_qgemm_lanes.h on x86: two k of a row, widened, are in every lane, and
// `pmaddwd` multiplies them by those of its column and adds the products, exactly.
#ifndef MEGCC_QGEMM_X86_H
#define MEGCC_QGEMM_X86_H

#define MEGCC_QGEMM_PANEL 16
#define MEGCC_QGEMM_KR 2
#define MEGCC_QGEMM_FLIP 0  // data are not flipped

#include "gemm/megcc_qgemm_lanes.h"

// The weights of two k of MEGCC_Q8_LANES columns.
MEGCC_INLINE megcc_ints megcc_qgemm_weights(const int8_t *b) {
#ifdef __AVX512BW__
  return _mm512_cvtepi8_epi16(_mm256_loadu_si256((const __m256i *)(const void *)b));
#else
  return _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)(const void *)b));
#endif
}

// Two k of a row, in every lane.
MEGCC_INLINE megcc_ints megcc_qgemm_pair(const uint8_t *x) {
  const int16_t both = (int16_t)((uint16_t)x[0] | (uint16_t)x[1] << 8);
#ifdef __AVX512BW__
  const __m256i lanes = _mm256_set1_epi16(both);
  return MEGCC_IS_UNSIGNED(X) ? _mm512_cvtepu8_epi16(lanes) : _mm512_cvtepi8_epi16(lanes);
#else
  const __m128i lanes = _mm_set1_epi16(both);
  return MEGCC_IS_UNSIGNED(X) ? _mm256_cvtepu8_epi16(lanes) : _mm256_cvtepi8_epi16(lanes);
#endif
}

#define MEGCC_QGEMM_PARTS (MEGCC_QGEMM_PANEL / MEGCC_Q8_LANES)
#define MEGCC_QGEMM_LAST (MEGCC_QGEMM_PARTS - 1)
#define MEGCC_QGEMM_MLA(r)                                  \
  {                                                         \
    const megcc_ints x = megcc_qgemm_pair(x##r + 2 * k);    \
    s##r = megcc_q8_mla(s##r, x, w);                        \
    if (MEGCC_QGEMM_LAST) t##r = megcc_q8_mla(t##r, x, w2); \
  }
#define MEGCC_QGEMM_PUT(r)                                                           \
  {                                                                                  \
    sums[(r)*MEGCC_QGEMM_PARTS] = s##r;                                              \
    sums[(r)*MEGCC_QGEMM_PARTS + MEGCC_QGEMM_LAST] = MEGCC_QGEMM_LAST ? t##r : s##r; \
  }

MEGCC_INLINE void megcc_qgemm_sums(const megcc_qgemm_t *g, const uint8_t *const *a, const int8_t *b,
                                   const int32_t *bias, megcc_q8s *sums, int rows) {
  const int last = rows - 1;
  megcc_q8s s0 = megcc_q8_sums(bias), s1 = s0, s2 = s0, s3 = s0;
  megcc_q8s t0 = megcc_q8_sums(bias + MEGCC_QGEMM_LAST * MEGCC_Q8_LANES), t1 = t0, t2 = t0, t3 = t0;
  for (size_t s = 0; s < g->segments; ++s, a += g->a_stride) {
    const uint8_t *x0 = a[0] + g->a_skip, *x1 = a[last ? 1 : 0] + g->a_skip;
    const uint8_t *x2 = a[last ? 2 : 0] + g->a_skip, *x3 = a[last] + g->a_skip;
    for (size_t k = 0; k < g->groups; ++k, b += 2 * MEGCC_QGEMM_PANEL) {
      const megcc_ints w = megcc_qgemm_weights(b);
      const megcc_ints w2 =
          MEGCC_QGEMM_LAST ? megcc_qgemm_weights(b + 2 * MEGCC_Q8_LANES * MEGCC_QGEMM_LAST) : w;
      (void)w2;
      MEGCC_QGEMM_MLA(0)
      if (rows == 1) continue;
      MEGCC_QGEMM_MLA(1)
      MEGCC_QGEMM_MLA(2)
      MEGCC_QGEMM_MLA(3)
    }
  }
  MEGCC_QGEMM_PUT(0)
  if (rows == 1) return;
  MEGCC_QGEMM_PUT(1)
  MEGCC_QGEMM_PUT(2)
  MEGCC_QGEMM_PUT(3)
}

#endif  // MEGCC_QGEMM_X86_H
