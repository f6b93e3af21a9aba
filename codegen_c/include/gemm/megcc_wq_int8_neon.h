// The products of megcc_matmul_wq_int8.h by NEON alone, AArch64 and Armv7: a vector is four columns
// by four k, four k of the row are a doubleword twice, and products are added in 16 bits.
//
// Numbers of 4 bits are 0 .. 15 here, so 16 products are at most 30,480, and go to 32 bits once a
// step. Of 8 bits two products are at most 32,512. A sum of 32 bits is half of a column's.
#ifndef MEGCC_WQ_INT8_NEON_H
#define MEGCC_WQ_INT8_NEON_H

#define MEGCC_WQ8_KR 4
#define MEGCC_WQ8_MM 0
#define MEGCC_WQ8_FLIP 1
#define MEGCC_WQ8_SHIFT 0
#define MEGCC_WQ8_UNIT 16
#define MEGCC_WQ8_TILE 0

#include "gemm/megcc_wq_int8_rows.h"

// Four k of a row twice, or on AArch64, whose multiplications take the upper halves of vectors,
// four times.
#if defined(__aarch64__)
typedef int8x16_t megcc_wq8_x;
typedef int32x4x4_t megcc_wq8_four;
#define MEGCC_WQ8_X vld4q_dup_s32
#define MEGCC_WQ8_K vreinterpretq_s8_s32
#define MEGCC_WQ8_MULL(w, x) vmull_s8(vget_low_s8(w), vget_low_s8(x))
#define MEGCC_WQ8_MULL_HIGH(w, x) vmull_high_s8(w, x)
#define MEGCC_WQ8_MLAL(p, w, x) vmlal_s8(p, vget_low_s8(w), vget_low_s8(x))
#define MEGCC_WQ8_MLAL_HIGH(p, w, x) vmlal_high_s8(p, w, x)
#else
typedef int8x8_t megcc_wq8_x;
typedef int32x2x4_t megcc_wq8_four;
#define MEGCC_WQ8_X vld4_dup_s32
#define MEGCC_WQ8_K vreinterpret_s8_s32
#define MEGCC_WQ8_MULL(w, x) vmull_s8(vget_low_s8(w), x)
#define MEGCC_WQ8_MULL_HIGH(w, x) vmull_s8(vget_high_s8(w), x)
#define MEGCC_WQ8_MLAL(p, w, x) vmlal_s8(p, vget_low_s8(w), x)
#define MEGCC_WQ8_MLAL_HIGH(p, w, x) vmlal_s8(p, vget_high_s8(w), x)
#endif

// Four columns, of each two sums of 16 bits, and of 32.
#define MEGCC_WQ8_PLUS(p, w, x)      \
  p##0 = MEGCC_WQ8_MLAL(p##0, w, x); \
  p##1 = MEGCC_WQ8_MLAL_HIGH(p##1, w, x);
#define MEGCC_WQ8_FIRST(p, w, x)         \
  int16x8_t p##0 = MEGCC_WQ8_MULL(w, x); \
  int16x8_t p##1 = MEGCC_WQ8_MULL_HIGH(w, x);
#define MEGCC_WQ8_FLUSH(s, p)     \
  s##0 = vpadalq_s16(s##0, p##0); \
  s##1 = vpadalq_s16(s##1, p##1);

#if BITS == 4
MEGCC_INLINE int8x16_t megcc_wq8_low(int8x16_t w) { return vandq_s8(w, vdupq_n_s8(15)); }
MEGCC_INLINE int8x16_t megcc_wq8_high(int8x16_t w) {
  return vreinterpretq_s8_u8(vshrq_n_u8(vreinterpretq_u8_s8(w), 4));
}
// A step of four columns, whose groups stand 32 bytes apart.
#define MEGCC_WQ8_QUAD(s, at)                                  \
  {                                                            \
    const int8x16_t a = vld1q_s8(at), b = vld1q_s8((at) + 32); \
    MEGCC_WQ8_FIRST(p, megcc_wq8_low(a), x0)                   \
    MEGCC_WQ8_PLUS(p, megcc_wq8_low(b), x1)                    \
    MEGCC_WQ8_PLUS(p, megcc_wq8_high(a), x2)                   \
    MEGCC_WQ8_PLUS(p, megcc_wq8_high(b), x3)                   \
    MEGCC_WQ8_FLUSH(s, p)                                      \
  }
#else
#define MEGCC_WQ8_QUAD(s, at)                   \
  {                                             \
    MEGCC_WQ8_FIRST(p, vld1q_s8(at), x0)        \
    MEGCC_WQ8_PLUS(p, vld1q_s8((at) + 32), x1)  \
    MEGCC_WQ8_FLUSH(s, p)                       \
    MEGCC_WQ8_FIRST(q, vld1q_s8((at) + 64), x2) \
    MEGCC_WQ8_PLUS(q, vld1q_s8((at) + 96), x3)  \
    MEGCC_WQ8_FLUSH(s, q)                       \
  }
#endif

MEGCC_INLINE int32x4_t megcc_wq8_columns(int32x4_t s, int32x4_t low, int32x4_t high) {
#if defined(__aarch64__)
  return vaddq_s32(s, vpaddq_s32(low, high));
#else
  const int32x2_t a = vpadd_s32(vget_low_s32(low), vget_high_s32(low));
  const int32x2_t b = vpadd_s32(vget_low_s32(high), vget_high_s32(high));
  return vaddq_s32(s, vcombine_s32(a, b));
#endif
}

// Four scales.
MEGCC_INLINE float32x4_t megcc_wq8_scale(const megcc_wq_scale_t *p, int32_t four) {
#if !CHANNELS
  (void)four;
  return vdupq_n_f32(SCALE16 ? megcc_elem_f32((megcc_elem_t)*p) : (float)*p);
#elif SCALE16
  return megcc_vf_load(p + four);
#else
  return vld1q_f32(p + four);
#endif
}

// What a sum begins with: four zero points and what a flip adds, by `sum`, the sum of the row's
// numbers.
MEGCC_INLINE int32x4_t megcc_wq8_start(const int8_t *zero, int32_t four, int32_t sum) {
#if ZERO && CHANNELS
  int8_t z[4];
  __builtin_memcpy(z, zero + four, sizeof z);
  const int32_t minus[4] = {MEGCC_WQ8_MINUS(z[0]), MEGCC_WQ8_MINUS(z[1]), MEGCC_WQ8_MINUS(z[2]),
                            MEGCC_WQ8_MINUS(z[3])};
  return vmulq_n_s32(vld1q_s32(minus), sum);
#else
  (void)four;
  return vdupq_n_s32(MEGCC_WQ8_OFFSET ? megcc_wq8_offset(zero, 0) * sum : 0);
#endif
}

#define MEGCC_WQ8_SUMMED(t, s, four)                                                    \
  {                                                                                     \
    const int32x4_t start = megcc_wq8_start(at.zero, four, *row.sum);                   \
    const float32x4_t sum = vcvtq_f32_s32(megcc_wq8_columns(start, s##0, s##1));        \
    t = megcc_vf_fma(t, vmulq_n_f32(sum, *row.scale), megcc_wq8_scale(at.scale, four)); \
  }
// A row by eight columns, those of Armv7's registers: four vectors of sums, four of 16 bits.
MEGCC_INLINE float32x4x2_t megcc_wq8_eight(megcc_wq_at_t at, megcc_wq8_rows_t row, int32_t length,
                                           int32_t left) {
  float32x4_t low = vdupq_n_f32(0.0f), high = low;
  for (; left > 0; left -= length) {
    int32x4_t s0 = vdupq_n_s32(0), s1 = s0, t0 = s0, t1 = s0;
    int32_t steps = STEPS || length <= left ? length : left;
    do {
      const megcc_wq8_four f = MEGCC_WQ8_X((const int32_t *)(const void *)row.x);
      const megcc_wq8_x x0 = MEGCC_WQ8_K(f.val[0]), x1 = MEGCC_WQ8_K(f.val[1]);
      const megcc_wq8_x x2 = MEGCC_WQ8_K(f.val[2]), x3 = MEGCC_WQ8_K(f.val[3]);
      MEGCC_WQ8_QUAD(s, at.weights)
      MEGCC_WQ8_QUAD(t, at.weights + 16)
      at.weights += 32 * BITS;
      row.x += MEGCC_WQ8_STEP;
    } while (--steps);
    MEGCC_WQ8_SUMMED(low, s, 0)
    MEGCC_WQ8_SUMMED(high, t, 4)
    ++row.scale, ++row.sum;
    megcc_wq_next(&at);
  }
  const float32x4x2_t both = {{low, high}};
  return both;
}

// A row by a panel, so many steps.
MEGCC_INLINE megcc_w16 megcc_wq8_panel(megcc_wq_at_t at, megcc_wq8_rows_t row, int32_t length,
                                       int32_t steps) {
  const float32x4x2_t low = megcc_wq8_eight(at, row, length, steps);
  at.weights += 16 * BITS;
  if (CHANNELS) at.scale += 8;
  if (CHANNELS && ZERO) at.zero += 8;
  const float32x4x2_t high = megcc_wq8_eight(at, row, length, steps);
  const megcc_w16 w = {low.val[0], low.val[1], high.val[0], high.val[1]};
  return w;
}
#define MEGCC_WQ8_PANEL

#include "gemm/megcc_wq_int8_sixteen.h"

#endif  // MEGCC_WQ_INT8_NEON_H
