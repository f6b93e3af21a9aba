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
#define MEGCC_WQ8_UNIT 8
#define MEGCC_WQ8_TILE 4
#define MEGCC_WQ8_WIDE 1

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

// Four rows by eight columns, which are the lanes: weights in 16 bits by a number of a row. Of 4
// bits 32 products of -8 .. 7 fit into 16 bits, of 8 bits each is of 32.

#define MEGCC_WQ8_TILE_OFFSET ZERO
MEGCC_INLINE void megcc_wq8_put(megcc_w16 w, int8_t *p, int8_t *q) {
  float *low = (float *)(void *)p, *high = (float *)(void *)q;
  vst1q_f32(low, w.v0), vst1q_f32(low + 4, w.v1);
  vst1q_f32(high, w.v2), vst1q_f32(high + 4, w.v3);
}
#if ZERO
MEGCC_INLINE void megcc_wq8_put_zero(const int8_t *zero, int8_t *p, int8_t *q) {
  const int8x16_t z = CHANNELS ? vld1q_s8(zero) : vdupq_n_s8(*zero);
  const int16x8_t low = vmovl_s8(vget_low_s8(z)), high = vmovl_s8(vget_high_s8(z));
  int32_t *a = (int32_t *)(void *)p, *b = (int32_t *)(void *)q;
  vst1q_s32(a, vnegq_s32(vmovl_s16(vget_low_s16(low))));
  vst1q_s32(a + 4, vnegq_s32(vmovl_s16(vget_high_s16(low))));
  vst1q_s32(b, vnegq_s32(vmovl_s16(vget_low_s16(high))));
  vst1q_s32(b + 4, vnegq_s32(vmovl_s16(vget_high_s16(high))));
}
#endif

// Weights of a step of eight columns in 16 bits, k by k.
MEGCC_INLINE void megcc_wq8_unpack(const int8_t *w, int8_t *to) {
  int16_t *p = (int16_t *)(void *)to;
#if BITS == 4
  const int8x16x4_t v = vld4q_s8(w);
  const int8x8_t eight = vdup_n_s8(8);
  for (int32_t k = 0; k < 4; ++k, p += 8) {
    const int8x16_t low = megcc_wq8_low(v.val[k]), high = megcc_wq8_high(v.val[k]);
    vst1q_s16(p, vsubl_s8(vget_low_s8(low), eight));
    vst1q_s16(p + 32, vsubl_s8(vget_high_s8(low), eight));
    vst1q_s16(p + 64, vsubl_s8(vget_low_s8(high), eight));
    vst1q_s16(p + 96, vsubl_s8(vget_high_s8(high), eight));
  }
#else
  for (int32_t half = 0; half < 2; ++half, w += 64, p += 32) {
    const int8x16x4_t v = vld4q_s8(w);
    for (int32_t k = 0; k < 4; ++k, p += 8) {
      vst1q_s16(p, vmovl_s8(vget_low_s8(v.val[k])));
      vst1q_s16(p + 32, vmovl_s8(vget_high_s8(v.val[k])));
    }
  }
#endif
}

#if defined(__aarch64__)
#define MEGCC_WQ8_ADDW_HIGH(s, q) vaddw_high_s16(s, q)
#define MEGCC_WQ8_MOVL_HIGH(q) vmovl_high_s16(q)
#define MEGCC_WQ8_BY(v, scales, r) vmulq_laneq_f32(v, scales, r)
#else
#define MEGCC_WQ8_ADDW_HIGH(s, q) vaddw_s16(s, vget_high_s16(q))
#define MEGCC_WQ8_MOVL_HIGH(q) vmovl_s16(vget_high_s16(q))
#define MEGCC_WQ8_BY(v, scales, r) \
  vmulq_lane_f32(v, (r) < 2 ? vget_low_f32(scales) : vget_high_f32(scales), (r) % 2)
#endif
#define MEGCC_WQ8_EACH(M) M(0) M(1) M(2) M(3)

// Eight k, as assembly: compilers spill registers.
//
//   AArch64   Armv7
//   v0-v3     q0-q3    eight k of each row
//   v16-v23   q8-q11   the weights of one k each; on Armv7 the last four follow the first
// clang-format off
#if defined(__aarch64__)
#define MEGCC_WQ8_MLA16(r, w, x, lane) \
  "mla %[q" #r "].8h, " w ".8h, " x ".h[" #lane "]\n"
#define MEGCC_WQ8_MLA32(r, w, low, high, x, lane) \
  "smlal %[s" #r "0].4s, " w ".4h, " x ".h[" #lane "]\n" \
  "smlal2 %[s" #r "1].4s, " w ".8h, " x ".h[" #lane "]\n"
#define MEGCC_WQ8_LOADS \
  "ld1 {v4.16b, v5.16b}, [%[x]], #32\n" \
  "ld1 {v16.8h-v19.8h}, [%[w]], #64\n" "ld1 {v20.8h-v23.8h}, [%[w]], #64\n" \
  "sxtl v0.8h, v4.8b\n" "sxtl2 v1.8h, v4.16b\n" "sxtl v2.8h, v5.8b\n" "sxtl2 v3.8h, v5.16b\n"
#define MEGCC_WQ8_HALF_TEXT \
  MEGCC_WQ8_LOADS \
  MEGCC_WQ8_ONE_K("v16", "", "", 0, "v0", "v1", "v2", "v3") \
  MEGCC_WQ8_ONE_K("v17", "", "", 1, "v0", "v1", "v2", "v3") \
  MEGCC_WQ8_ONE_K("v18", "", "", 2, "v0", "v1", "v2", "v3") \
  MEGCC_WQ8_ONE_K("v19", "", "", 3, "v0", "v1", "v2", "v3") \
  MEGCC_WQ8_ONE_K("v20", "", "", 4, "v0", "v1", "v2", "v3") \
  MEGCC_WQ8_ONE_K("v21", "", "", 5, "v0", "v1", "v2", "v3") \
  MEGCC_WQ8_ONE_K("v22", "", "", 6, "v0", "v1", "v2", "v3") \
  MEGCC_WQ8_ONE_K("v23", "", "", 7, "v0", "v1", "v2", "v3")
#define MEGCC_WQ8_CLOBBERS \
  "v0", "v1", "v2", "v3", "v4", "v5", \
  "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23"
#else
#define MEGCC_WQ8_MLA16(r, w, x, lane) "vmla.i16 %q[q" #r "], " w ", " x "[" #lane "]\n"
#define MEGCC_WQ8_MLA32(r, w, low, high, x, lane) \
  "vmlal.s16 %q[s" #r "0], " low ", " x "[" #lane "]\n" \
  "vmlal.s16 %q[s" #r "1], " high ", " x "[" #lane "]\n"
#define MEGCC_WQ8_LOAD_A "vld1.16 {d16-d19}, [%[w]]!\n"
#define MEGCC_WQ8_LOAD_B "vld1.16 {d20-d23}, [%[w]]!\n"
#define MEGCC_WQ8_LOADS \
  "vld1.8 {d16-d19}, [%[x]]!\n" \
  "vmovl.s8 q0, d16\n" "vmovl.s8 q1, d17\n" "vmovl.s8 q2, d18\n" "vmovl.s8 q3, d19\n" \
  MEGCC_WQ8_LOAD_A MEGCC_WQ8_LOAD_B
#define MEGCC_WQ8_HALF_TEXT \
  MEGCC_WQ8_LOADS \
  MEGCC_WQ8_ONE_K("q8", "d16", "d17", 0, "d0", "d2", "d4", "d6") \
  MEGCC_WQ8_ONE_K("q9", "d18", "d19", 1, "d0", "d2", "d4", "d6") \
  MEGCC_WQ8_LOAD_A \
  MEGCC_WQ8_ONE_K("q10", "d20", "d21", 2, "d0", "d2", "d4", "d6") \
  MEGCC_WQ8_ONE_K("q11", "d22", "d23", 3, "d0", "d2", "d4", "d6") \
  MEGCC_WQ8_LOAD_B \
  MEGCC_WQ8_ONE_K("q8", "d16", "d17", 0, "d1", "d3", "d5", "d7") \
  MEGCC_WQ8_ONE_K("q9", "d18", "d19", 1, "d1", "d3", "d5", "d7") \
  MEGCC_WQ8_ONE_K("q10", "d20", "d21", 2, "d1", "d3", "d5", "d7") \
  MEGCC_WQ8_ONE_K("q11", "d22", "d23", 3, "d1", "d3", "d5", "d7")
#define MEGCC_WQ8_CLOBBERS \
  "q0", "q1", "q2", "q3", "q8", "q9", "q10", "q11"
#endif

#define MEGCC_WQ8_STEP_TEXT MEGCC_WQ8_HALF_TEXT MEGCC_WQ8_HALF_TEXT
#if BITS == 4
#define MEGCC_WQ8_ONE_K(w, low, high, lane, x0, x1, x2, x3) \
  MEGCC_WQ8_MLA16(0, w, x0, lane) MEGCC_WQ8_MLA16(1, w, x1, lane) \
  MEGCC_WQ8_MLA16(2, w, x2, lane) MEGCC_WQ8_MLA16(3, w, x3, lane)
#define MEGCC_WQ8_SUMS [q0] "+w"(q0), [q1] "+w"(q1), [q2] "+w"(q2), [q3] "+w"(q3)
#else
#define MEGCC_WQ8_ONE_K(w, low, high, lane, x0, x1, x2, x3) \
  MEGCC_WQ8_MLA32(0, w, low, high, x0, lane) MEGCC_WQ8_MLA32(1, w, low, high, x1, lane) \
  MEGCC_WQ8_MLA32(2, w, low, high, x2, lane) MEGCC_WQ8_MLA32(3, w, low, high, x3, lane)
#define MEGCC_WQ8_SUMS [s00] "+w"(s00), [s01] "+w"(s01), [s10] "+w"(s10), [s11] "+w"(s11), \
  [s20] "+w"(s20), [s21] "+w"(s21), [s30] "+w"(s30), [s31] "+w"(s31)
#endif
#define MEGCC_WQ8_ASM(text) \
  __asm__(text : MEGCC_WQ8_SUMS, [w] "+r"(p), [x] "+r"(at) : : "memory", MEGCC_WQ8_CLOBBERS)
// clang-format on
#define MEGCC_WQ8_TOTAL(r) float32x4_t t##r##0 = vdupq_n_f32(0.0f), t##r##1 = t##r##0;
#if ZERO
#define MEGCC_WQ8_SUM(r) \
  int32x4_t s##r##0 = vmulq_n_s32(z0, sums[r]), s##r##1 = vmulq_n_s32(z1, sums[r]);
#else
#define MEGCC_WQ8_SUM(r) int32x4_t s##r##0 = vdupq_n_s32(0), s##r##1 = s##r##0;
#endif
#define MEGCC_WQ8_NARROW(r) int16x8_t q##r = vdupq_n_s16(0);
#define MEGCC_WQ8_WIDEN(r)                          \
  s##r##0 = vaddw_s16(s##r##0, vget_low_s16(q##r)); \
  s##r##1 = MEGCC_WQ8_ADDW_HIGH(s##r##1, q##r);
// The same of a block's first products.
#if ZERO
#define MEGCC_WQ8_FIRST_WIDE(r) MEGCC_WQ8_SUM(r) MEGCC_WQ8_WIDEN(r)
#else
#define MEGCC_WQ8_FIRST_WIDE(r) \
  const int32x4_t s##r##0 = vmovl_s16(vget_low_s16(q##r)), s##r##1 = MEGCC_WQ8_MOVL_HIGH(q##r);
#endif
#define MEGCC_WQ8_ADD(r)                                                            \
  t##r##0 = megcc_vf_fma(t##r##0, MEGCC_WQ8_BY(vcvtq_f32_s32(s##r##0), by, r), c0); \
  t##r##1 = megcc_vf_fma(t##r##1, MEGCC_WQ8_BY(vcvtq_f32_s32(s##r##1), by, r), c1);
#define MEGCC_WQ8_PUT(r)                         \
  vst1q_f32(out + MEGCC_WQ_COLS * (r), t##r##0); \
  vst1q_f32(out + MEGCC_WQ_COLS * (r) + 4, t##r##1);

MEGCC_HOT static void megcc_wq8_tile(const int8_t *p, const megcc_wq8_rows_t *rows, int32_t length,
                                     int32_t steps, float *out) {
  const float *scales = rows->scale;
  const int32_t *sums = rows->sum;
  const int8_t *at = rows->x;
  MEGCC_WQ8_EACH(MEGCC_WQ8_TOTAL)
  (void)sums;
  for (; steps > 0; steps -= length, scales += 4, sums += 4) {
    int32_t left = steps < length ? steps : length;
#if ZERO
    const int32_t *zeros = (const int32_t *)(const void *)p;
    const int32x4_t z0 = vld1q_s32(zeros), z1 = vld1q_s32(zeros + 4);
    p += 32;
#endif
#if BITS == 4 && STEPS == 2
    (void)left;
    MEGCC_WQ8_EACH(MEGCC_WQ8_NARROW)
    MEGCC_WQ8_ASM(MEGCC_WQ8_STEP_TEXT MEGCC_WQ8_STEP_TEXT);
    MEGCC_WQ8_EACH(MEGCC_WQ8_FIRST_WIDE)
#elif BITS == 4
    MEGCC_WQ8_EACH(MEGCC_WQ8_SUM)
    do {
      MEGCC_WQ8_EACH(MEGCC_WQ8_NARROW)
      MEGCC_WQ8_ASM(MEGCC_WQ8_STEP_TEXT);
      if (--left > 0) MEGCC_WQ8_ASM(MEGCC_WQ8_STEP_TEXT);
      MEGCC_WQ8_EACH(MEGCC_WQ8_WIDEN)
    } while (--left > 0);
#else
    MEGCC_WQ8_EACH(MEGCC_WQ8_SUM)
    do MEGCC_WQ8_ASM(MEGCC_WQ8_STEP_TEXT);
    while (--left);
#endif
    const float *columns = (const float *)(const void *)p;
    const float32x4_t c0 = vld1q_f32(columns), c1 = vld1q_f32(columns + 4);
    const float32x4_t by = vld1q_f32(scales);
    p += 32;
    MEGCC_WQ8_EACH(MEGCC_WQ8_ADD)
  }
  MEGCC_WQ8_EACH(MEGCC_WQ8_PUT)
}

#include "gemm/megcc_wq_int8_sixteen.h"

#endif  // MEGCC_WQ_INT8_NEON_H
