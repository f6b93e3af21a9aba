// qmatmul whose rhs is computed at run time on arm64, through megcc_qgemm.h: how columns go into
// panels. megcc_qmatmul_computed.h has the rest.
#ifndef MEGCC_QMATMUL_DYNAMIC_H
#define MEGCC_QMATMUL_DYNAMIC_H

#define TERMS 1

#ifndef R
#define R i8
#endif
#ifndef TRANS_B
#define TRANS_B 0
#endif

#include "gemm/megcc_qmatmul_gemm.h"

#define MEGCC_QMATMUL_COLS 24

// The place of number k of lane 0 in a panel, and bytes from lane to lane there.
typedef struct {
  size_t at, step;
} megcc_lane_t;

MEGCC_INLINE megcc_lane_t megcc_qgemm_lane(size_t k, size_t depth) {
  const size_t whole = depth / MEGCC_QGEMM_CHUNK * MEGCC_QGEMM_CHUNK;
  const size_t step = k < whole ? MEGCC_QGEMM_CHUNK : MEGCC_QGEMM_KR;
  const size_t first = k < whole ? 0 : whole;
  const megcc_lane_t lane = {first * NR + (k - first) / step * step * NR + (k - first) % step,
                             step};
  return lane;
}

// Four k of `lanes` columns of rhs, bytes (x, y) of which are at src[x * across + y * down], as
// they stand in a panel; `left` of the k exist.
MEGCC_INLINE void megcc_qmatmul_four(const uint8_t *src, ptrdiff_t across, ptrdiff_t down,
                                     int32_t lanes, int32_t left, uint8_t *to, size_t step) {
  const uint8_t flip = MEGCC_IS_UNSIGNED(R) ? 128 : 0;
  if (left >= 4 && lanes == NR && !TRANS_B) {
    const uint8x8_t top = vdup_n_u8(flip);
    const uint8x8_t a = veor_u8(vld1_u8(src), top), b = veor_u8(vld1_u8(src + down), top);
    const uint8x8_t c = veor_u8(vld1_u8(src + 2 * down), top);
    const uint8x8_t d = veor_u8(vld1_u8(src + 3 * down), top);
    const uint8x16_t ab = vzip1q_u8(vcombine_u8(a, a), vcombine_u8(b, b));
    const uint8x16_t cd = vzip1q_u8(vcombine_u8(c, c), vcombine_u8(d, d));
    const uint16x8_t ab2 = vreinterpretq_u16_u8(ab), cd2 = vreinterpretq_u16_u8(cd);
    const uint8x16_t low = vreinterpretq_u8_u16(vzip1q_u16(ab2, cd2));
    const uint8x16_t high = vreinterpretq_u8_u16(vzip2q_u16(ab2, cd2));
#if MEGCC_QGEMM_KR == 4
    (void)step;
    vst1q_u8(to, low);
    vst1q_u8(to + 16, high);
#else
    vst1q_lane_u32((uint32_t *)(void *)to, vreinterpretq_u32_u8(low), 0);
    vst1q_lane_u32((uint32_t *)(void *)(to + step), vreinterpretq_u32_u8(low), 1);
    vst1q_lane_u32((uint32_t *)(void *)(to + 2 * step), vreinterpretq_u32_u8(low), 2);
    vst1q_lane_u32((uint32_t *)(void *)(to + 3 * step), vreinterpretq_u32_u8(low), 3);
    vst1q_lane_u32((uint32_t *)(void *)(to + 4 * step), vreinterpretq_u32_u8(high), 0);
    vst1q_lane_u32((uint32_t *)(void *)(to + 5 * step), vreinterpretq_u32_u8(high), 1);
    vst1q_lane_u32((uint32_t *)(void *)(to + 6 * step), vreinterpretq_u32_u8(high), 2);
    vst1q_lane_u32((uint32_t *)(void *)(to + 7 * step), vreinterpretq_u32_u8(high), 3);
#endif
    return;
  }
  if (left >= 4 && TRANS_B) {  // four bytes side by side
    for (int32_t j = 0; j < lanes; ++j, src += across, to += step) {
      for (int32_t i = 0; i < 4; ++i) to[i] = src[i] ^ flip;
    }
    for (int32_t j = lanes; j < NR; ++j, to += step) {
      for (int32_t i = 0; i < 4; ++i) to[i] = 0;
    }
    return;
  }
  for (int32_t j = 0; j < NR; ++j, to += step) {
    for (int32_t i = 0; i < 4; ++i) {
      to[i] = j < lanes && i < left ? src[j * across + i * down] ^ flip : 0;
    }
  }
}

// `lanes` columns of rhs as a panel, zeros where there is nothing.
MEGCC_HOT static void megcc_qmatmul_pack(const uint8_t *src, ptrdiff_t across, ptrdiff_t down,
                                         int32_t lanes, int32_t depth, size_t groups,
                                         uint8_t *panel) {
  const size_t padded = groups * MEGCC_QGEMM_KR;
  for (size_t k = 0; k < padded; k += 4) {
    const megcc_lane_t lane = megcc_qgemm_lane(k, padded);
    megcc_qmatmul_four(src + (ptrdiff_t)k * down, across, down, lanes, depth - (int32_t)k,
                       panel + lane.at, lane.step);
  }
}

// The sums of a panel's columns.
MEGCC_HOT static void megcc_qmatmul_sums(const int8_t *panel, size_t groups, int32_t *sums) {
  const size_t padded = groups * MEGCC_QGEMM_KR;
  for (size_t j = 0; j < NR; ++j) sums[j] = 0;
  for (size_t k = 0; k < padded; k += 4) {
    const megcc_lane_t lane = megcc_qgemm_lane(k, padded);
    for (size_t j = 0; j < NR; ++j) {
      const int8_t *four = panel + lane.at + j * lane.step;
      sums[j] += four[0] + four[1] + four[2] + four[3];
    }
  }
}

#include "gemm/megcc_qmatmul_computed.h"

#endif  // MEGCC_QMATMUL_DYNAMIC_H
