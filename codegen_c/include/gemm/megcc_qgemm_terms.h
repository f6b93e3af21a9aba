// What the rows of megcc_qgemm_lanes.h add to their sums where b has a zero point (TERMS).
#ifndef MEGCC_QGEMM_TERMS_H
#define MEGCC_QGEMM_TERMS_H

#if TERMS
// Sets the terms of `rows` rows of a block: `factor` times the sum of a row's bytes, flipped as the
// products read them. A run has `length` bytes.
static void megcc_qgemm_terms(const megcc_qgemm_t *g, int32_t rows, size_t length, int32_t factor,
                              int32_t *terms) {
  for (int32_t r = 0; r < rows; ++r) {
    uint32_t sum = 0;
    for (size_t s = 0; s < g->segments; ++s) {
      const uint8_t *at = g->a[s * g->a_stride + (size_t)r] + g->a_skip;
      const MEGCC_CTYPE(X) *x = (const MEGCC_CTYPE(X) *)at;
      size_t k = 0;
#if defined(__ARM_NEON) && !MEGCC_QGEMM_FLIP && !defined(MEGCC_SIMD_PORTABLE)
      uint32x4_t sums = vdupq_n_u32(0);
      for (; length - k >= 16; k += 16) {
        const uint8x16_t v = vld1q_u8(at + k);
        const int16x8_t pairs = vpaddlq_s8(vreinterpretq_s8_u8(v));
        sums = MEGCC_IS_UNSIGNED(X)
                   ? vpadalq_u16(sums, vpaddlq_u8(v))
                   : vreinterpretq_u32_s32(vpadalq_s16(vreinterpretq_s32_u32(sums), pairs));
      }
      sum += vgetq_lane_u32(sums, 0) + vgetq_lane_u32(sums, 1) + vgetq_lane_u32(sums, 2) +
             vgetq_lane_u32(sums, 3);
#endif
      for (; k < length; ++k) {
        const int32_t v = x[k] + (!MEGCC_IS_UNSIGNED(X) && MEGCC_QGEMM_FLIP == 2 ? 128 : 0);
        sum += (uint32_t)v;
      }
    }
    terms[r] = (int32_t)((uint32_t)factor * sum);
  }
}
#endif

#endif  // MEGCC_QGEMM_TERMS_H
