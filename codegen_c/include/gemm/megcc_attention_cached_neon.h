// Products of megcc_attention_cached.h for few rows with a cache in int8, by NEON: as integers.
//
// Queries and exponentials are rounded to 16 bits, each head's by its largest, which is 250 times
// as fine as the cache. Sums are exact. A score's sum of d <= 512 products holds in 32 bits, as
// does one of MEGCC_CACHED_PIECE rows of values; such pieces are added as floats.
#ifndef MEGCC_ATTENTION_CACHED_NEON_H
#define MEGCC_ATTENTION_CACHED_NEON_H

#define MEGCC_CACHED_PIECE 512
#define MEGCC_CACHED_MOST 32767.0f
#define MEGCC_CACHED_WEIGHT(p, j) ((float)megcc_cached_shorts(p)[j])

// The 16-bit numbers at the beginning of a row of floats.
MEGCC_INLINE const int16_t *megcc_cached_shorts(const float *row) {
  const void *const at = row;
  return at;
}

MEGCC_INLINE int16x8_t megcc_cached_load(const int8_t *p) { return vmovl_s8(vld1_s8(p)); }

// Scores: a vector, its sums, its lanes, queries, and what is done with them.
typedef int16x8_t megcc_cached_v;
typedef int32x4_t megcc_cached_a;
typedef int16_t megcc_cached_query_t;
#define MEGCC_CACHED_LANES 8
#define MEGCC_CACHED_TURNS MEGCC_UNROLL(2)
#define MEGCC_CACHED_ZERO vdupq_n_s32(0)
#define MEGCC_CACHED_KEY(p) megcc_cached_load(p)
#define MEGCC_CACHED_QUERY(p) vld1q_s16(p)
#define MEGCC_CACHED_FMA(a, x, y) megcc_cached_high(megcc_cached_low(a, x, y), x, y)
#define MEGCC_CACHED_QUERY_F32(x) ((float)(x))

// Sums with products of the lower, and of the upper four lanes. By name on arm64: gcc keeps the
// halves of a vector in two registers.
MEGCC_INLINE int32x4_t megcc_cached_low(int32x4_t a, int16x8_t x, int16x8_t y) {
#if defined(__aarch64__)
  __asm__("smlal %0.4s, %1.4h, %2.4h" : "+w"(a) : "w"(x), "w"(y));
  return a;
#else
  return vmlal_s16(a, vget_low_s16(x), vget_low_s16(y));
#endif
}

MEGCC_INLINE int32x4_t megcc_cached_high(int32x4_t a, int16x8_t x, int16x8_t y) {
#if defined(__aarch64__)
  __asm__("smlal2 %0.4s, %1.8h, %2.8h" : "+w"(a) : "w"(x), "w"(y));
  return a;
#else
  return vmlal_s16(a, vget_high_s16(x), vget_high_s16(y));
#endif
}

// n floats by `inverse`, to the nearest integers, which 16 bits hold. They may begin where x does.
MEGCC_INLINE void megcc_cached_rounded(const float *x, int16_t *to, int32_t n, float inverse) {
  const megcc_vf by = megcc_vf_dup(inverse);
  int32_t i = 0;
  for (; i < n; i += MEGCC_VL) {
    const int32_t left = n - i < MEGCC_VL ? n - i : MEGCC_VL;
    const megcc_vf v = megcc_vf_mul(megcc_vf_load_n(x + i, left), by);
    const int16x4_t whole = vqmovn_s32(megcc_vf_to_vi(megcc_vf_round(v)));
    if (left == MEGCC_VL) {
      vst1_s16(to + i, whole);
    } else {
      int16_t lanes[MEGCC_VL];
      vst1_s16(lanes, whole);
      for (int32_t l = 0; l < left; ++l) to[i + l] = lanes[l];
    }
  }
}

// The factors of a few heads' queries stand behind these.
MEGCC_INLINE float megcc_cached_query_factor(const megcc_cached_t *c, int32_t r) {
  return c->wide[2 * c->a.d + r];
}

// n elements of q from `at` on, heads of d, as scores read them.
MEGCC_INLINE const int16_t *megcc_cached_query(const megcc_cached_t *c, size_t at, int32_t n) {
  const int32_t d = c->a.d;
  void *const wide = c->wide;
  int16_t *const to = wide;
  for (int32_t r = 0; r * d < n; ++r) {
    const float *q = c->q + at + r * d;
    megcc_vf most = megcc_vf_zero();
    float largest;
    for (int32_t i = 0; i < d; i += MEGCC_VL) {
      const int32_t left = d - i < MEGCC_VL ? d - i : MEGCC_VL;
      most = megcc_vf_nanmax(most, megcc_vf_abs(megcc_vf_load_n(q + i, left)));
    }
    largest = megcc_vf_hmax(most);
    megcc_cached_rounded(q, to + r * d, d, largest >= 1e-30f ? MEGCC_CACHED_MOST / largest : 0.0f);
    c->wide[2 * d + r] = largest / MEGCC_CACHED_MOST;
  }
  return to;
}

// Exponentials [lo, hi) of a row by the factors of values, rounded, at the row's beginning.
MEGCC_INLINE float megcc_cached_weights(const megcc_cached_t *c, float *s, int32_t lo, int32_t hi) {
  const float most = megcc_cached_by_values(c, s, lo, hi);
  void *const row = s;
  int16_t *const to = row;
  megcc_cached_rounded(s + lo, to + lo, hi - lo, most >= 1e-30f ? MEGCC_CACHED_MOST / most : 0.0f);
  return most / MEGCC_CACHED_MOST;
}

// The sums of the lanes of four vectors.
MEGCC_INLINE void megcc_cached_sums(float *s, int32x4_t a, int32x4_t b, int32x4_t c, int32x4_t d) {
#if defined(__aarch64__)
  vst1q_f32(s, vcvtq_f32_s32(vpaddq_s32(vpaddq_s32(a, b), vpaddq_s32(c, d))));
#else
  const int32x2_t ab = vpadd_s32(vpadd_s32(vget_low_s32(a), vget_high_s32(a)),
                                 vpadd_s32(vget_low_s32(b), vget_high_s32(b)));
  const int32x2_t cd = vpadd_s32(vpadd_s32(vget_low_s32(c), vget_high_s32(c)),
                                 vpadd_s32(vget_low_s32(d), vget_high_s32(d)));
  vst1q_f32(s, vcvtq_f32_s32(vcombine_s32(ab, cd)));
#endif
}

MEGCC_INLINE float megcc_cached_sum(int32x4_t a) {
  float sums[4];
  megcc_cached_sums(sums, a, a, a, a);
  return sums[0];
}

// Stores the floats of two vectors; with `more` their sums with what is there.
MEGCC_INLINE void megcc_cached_add(float *y, int32x4_t low, int32x4_t high, int more) {
  float32x4_t a = vcvtq_f32_s32(low), b = vcvtq_f32_s32(high);
  if (more) a = vaddq_f32(a, vld1q_f32(y)), b = vaddq_f32(b, vld1q_f32(y + 4));
  vst1q_f32(y, a), vst1q_f32(y + 4, b);
}

// Columns of values whose sums are made together: as many as registers hold for three heads.
#if defined(__aarch64__)
#define MEGCC_CACHED_COLUMNS 32
#define MEGCC_CACHED_EACH(M) M(0) M(1) M(2) M(3)
#else
#define MEGCC_CACHED_COLUMNS 16
#define MEGCC_CACHED_EACH(M) M(0) M(1)
#endif

// Rows of values [first, last) times the weights in rows of `s`, elements [i, i + COLUMNS).
MEGCC_INLINE void megcc_cached_values(const megcc_cached_t *c, const float *s, int32_t first,
                                      int32_t last, int32_t heads, int32_t i, float *y) {
  const size_t row = c->a.v_row, d = (size_t)c->a.d;
  const int16_t *p0 = megcc_cached_shorts(s), *p1 = megcc_cached_shorts(s + c->width);
  const int16_t *p2 = megcc_cached_shorts(s + 2 * c->width);
  const int8_t *v = c->v + (size_t)first * row + i;
  float *y1 = y + d, *y2 = y1 + d;
  int more = 0;
  y += i, y1 += i, y2 += i;
  for (int32_t j = first; j < last; more = 1) {
    const int32_t stop = last - j < MEGCC_CACHED_PIECE ? last : j + MEGCC_CACHED_PIECE;
#define MEGCC_CACHED_START(k)                                                                   \
  int32x4_t al##k = vdupq_n_s32(0), ah##k = al##k, bl##k = al##k, bh##k = al##k, cl##k = al##k, \
            ch##k = al##k;
    MEGCC_CACHED_EACH(MEGCC_CACHED_START)
    for (; j < stop; ++j, v += row) {
#define MEGCC_CACHED_X(k) const int16x8_t x##k = megcc_cached_load(v + 8 * (k));
#define MEGCC_CACHED_A(k) \
  al##k = megcc_cached_low(al##k, x##k, p), ah##k = megcc_cached_high(ah##k, x##k, p);
#define MEGCC_CACHED_B(k) \
  bl##k = megcc_cached_low(bl##k, x##k, p), bh##k = megcc_cached_high(bh##k, x##k, p);
#define MEGCC_CACHED_C(k) \
  cl##k = megcc_cached_low(cl##k, x##k, p), ch##k = megcc_cached_high(ch##k, x##k, p);
      MEGCC_CACHED_EACH(MEGCC_CACHED_X)
      int16x8_t p = vld1q_dup_s16(p0 + j);
      MEGCC_CACHED_EACH(MEGCC_CACHED_A)
      if (heads > 1) {
        p = vld1q_dup_s16(p1 + j);
        MEGCC_CACHED_EACH(MEGCC_CACHED_B)
      }
      if (heads > 2) {
        p = vld1q_dup_s16(p2 + j);
        MEGCC_CACHED_EACH(MEGCC_CACHED_C)
      }
    }
#define MEGCC_CACHED_ADD_A(k) megcc_cached_add(y + 8 * (k), al##k, ah##k, more);
#define MEGCC_CACHED_ADD_B(k) megcc_cached_add(y1 + 8 * (k), bl##k, bh##k, more);
#define MEGCC_CACHED_ADD_C(k) megcc_cached_add(y2 + 8 * (k), cl##k, ch##k, more);
    MEGCC_CACHED_EACH(MEGCC_CACHED_ADD_A)
    if (heads > 1) {
      MEGCC_CACHED_EACH(MEGCC_CACHED_ADD_B)
    }
    if (heads > 2) {
      MEGCC_CACHED_EACH(MEGCC_CACHED_ADD_C)
    }
  }
}

#endif  // MEGCC_ATTENTION_CACHED_NEON_H
