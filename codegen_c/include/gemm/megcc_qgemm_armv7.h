// The sums of a tile of megcc_qgemm_lanes.h for NEON without dot products: eight k of every row are
// widened at a time, and each lane of them multiplies the widened weights of eight columns.
#ifndef MEGCC_QGEMM_ARMV7_H
#define MEGCC_QGEMM_ARMV7_H

#define MEGCC_QGEMM_PANEL 8
#define MEGCC_QGEMM_KR 1
#define MEGCC_QGEMM_FLIP 0  // data are not flipped

#include "gemm/megcc_qgemm_lanes.h"

MEGCC_INLINE int16x8_t megcc_qgemm_eight(const uint8_t *x) {
  const uint8x8_t v = vld1_u8(x);
  return MEGCC_IS_UNSIGNED(X) ? vreinterpretq_s16_u16(vmovl_u8(v))
                              : vmovl_s8(vreinterpret_s8_u8(v));
}

#define MEGCC_QGEMM_LANE(r, half, lane)                                            \
  s##r.a = vmlal_lane_s16(s##r.a, vget_low_s16(w), vget_##half##_s16(v##r), lane); \
  s##r.b = vmlal_lane_s16(s##r.b, vget_high_s16(w), vget_##half##_s16(v##r), lane);
// The weights of one k, by every row.
#define MEGCC_QGEMM_BY(weights, half, lane) \
  {                                         \
    const int16x8_t w = vmovl_s8(weights);  \
    MEGCC_QGEMM_LANE(0, half, lane)         \
    if (rows > 1) {                         \
      MEGCC_QGEMM_LANE(1, half, lane)       \
      MEGCC_QGEMM_LANE(2, half, lane)       \
      MEGCC_QGEMM_LANE(3, half, lane)       \
    }                                       \
  }
#define MEGCC_QGEMM_K(half, lane)          \
  {                                        \
    MEGCC_QGEMM_BY(vld1_s8(b), half, lane) \
    b += MEGCC_QGEMM_PANEL;                \
  }
// Two k. The loads stay between the sums: gcc would hoist them all, and spill.
#define MEGCC_QGEMM_TWO(half, lane, next)          \
  {                                                \
    const int8x16_t both = vld1q_s8(b);            \
    b += 2 * MEGCC_QGEMM_PANEL;                    \
    __asm__ volatile("" : "+r"(b) : : "memory");   \
    MEGCC_QGEMM_BY(vget_low_s8(both), half, lane)  \
    MEGCC_QGEMM_BY(vget_high_s8(both), half, next) \
  }
// Eight k of every row; past the end of a run are others', and weights are not read for them.
#define MEGCC_QGEMM_EIGHT                                                         \
  const int16x8_t v0 = megcc_qgemm_eight(x0 + k), v1 = megcc_qgemm_eight(x1 + k); \
  const int16x8_t v2 = megcc_qgemm_eight(x2 + k), v3 = megcc_qgemm_eight(x3 + k); \
  (void)v1, (void)v2, (void)v3;

MEGCC_INLINE void megcc_qgemm_sums(const megcc_qgemm_t *g, const uint8_t *const *a, const int8_t *b,
                                   const int32_t *bias, megcc_q8s *sums, int rows) {
  const int last = rows - 1;
  const size_t depth = g->groups, left = depth % 8, whole = depth - left;
  megcc_q8s s0 = megcc_q8_sums(bias), s1 = s0, s2 = s0, s3 = s0;
  for (size_t s = 0; s < g->segments; ++s, a += g->a_stride) {
    const uint8_t *x0 = a[0] + g->a_skip, *x1 = a[last ? 1 : 0] + g->a_skip;
    const uint8_t *x2 = a[last ? 2 : 0] + g->a_skip, *x3 = a[last] + g->a_skip;
    size_t k = 0;
    for (; k < whole; k += 8) {
      MEGCC_QGEMM_EIGHT
      MEGCC_QGEMM_TWO(low, 0, 1)
      MEGCC_QGEMM_TWO(low, 2, 3)
      MEGCC_QGEMM_TWO(high, 0, 1)
      MEGCC_QGEMM_TWO(high, 2, 3)
    }
    if (left > 0) {
      MEGCC_QGEMM_EIGHT
      MEGCC_QGEMM_K(low, 0)
      if (left > 1) MEGCC_QGEMM_K(low, 1)
      if (left > 2) MEGCC_QGEMM_K(low, 2)
      if (left > 3) MEGCC_QGEMM_K(low, 3)
      if (left > 4) MEGCC_QGEMM_K(high, 0)
      if (left > 5) MEGCC_QGEMM_K(high, 1)
      if (left > 6) MEGCC_QGEMM_K(high, 2)
    }
  }
  sums[0] = s0;
  if (rows == 1) return;
  sums[1] = s1;
  sums[2] = s2;
  sums[3] = s3;
}

#endif  // MEGCC_QGEMM_ARMV7_H
