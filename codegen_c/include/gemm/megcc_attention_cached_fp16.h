// Products of megcc_attention_cached.h for few rows in vectors of eight f16, on Arm64 with
// FEAT_FP16.
//
// Queries are scaled before they are narrowed, so that scores stay in what f16 holds. A lane of a
// score sums d / 8 products, and lanes are added as floats. Values are summed in pieces of
// MEGCC_CACHED_PIECE rows, and these as floats: a sum of all rows in f16 would lose the last ones.
#ifndef MEGCC_ATTENTION_CACHED_FP16_H
#define MEGCC_ATTENTION_CACHED_FP16_H

#include <arm_neon.h>

#define MEGCC_CACHED_COLUMNS 32  // of values whose sums are made together
#define MEGCC_CACHED_PIECE 32
#define MEGCC_CACHED_WEIGHT(p, j) ((float)megcc_cached_halves(p)[j])

// The f16 at the beginning of a row of weights.
MEGCC_INLINE const float16_t *megcc_cached_halves(const float *row) {
  const void *const at = row;
  return at;
}

MEGCC_INLINE float16x8_t megcc_cached_load(const uint16_t *p) {
  return vreinterpretq_f16_u16(vld1q_u16(p));
}

// Scores: a vector, its lanes, queries, and what is done with them.
typedef float16x8_t megcc_cached_v;
typedef float16x8_t megcc_cached_a;
typedef uint16_t megcc_cached_query_t;
#define MEGCC_CACHED_LANES 8
#define MEGCC_CACHED_TURNS
#define MEGCC_CACHED_ZERO vreinterpretq_f16_u16(vdupq_n_u16(0))
#define MEGCC_CACHED_KEY(p) megcc_cached_load(p)
#define MEGCC_CACHED_QUERY(p) megcc_cached_load(p)
#define MEGCC_CACHED_FMA(a, x, y) vfmaq_f16(a, x, y)
#define MEGCC_CACHED_QUERY_F32(x) megcc_f16_to_f32(x)

// n elements of q from `at` on, as scores read them.
MEGCC_INLINE const uint16_t *megcc_cached_query(const megcc_cached_t *c, size_t at, int32_t n) {
  void *const wide = c->wide;
  uint16_t *const to = wide;
  int32_t i = 0;
  for (; i + 4 <= n; i += 4)
    megcc_vh_store(to + i, vmulq_n_f32(megcc_vh_load(c->q + at + i), c->factor));
  for (; i < n; ++i) to[i] = megcc_f32_to_f16(megcc_f16_to_f32(c->q[at + (size_t)i]) * c->factor);
  return to;
}

MEGCC_INLINE float megcc_cached_query_factor(const megcc_cached_t *c, int32_t r) {
  (void)c, (void)r;
  return 1.0f;
}

// Exponentials [lo, hi) of a row, as products with values read them: f16 at the row's beginning. It
// has a vector to spare.
MEGCC_INLINE float megcc_cached_weights(const megcc_cached_t *c, float *s, int32_t lo, int32_t hi) {
  void *const row = s;
  float16_t *const to = row;
  (void)c;
  for (int32_t j = lo; j < hi; j += 4) vst1_f16(to + j, vcvt_f16_f32(vld1q_f32(s + j)));
  return 1.0f;
}

// The sums of the lanes of two vectors, in pairs of lanes.
MEGCC_INLINE float32x4_t megcc_cached_pairs(float16x8_t a, float16x8_t b) {
  const float16x8_t pairs = vpaddq_f16(a, b);
  return vpaddq_f32(vcvt_f32_f16(vget_low_f16(pairs)), vcvt_high_f32_f16(pairs));
}

MEGCC_INLINE void megcc_cached_sums(float *s, float16x8_t a, float16x8_t b, float16x8_t c,
                                    float16x8_t d) {
  vst1q_f32(s, vpaddq_f32(megcc_cached_pairs(a, b), megcc_cached_pairs(c, d)));
}

MEGCC_INLINE float megcc_cached_sum(float16x8_t a) {
  return vaddvq_f32(vaddq_f32(vcvt_f32_f16(vget_low_f16(a)), vcvt_high_f32_f16(a)));
}

// Stores the floats of a vector; with `more` their sums with what is there.
MEGCC_INLINE void megcc_cached_add(float *y, float16x8_t a, int more) {
  float32x4_t low = vcvt_f32_f16(vget_low_f16(a)), high = vcvt_high_f32_f16(a);
  if (more) low = vaddq_f32(low, vld1q_f32(y)), high = vaddq_f32(high, vld1q_f32(y + 4));
  vst1q_f32(y, low), vst1q_f32(y + 4, high);
}

// Rows of values [first, last) times the weights in rows of `s`, elements [i, i + 32).
MEGCC_INLINE void megcc_cached_values(const megcc_cached_t *c, const float *s, int32_t first,
                                      int32_t last, int32_t heads, int32_t i, float *y) {
  const size_t row = c->a.v_row, d = (size_t)c->a.d;
  const float16_t *p0 = megcc_cached_halves(s), *p1 = megcc_cached_halves(s + c->width);
  const float16_t *p2 = megcc_cached_halves(s + 2 * c->width);
  const uint16_t *v = c->v + (size_t)first * row + i;
  const float16x8_t zero = vreinterpretq_f16_u16(vdupq_n_u16(0));
  float *y1 = y + d, *y2 = y1 + d;
  int more = 0;
  y += i, y1 += i, y2 += i;
  for (int32_t j = first; j < last; more = 1) {
    const int32_t stop = last - j < MEGCC_CACHED_PIECE ? last : j + MEGCC_CACHED_PIECE;
    float16x8_t a0 = zero, a1 = zero, a2 = zero, a3 = zero, b0 = zero, b1 = zero;
    float16x8_t b2 = zero, b3 = zero, c0 = zero, c1 = zero, c2 = zero, c3 = zero;
    for (; j < stop; ++j, v += row) {
      const float16x8_t x0 = megcc_cached_load(v), x1 = megcc_cached_load(v + 8);
      const float16x8_t x2 = megcc_cached_load(v + 16), x3 = megcc_cached_load(v + 24);
      float16x8_t p = vld1q_dup_f16(p0 + j);
      a0 = vfmaq_f16(a0, x0, p), a1 = vfmaq_f16(a1, x1, p);
      a2 = vfmaq_f16(a2, x2, p), a3 = vfmaq_f16(a3, x3, p);
      if (heads > 1) {
        p = vld1q_dup_f16(p1 + j);
        b0 = vfmaq_f16(b0, x0, p), b1 = vfmaq_f16(b1, x1, p);
        b2 = vfmaq_f16(b2, x2, p), b3 = vfmaq_f16(b3, x3, p);
      }
      if (heads > 2) {
        p = vld1q_dup_f16(p2 + j);
        c0 = vfmaq_f16(c0, x0, p), c1 = vfmaq_f16(c1, x1, p);
        c2 = vfmaq_f16(c2, x2, p), c3 = vfmaq_f16(c3, x3, p);
      }
    }
    megcc_cached_add(y, a0, more), megcc_cached_add(y + 8, a1, more);
    megcc_cached_add(y + 16, a2, more), megcc_cached_add(y + 24, a3, more);
    if (heads > 1) {
      megcc_cached_add(y1, b0, more), megcc_cached_add(y1 + 8, b1, more);
      megcc_cached_add(y1 + 16, b2, more), megcc_cached_add(y1 + 24, b3, more);
    }
    if (heads > 2) {
      megcc_cached_add(y2, c0, more), megcc_cached_add(y2 + 8, c1, more);
      megcc_cached_add(y2 + 16, c2, more), megcc_cached_add(y2 + 24, c3, more);
    }
  }
}

#endif  // MEGCC_ATTENTION_CACHED_FP16_H
