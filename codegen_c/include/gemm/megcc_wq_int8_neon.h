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

typedef struct {
  int32x4_t v0, v1, v2, v3;
} megcc_wq8_sums;

#define MEGCC_WQ8_TIMES(z) vmulq_n_s32(vmovl_s16(z), sum)
// What the sums of a block begin with; `sum` is that of the row's numbers.
MEGCC_INLINE megcc_wq8_sums megcc_wq8_start(const int8_t *zero, int32_t sum) {
  megcc_wq8_sums s;
#if ZERO
  const int8x16_t z = CHANNELS ? vld1q_s8(zero) : vdupq_n_s8(*zero);
  const int16x8_t none = vdupq_n_s16(MEGCC_WQ8_MINUS(0));
  const int16x8_t low = vsubw_s8(none, vget_low_s8(z)), high = vsubw_s8(none, vget_high_s8(z));
  s.v0 = MEGCC_WQ8_TIMES(vget_low_s16(low));
  s.v1 = MEGCC_WQ8_TIMES(vget_high_s16(low));
  s.v2 = MEGCC_WQ8_TIMES(vget_low_s16(high));
  s.v3 = MEGCC_WQ8_TIMES(vget_high_s16(high));
#else
  (void)zero;
  s.v0 = s.v1 = s.v2 = s.v3 = vdupq_n_s32(MEGCC_WQ8_OFFSET ? MEGCC_WQ8_MINUS(0) * sum : 0);
#endif
  return s;
}

MEGCC_INLINE megcc_w16 megcc_wq8_floats(megcc_wq8_sums s) {
  const megcc_w16 w = {vcvtq_f32_s32(s.v0), vcvtq_f32_s32(s.v1), vcvtq_f32_s32(s.v2),
                       vcvtq_f32_s32(s.v3)};
  return w;
}

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

// Eight columns by so many steps of a row: a third of Armv7's registers is sums.
#define MEGCC_WQ8_EIGHT(s, t, at)                                               \
  {                                                                             \
    const int8_t *v = at, *x = *row;                                            \
    int32x4_t s0 = vdupq_n_s32(0), s1 = s0, t0 = s0, t1 = s0;                   \
    for (int32_t i = 0; i < steps; ++i, v += 32 * BITS, x += MEGCC_WQ8_STEP) {  \
      const megcc_wq8_four f = MEGCC_WQ8_X((const int32_t *)(const void *)x);   \
      const megcc_wq8_x x0 = MEGCC_WQ8_K(f.val[0]), x1 = MEGCC_WQ8_K(f.val[1]); \
      const megcc_wq8_x x2 = MEGCC_WQ8_K(f.val[2]), x3 = MEGCC_WQ8_K(f.val[3]); \
      MEGCC_WQ8_QUAD(s, v)                                                      \
      MEGCC_WQ8_QUAD(t, v + 16)                                                 \
    }                                                                           \
    s = megcc_wq8_columns(s, s0, s1);                                           \
    t = megcc_wq8_columns(t, t0, t1);                                           \
  }

// The sums, and a row by so many steps of 16 columns; both pointers move behind them.
MEGCC_INLINE megcc_wq8_sums megcc_wq8_dot(megcc_wq8_sums sums, const int8_t **weights,
                                          const int8_t **row, int32_t steps) {
  int32x4_t s = sums.v0, t = sums.v1;
  MEGCC_ASSUME(steps > 0);
  if (STEPS) steps = STEPS;
  MEGCC_WQ8_EIGHT(s, t, *weights)
  sums.v0 = s, sums.v1 = t, s = sums.v2, t = sums.v3;
  MEGCC_WQ8_EIGHT(s, t, *weights + 16 * BITS)
  sums.v2 = s, sums.v3 = t;
  *weights += steps * (32 * BITS);
  *row += steps * MEGCC_WQ8_STEP;
  return sums;
}

#include "gemm/megcc_wq_int8_sixteen.h"

#endif  // MEGCC_WQ_INT8_NEON_H
