// qmatmul whose rhs is computed at run time where vectors hold columns (megcc_qgemm_lanes.h): how
// columns go into panels. megcc_qmatmul_computed.h has the rest.
#ifndef MEGCC_QMATMUL_DYNAMIC_LANES_H
#define MEGCC_QMATMUL_DYNAMIC_LANES_H

#define TERMS 1

#ifndef R
#define R i8
#endif
#ifndef TRANS_B
#define TRANS_B 0
#endif

#include "gemm/megcc_qmatmul_gemm.h"

#define MEGCC_QMATMUL_COLS 32

// The mask that makes a byte of rhs signed.
#define MEGCC_QMATMUL_SIGN (MEGCC_IS_UNSIGNED(R) ? 128 : 0)

#if defined(__ARM_NEON) && MEGCC_QGEMM_KR == 1 && TRANS_B
MEGCC_INLINE uint8x8x2_t megcc_qmatmul_two(const uint8_t *a, const uint8_t *b) {
  const uint8x8_t sign = vdup_n_u8(MEGCC_QMATMUL_SIGN);
  return vtrn_u8(veor_u8(vld1_u8(a), sign), veor_u8(vld1_u8(b), sign));
}

MEGCC_INLINE uint16x4x2_t megcc_qmatmul_pairs(uint8x8_t a, uint8x8_t b) {
  return vtrn_u16(vreinterpret_u16_u8(a), vreinterpret_u16_u8(b));
}

// One k, and that four after it.
MEGCC_INLINE void megcc_qmatmul_put(uint8_t *to, uint16x4_t a, uint16x4_t b) {
  const uint32x2x2_t both = vtrn_u32(vreinterpret_u32_u16(a), vreinterpret_u32_u16(b));
  vst1_u8(to, vreinterpret_u8_u32(both.val[0]));
  vst1_u8(to + 4 * MEGCC_QGEMM_PANEL, vreinterpret_u8_u32(both.val[1]));
}

// Eight k of eight columns, which begin `across` bytes apart: a panel has them by k.
MEGCC_INLINE void megcc_qmatmul_eight(const uint8_t *src, ptrdiff_t across, uint8_t *to) {
  const uint8x8x2_t a = megcc_qmatmul_two(src, src + across);
  const uint8x8x2_t b = megcc_qmatmul_two(src + 2 * across, src + 3 * across);
  const uint8x8x2_t c = megcc_qmatmul_two(src + 4 * across, src + 5 * across);
  const uint8x8x2_t d = megcc_qmatmul_two(src + 6 * across, src + 7 * across);
  const uint16x4x2_t even = megcc_qmatmul_pairs(a.val[0], b.val[0]);
  const uint16x4x2_t odd = megcc_qmatmul_pairs(a.val[1], b.val[1]);
  const uint16x4x2_t even2 = megcc_qmatmul_pairs(c.val[0], d.val[0]);
  const uint16x4x2_t odd2 = megcc_qmatmul_pairs(c.val[1], d.val[1]);
  megcc_qmatmul_put(to, even.val[0], even2.val[0]);
  megcc_qmatmul_put(to + MEGCC_QGEMM_PANEL, odd.val[0], odd2.val[0]);
  megcc_qmatmul_put(to + 2 * MEGCC_QGEMM_PANEL, even.val[1], even2.val[1]);
  megcc_qmatmul_put(to + 3 * MEGCC_QGEMM_PANEL, odd.val[1], odd2.val[1]);
}
#endif

// One group of k of `lanes` columns of rhs, bytes (x, y) of which are at src[x * across + y *
// down], as it stands in a panel; `left` of its k exist.
MEGCC_INLINE void megcc_qmatmul_group(const uint8_t *src, ptrdiff_t across, ptrdiff_t down,
                                      int32_t lanes, int32_t left, uint8_t *to) {
  uint8_t group[MEGCC_QGEMM_PANEL * MEGCC_QGEMM_KR];
  if (lanes == MEGCC_QGEMM_PANEL && left >= MEGCC_QGEMM_KR) {
    for (int32_t i = 0; i < MEGCC_QGEMM_KR; ++i) {
      for (int32_t j = 0; j < MEGCC_QGEMM_PANEL; ++j) {
        group[j * MEGCC_QGEMM_KR + i] =
            src[TRANS_B ? j * across + i : i * down + j] ^ MEGCC_QMATMUL_SIGN;
      }
    }
  } else {
    for (int32_t j = 0; j < MEGCC_QGEMM_PANEL; ++j) {
      for (int32_t i = 0; i < MEGCC_QGEMM_KR; ++i) {
        group[j * MEGCC_QGEMM_KR + i] =
            j < lanes && i < left ? src[j * across + i * down] ^ MEGCC_QMATMUL_SIGN : 0;
      }
    }
  }
  for (size_t i = 0; i < sizeof group; ++i) to[i] = group[i];
}

// `lanes` columns of rhs as a panel, zeros where there is nothing.
MEGCC_HOT static void megcc_qmatmul_pack(const uint8_t *src, ptrdiff_t across, ptrdiff_t down,
                                         int32_t lanes, int32_t depth, size_t groups,
                                         uint8_t *panel) {
  int32_t k = 0;
  (void)groups;
#if defined(__ARM_NEON) && MEGCC_QGEMM_KR == 1 && TRANS_B
  for (; lanes == 8 && depth - k >= 8; k += 8, panel += 64) {
    megcc_qmatmul_eight(src + k, across, panel);
  }
#endif
  for (; k < depth; k += MEGCC_QGEMM_KR, panel += MEGCC_QGEMM_PANEL * MEGCC_QGEMM_KR) {
    megcc_qmatmul_group(src + k * down, across, down, lanes, depth - k, panel);
  }
}

// The sums of a panel's columns.
MEGCC_HOT static void megcc_qmatmul_sums(const int8_t *panel, size_t groups, int32_t *sums) {
  int32_t all[MEGCC_QGEMM_PANEL] = {0};
  for (size_t g = 0; g < groups; ++g, panel += MEGCC_QGEMM_PANEL * MEGCC_QGEMM_KR) {
    for (int32_t j = 0; j < MEGCC_QGEMM_PANEL; ++j) {
      for (int32_t i = 0; i < MEGCC_QGEMM_KR; ++i) all[j] += panel[j * MEGCC_QGEMM_KR + i];
    }
  }
  for (int32_t j = 0; j < MEGCC_QGEMM_PANEL; ++j) sums[j] = all[j];
}

#include "gemm/megcc_qmatmul_computed.h"

#endif  // MEGCC_QMATMUL_DYNAMIC_LANES_H
