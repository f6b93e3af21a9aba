// The products of megcc_matmul_wq_int8.h on Arm64. MEGCC_WQ8_KR 4: one row by sdot, a vector is
// four columns by four k, and four k of the row are a lane; 8: by smmla, a vector is two columns by
// eight k, and the row is both rows. MEGCC_WQ8_MM 1: tiles by smmla, else by sdot.
//
// Numbers of 4 bits are multiplied as the upper four bits of a byte, 16 times as much: it takes one
// instruction for 16 of them, and the conversion of the sum to float divides by 16.
#ifndef MEGCC_WQ_INT8_DOT_H
#define MEGCC_WQ_INT8_DOT_H

#define MEGCC_WQ8_UNIT (MEGCC_WQ8_MM ? 8 : 16)
#define MEGCC_WQ8_FLIP 0
#define MEGCC_WQ8_TILE 4
#define MEGCC_WQ8_WIDE 0
#define MEGCC_WQ8_SHIFT (BITS == 4 ? 4 : 0)

#include "gemm/megcc_wq_int8_rows.h"

typedef struct {
  int32x4_t v0, v1, v2, v3;
} megcc_wq8_sums;

MEGCC_INLINE int8x16_t megcc_wq8_low(int8x16_t w) { return vshlq_n_s8(w, 4); }
MEGCC_INLINE int8x16_t megcc_wq8_high(int8x16_t w) { return vandq_s8(w, vdupq_n_s8(-16)); }

#define MEGCC_WQ8_TIMES(v, z) vmulq_n_s32(vmovl_s16(z), v)
// What the sums of a block begin with: zero points by `sum`, the sum of the row's numbers.
MEGCC_INLINE megcc_wq8_sums megcc_wq8_start(const int8_t *zero, int32_t sum) {
  megcc_wq8_sums s;
#if ZERO
  const int8x16_t z = CHANNELS ? vld1q_s8(zero) : vdupq_n_s8(*zero);
  const int16x8_t low = vshll_n_s8(vget_low_s8(z), MEGCC_WQ8_SHIFT);
  const int16x8_t high = vshll_n_s8(vget_high_s8(z), MEGCC_WQ8_SHIFT);
  s.v0 = MEGCC_WQ8_TIMES(-sum, vget_low_s16(low));
  s.v1 = MEGCC_WQ8_TIMES(-sum, vget_high_s16(low));
  s.v2 = MEGCC_WQ8_TIMES(-sum, vget_low_s16(high));
  s.v3 = MEGCC_WQ8_TIMES(-sum, vget_high_s16(high));
#else
  (void)zero, (void)sum;
  s.v0 = s.v1 = s.v2 = s.v3 = vdupq_n_s32(0);
#endif
  return s;
}

MEGCC_INLINE float32x4_t megcc_wq8_float(int32x4_t s) {
  return BITS == 4 ? vcvtq_n_f32_s32(s, 4) : vcvtq_f32_s32(s);
}
MEGCC_INLINE megcc_w16 megcc_wq8_floats(megcc_wq8_sums s) {
  const megcc_w16 w = {megcc_wq8_float(s.v0), megcc_wq8_float(s.v1), megcc_wq8_float(s.v2),
                       megcc_wq8_float(s.v3)};
  return w;
}

// A row by a step of 16 columns, as assembly: compilers move sums from register to register, and
// pointers by instructions of their own.
//
//   v16-v23  weights; the upper four bits of bytes replace them
//   v24-v25  the row: 16 k, or twice eight k, each in both halves
//   v26-v29  the lower four bits
// clang-format off
#define MEGCC_WQ8_W "ld1 {v16.16b-v19.16b}, [%[w]], #64\n" "ld1 {v20.16b-v23.16b}, [%[w]], #64\n"
#define MEGCC_WQ8_BITS(low, from) \
  "shl " low ".16b, " from ".16b, #4\n" "and " from ".16b, " from ".16b, %[upper].16b\n"
#define MEGCC_WQ8_CLOBBERS \
  "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23", "v24", "v25", "v26", "v27", "v28", "v29"
#if MEGCC_WQ8_KR == 8
#define MEGCC_WQ8_X "ld1r {v24.2d}, [%[x]], #8\n" "ld1r {v25.2d}, [%[x]], #8\n"
#define MEGCC_WQ8_MLA(s, x, w) "smmla %[" s "].4s, " x ".16b, " w ".16b\n"
#define MEGCC_WQ8_FOUR(x, s0, w0, s1, w1, s2, w2, s3, w3) \
  MEGCC_WQ8_MLA(s0, x, w0) MEGCC_WQ8_MLA(s1, x, w1) MEGCC_WQ8_MLA(s2, x, w2) \
  MEGCC_WQ8_MLA(s3, x, w3)
#if BITS == 4
#define MEGCC_WQ8_HALF(s0, s1, s2, s3, w0, w1, w2, w3) \
  MEGCC_WQ8_BITS("v26", w0) MEGCC_WQ8_BITS("v27", w1) \
  MEGCC_WQ8_BITS("v28", w2) MEGCC_WQ8_BITS("v29", w3) \
  MEGCC_WQ8_FOUR("v24", s0, "v26", s1, "v27", s2, "v28", s3, "v29") \
  MEGCC_WQ8_FOUR("v25", s0, w0, s1, w1, s2, w2, s3, w3)
#define MEGCC_WQ8_STEP_TEXT MEGCC_WQ8_X MEGCC_WQ8_W \
  MEGCC_WQ8_HALF("s0", "s1", "s2", "s3", "v16", "v17", "v18", "v19") \
  MEGCC_WQ8_HALF("s4", "s5", "s6", "s7", "v20", "v21", "v22", "v23")
#else
#define MEGCC_WQ8_HALF(s0, s1, s2, s3) MEGCC_WQ8_W \
  MEGCC_WQ8_FOUR("v24", s0, "v16", s1, "v17", s2, "v18", s3, "v19") \
  MEGCC_WQ8_FOUR("v25", s0, "v20", s1, "v21", s2, "v22", s3, "v23")
#define MEGCC_WQ8_STEP_TEXT MEGCC_WQ8_X \
  MEGCC_WQ8_HALF("s0", "s1", "s2", "s3") MEGCC_WQ8_HALF("s4", "s5", "s6", "s7")
#endif
#define MEGCC_WQ8_SUMS [s0] "+w"(s0), [s1] "+w"(s1), [s2] "+w"(s2), [s3] "+w"(s3), \
  [s4] "+w"(s4), [s5] "+w"(s5), [s6] "+w"(s6), [s7] "+w"(s7)
#else
#define MEGCC_WQ8_X "ldr q24, [%[x]], #16\n"
#define MEGCC_WQ8_MLA(s, w, lane) "sdot %[" s "].4s, " w ".16b, v24.4b[" lane "]\n"
#define MEGCC_WQ8_FOUR(lane, w0, w1, w2, w3) \
  MEGCC_WQ8_MLA("s0", w0, lane) MEGCC_WQ8_MLA("s1", w1, lane) \
  MEGCC_WQ8_MLA("s2", w2, lane) MEGCC_WQ8_MLA("s3", w3, lane)
#if BITS == 4
#define MEGCC_WQ8_GROUPS(low, high, w0, w1, w2, w3) \
  MEGCC_WQ8_BITS("v26", w0) MEGCC_WQ8_BITS("v27", w1) \
  MEGCC_WQ8_BITS("v28", w2) MEGCC_WQ8_BITS("v29", w3) \
  MEGCC_WQ8_FOUR(low, "v26", "v27", "v28", "v29") MEGCC_WQ8_FOUR(high, w0, w1, w2, w3)
#define MEGCC_WQ8_STEP_TEXT MEGCC_WQ8_X MEGCC_WQ8_W \
  MEGCC_WQ8_GROUPS("0", "2", "v16", "v17", "v20", "v21") \
  MEGCC_WQ8_GROUPS("1", "3", "v18", "v19", "v22", "v23")
#else
#define MEGCC_WQ8_HALF(s0, s1) MEGCC_WQ8_W \
  MEGCC_WQ8_MLA(s0, "v16", "0") MEGCC_WQ8_MLA(s1, "v17", "0") \
  MEGCC_WQ8_MLA(s0, "v18", "1") MEGCC_WQ8_MLA(s1, "v19", "1") \
  MEGCC_WQ8_MLA(s0, "v20", "2") MEGCC_WQ8_MLA(s1, "v21", "2") \
  MEGCC_WQ8_MLA(s0, "v22", "3") MEGCC_WQ8_MLA(s1, "v23", "3")
#define MEGCC_WQ8_STEP_TEXT \
  MEGCC_WQ8_X MEGCC_WQ8_HALF("s0", "s1") MEGCC_WQ8_HALF("s2", "s3")
#endif
#define MEGCC_WQ8_SUMS [s0] "+w"(s0), [s1] "+w"(s1), [s2] "+w"(s2), [s3] "+w"(s3)
#endif
// clang-format on
#define MEGCC_WQ8_ASM(text)                          \
  __asm__(text                                       \
          : MEGCC_WQ8_SUMS, [w] "+r"(w), [x] "+r"(x) \
          : [upper] "w"(vdupq_n_u8(0xf0))            \
          : "memory", MEGCC_WQ8_CLOBBERS)

#if MEGCC_WQ8_KR == 8
MEGCC_INLINE int32x4_t megcc_wq8_row_of(int32x4_t a, int32x4_t b) {
  return vreinterpretq_s32_s64(vzip1q_s64(vreinterpretq_s64_s32(a), vreinterpretq_s64_s32(b)));
}
#endif
// The sums, and a row by so many steps of 16 columns; both pointers move behind them.
MEGCC_INLINE megcc_wq8_sums megcc_wq8_dot(megcc_wq8_sums s, const int8_t **weights,
                                          const int8_t **row, int32_t steps) {
  const int8_t *w = *weights, *x = *row;
#if MEGCC_WQ8_KR == 8
  int32x4_t s0 = vdupq_n_s32(0), s1 = s0, s2 = s0, s3 = s0, s4 = s0, s5 = s0, s6 = s0, s7 = s0;
#else
  int32x4_t s0 = s.v0, s1 = s.v1, s2 = s.v2, s3 = s.v3;
#endif
#if STEPS == 2
  (void)steps;
  MEGCC_WQ8_ASM(MEGCC_WQ8_STEP_TEXT MEGCC_WQ8_STEP_TEXT);
#else
  for (; steps > 1; steps -= 2) MEGCC_WQ8_ASM(MEGCC_WQ8_STEP_TEXT MEGCC_WQ8_STEP_TEXT);
  if (steps) MEGCC_WQ8_ASM(MEGCC_WQ8_STEP_TEXT);
#endif
#if MEGCC_WQ8_KR == 8
  s.v0 = vaddq_s32(s.v0, megcc_wq8_row_of(s0, s1));
  s.v1 = vaddq_s32(s.v1, megcc_wq8_row_of(s2, s3));
  s.v2 = vaddq_s32(s.v2, megcc_wq8_row_of(s4, s5));
  s.v3 = vaddq_s32(s.v3, megcc_wq8_row_of(s6, s7));
#else
  s.v0 = s0, s.v1 = s1, s.v2 = s2, s.v3 = s3;
#endif
  *weights = w;
  *row = x;
  return s;
}

MEGCC_INLINE megcc_w16 megcc_wq8_bits(megcc_wq8_sums s) {
  const megcc_w16 w = {vreinterpretq_f32_s32(s.v0), vreinterpretq_f32_s32(s.v1),
                       vreinterpretq_f32_s32(s.v2), vreinterpretq_f32_s32(s.v3)};
  return w;
}
#define MEGCC_WQ8_TWICE(zip, v) \
  vreinterpretq_f32_f64(zip(vreinterpretq_f64_f32(v), vreinterpretq_f64_f32(v)))
// Four numbers of columns, or each pair of them twice.
MEGCC_INLINE void megcc_wq8_put_four(float32x4_t v, int8_t *p, int32_t four) {
  float *to = (float *)(void *)p + four * (MEGCC_WQ8_MM ? 8 : 4);
#if MEGCC_WQ8_MM
  vst1q_f32(to, MEGCC_WQ8_TWICE(vzip1q_f64, v));
  vst1q_f32(to + 4, MEGCC_WQ8_TWICE(vzip2q_f64, v));
#else
  vst1q_f32(to, v);
#endif
}
MEGCC_INLINE void megcc_wq8_put(megcc_w16 w, int8_t *p, int8_t *q) {
  megcc_wq8_put_four(w.v0, p, 0), megcc_wq8_put_four(w.v1, p, 1);
  megcc_wq8_put_four(w.v2, q, 0), megcc_wq8_put_four(w.v3, q, 1);
}

#if MEGCC_WQ8_MM && MEGCC_WQ8_KR == 4
// Two groups of four columns as pairs of columns of eight k.
#define MEGCC_WQ8_JOINED(zip, a, b) \
  vreinterpretq_s8_s32(zip(vreinterpretq_s32_s8(a), vreinterpretq_s32_s8(b)))
#define MEGCC_WQ8_PUT_BYTES(to, a, b, c, d)                                        \
  {                                                                                \
    const int8x16x4_t v = {                                                        \
        {MEGCC_WQ8_JOINED(vzip1q_s32, a, c), MEGCC_WQ8_JOINED(vzip2q_s32, a, c),   \
         MEGCC_WQ8_JOINED(vzip1q_s32, b, d), MEGCC_WQ8_JOINED(vzip2q_s32, b, d)}}; \
    vst1q_s8_x4(to, v);                                                            \
  }
#else
#define MEGCC_WQ8_PUT_BYTES(to, a, b, c, d) \
  {                                         \
    const int8x16x4_t v = {{a, b, c, d}};   \
    vst1q_s8_x4(to, v);                     \
  }
#endif
// Weights of a step of eight columns as bytes, in the order in which a tile reads them.
MEGCC_INLINE void megcc_wq8_unpack(const int8_t *w, int8_t *to) {
  const int8x16x4_t p = vld1q_s8_x4(w);
#if BITS == 4
  MEGCC_WQ8_PUT_BYTES(to, megcc_wq8_low(p.val[0]), megcc_wq8_low(p.val[1]), megcc_wq8_low(p.val[2]),
                      megcc_wq8_low(p.val[3]))
  MEGCC_WQ8_PUT_BYTES(to + 64, megcc_wq8_high(p.val[0]), megcc_wq8_high(p.val[1]),
                      megcc_wq8_high(p.val[2]), megcc_wq8_high(p.val[3]))
#else
  const int8x16x4_t q = vld1q_s8_x4(w + 64);
  MEGCC_WQ8_PUT_BYTES(to, p.val[0], p.val[1], p.val[2], p.val[3])
  MEGCC_WQ8_PUT_BYTES(to + 64, q.val[0], q.val[1], q.val[2], q.val[3])
#endif
}

#define MEGCC_WQ8_TILE_LOAD              \
  "ld1 {v16.16b-v19.16b}, [%[x]], #64\n" \
  "ld1 {v20.16b-v23.16b}, [%[w]], #64\n" \
  "ld1 {v24.16b-v27.16b}, [%[w]], #64\n"
#define MEGCC_WQ8_TILE_ASM(text)                                                                   \
  __asm__(text                                                                                     \
          : MEGCC_WQ8_TILE_SUMS, [w] "+r"(p), [x] "+r"(at)                                         \
          :                                                                                        \
          : "memory", "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23", "v24", "v25", "v26", \
            "v27")
#define MEGCC_WQ8_NONE(s) int32x4_t s = vdupq_n_s32(0);
#define MEGCC_WQ8_ZERO(s) float32x4_t s = vdupq_n_f32(0.0f);
// A sum of a block in float, by the scales of rows and of columns.
#define MEGCC_WQ8_SCALED(t, s, rows, columns) \
  t = vfmaq_f32(t, vmulq_f32(megcc_wq8_float(s), rows), columns);
#define MEGCC_WQ8_SCALED_LANE(t, s, r, columns) \
  t = vfmaq_f32(t, vmulq_laneq_f32(megcc_wq8_float(s), row, r), columns);

#if MEGCC_WQ8_MM
#define MEGCC_WQ8_ALL(M) M(0, 0) M(0, 1) M(0, 2) M(0, 3) M(1, 0) M(1, 1) M(1, 2) M(1, 3)
#define MEGCC_WQ8_SUM(r, c) MEGCC_WQ8_NONE(s##r##c)
#define MEGCC_WQ8_TOTAL(r, c) MEGCC_WQ8_ZERO(t##r##c)
#define MEGCC_WQ8_LESS(r, c) s##r##c = vmulq_s32(sum##r, z.val[c]);
// A step of a tile: k of rows in v16-v19, of columns in v20-v27.
// clang-format off
#define MEGCC_WQ8_TILE_MLA(s, x, w) "smmla %[" s "].4s, " x ".16b, " w ".16b\n"
#define MEGCC_WQ8_TILE_ROWS(x0, x1, w0, w1, w2, w3) \
  MEGCC_WQ8_TILE_MLA("s00", x0, w0) MEGCC_WQ8_TILE_MLA("s01", x0, w1) \
  MEGCC_WQ8_TILE_MLA("s02", x0, w2) MEGCC_WQ8_TILE_MLA("s03", x0, w3) \
  MEGCC_WQ8_TILE_MLA("s10", x1, w0) MEGCC_WQ8_TILE_MLA("s11", x1, w1) \
  MEGCC_WQ8_TILE_MLA("s12", x1, w2) MEGCC_WQ8_TILE_MLA("s13", x1, w3)
#define MEGCC_WQ8_TILE_STEP \
  MEGCC_WQ8_TILE_LOAD \
  MEGCC_WQ8_TILE_ROWS("v16", "v17", "v20", "v21", "v22", "v23") \
  MEGCC_WQ8_TILE_ROWS("v18", "v19", "v24", "v25", "v26", "v27")
#define MEGCC_WQ8_TILE_SUMS \
  [s00] "+w"(s00), [s01] "+w"(s01), [s02] "+w"(s02), [s03] "+w"(s03), \
  [s10] "+w"(s10), [s11] "+w"(s11), [s12] "+w"(s12), [s13] "+w"(s13)
// clang-format on
#define MEGCC_WQ8_ADD(r, c) MEGCC_WQ8_SCALED(t##r##c, s##r##c, row##r, scale.val[c])
#define MEGCC_WQ8_PUT(r, c)                                                                   \
  {                                                                                           \
    const float64x2_t a = vreinterpretq_f64_f32(t##r##c), b = vreinterpretq_f64_f32(u##r##c); \
    vst1q_f32(out + 32 * (r) + 2 * (c), vreinterpretq_f32_f64(vzip1q_f64(a, b)));             \
    vst1q_f32(out + 32 * (r) + 16 + 2 * (c), vreinterpretq_f32_f64(vzip2q_f64(a, b)));        \
  }
#define u00 t01
#define u02 t03
#define u10 t11
#define u12 t13

#define MEGCC_WQ8_TILE_SCALES                                                 \
  const float32x4x4_t scale = vld1q_f32_x4((const float *)(const void *)p);   \
  const float32x4_t row = vld1q_f32(scales);                                  \
  const float32x4_t row0 = vzip1q_f32(row, row), row1 = vzip2q_f32(row, row); \
  p += 64;
#define MEGCC_WQ8_TILE_ZEROS                                                \
  const int32x4x4_t z = vld1q_s32_x4((const int32_t *)(const void *)p);     \
  const int32x4_t sum = vld1q_s32(sums);                                    \
  const int32x4_t sum0 = vzip1q_s32(sum, sum), sum1 = vzip2q_s32(sum, sum); \
  p += 64;
#define MEGCC_WQ8_TILE_PUT \
  MEGCC_WQ8_PUT(0, 0) MEGCC_WQ8_PUT(0, 2) MEGCC_WQ8_PUT(1, 0) MEGCC_WQ8_PUT(1, 2)
#else
#define MEGCC_WQ8_ALL(M) M(0, 0) M(0, 1) M(1, 0) M(1, 1) M(2, 0) M(2, 1) M(3, 0) M(3, 1)
#define MEGCC_WQ8_SUM(r, c) MEGCC_WQ8_NONE(s##r##c)
#define MEGCC_WQ8_TOTAL(r, c) MEGCC_WQ8_ZERO(t##r##c)
#define MEGCC_WQ8_LESS(r, c) s##r##c = vmulq_laneq_s32(z##c, sum, r);
// A step of a tile: k of rows in v16-v19, of columns in v20-v27.
// clang-format off
#define MEGCC_WQ8_TILE_MLA(s, w, x, lane) "sdot %[" s "].4s, " w ".16b, " x ".4b[" lane "]\n"
#define MEGCC_WQ8_TILE_ROWS(lane, w0, w1) \
  MEGCC_WQ8_TILE_MLA("s00", w0, "v16", lane) MEGCC_WQ8_TILE_MLA("s01", w1, "v16", lane) \
  MEGCC_WQ8_TILE_MLA("s10", w0, "v17", lane) MEGCC_WQ8_TILE_MLA("s11", w1, "v17", lane) \
  MEGCC_WQ8_TILE_MLA("s20", w0, "v18", lane) MEGCC_WQ8_TILE_MLA("s21", w1, "v18", lane) \
  MEGCC_WQ8_TILE_MLA("s30", w0, "v19", lane) MEGCC_WQ8_TILE_MLA("s31", w1, "v19", lane)
#define MEGCC_WQ8_TILE_STEP \
  MEGCC_WQ8_TILE_LOAD \
  MEGCC_WQ8_TILE_ROWS("0", "v20", "v21") MEGCC_WQ8_TILE_ROWS("1", "v22", "v23") \
  MEGCC_WQ8_TILE_ROWS("2", "v24", "v25") MEGCC_WQ8_TILE_ROWS("3", "v26", "v27")
#define MEGCC_WQ8_TILE_SUMS \
  [s00] "+w"(s00), [s01] "+w"(s01), [s10] "+w"(s10), [s11] "+w"(s11), \
  [s20] "+w"(s20), [s21] "+w"(s21), [s30] "+w"(s30), [s31] "+w"(s31)
// clang-format on
#define MEGCC_WQ8_ADD(r, c) MEGCC_WQ8_SCALED_LANE(t##r##c, s##r##c, r, scale##c)
#define MEGCC_WQ8_PUT(r, c) vst1q_f32(out + 16 * (r) + 4 * (c), t##r##c);

#define MEGCC_WQ8_TILE_SCALES                                                           \
  const float *of_columns = (const float *)(const void *)p;                             \
  const float32x4_t scale0 = vld1q_f32(of_columns), scale1 = vld1q_f32(of_columns + 4); \
  const float32x4_t row = vld1q_f32(scales);                                            \
  p += 32;
#define MEGCC_WQ8_TILE_ZEROS                                                               \
  const int32_t *zeros = (const int32_t *)(const void *)p;                                 \
  const int32x4_t z0 = vld1q_s32(zeros), z1 = vld1q_s32(zeros + 4), sum = vld1q_s32(sums); \
  p += 32;
#define MEGCC_WQ8_TILE_PUT MEGCC_WQ8_ALL(MEGCC_WQ8_PUT)
#endif

// Four rows by eight columns.
MEGCC_HOT static void megcc_wq8_tile(const int8_t *p, const megcc_wq8_rows_t *rows, int32_t length,
                                     int32_t steps, float *out) {
  const float *scales = rows->scale;
  const int32_t *sums = rows->sum;
  const int8_t *at = rows->x;
  (void)sums, (void)length;
  MEGCC_WQ8_ALL(MEGCC_WQ8_TOTAL)
  for (; steps > 0; steps -= STEPS ? STEPS : length) {
    MEGCC_WQ8_ALL(MEGCC_WQ8_SUM)
#if ZERO
    MEGCC_WQ8_TILE_ZEROS
    MEGCC_WQ8_ALL(MEGCC_WQ8_LESS)
#endif
#if STEPS == 2
    MEGCC_WQ8_TILE_ASM(MEGCC_WQ8_TILE_STEP MEGCC_WQ8_TILE_STEP);
#else
    int32_t left = steps < length ? steps : length;
    do MEGCC_WQ8_TILE_ASM(MEGCC_WQ8_TILE_STEP);
    while (--left);
#endif
    MEGCC_WQ8_TILE_SCALES
    MEGCC_WQ8_ALL(MEGCC_WQ8_ADD)
    scales += 4;
    sums += 4;
  }
  MEGCC_WQ8_TILE_PUT
}

#include "gemm/megcc_wq_int8_sixteen.h"

#endif  // MEGCC_WQ_INT8_DOT_H
