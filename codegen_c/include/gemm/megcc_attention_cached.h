// The body of the attention_cached kernels: attention over the rows of a cache that are filled.
//
// Workspace: addresses of a block's rows, scores of few rows, scores of a block, panels of keys and
// of values, rows of f16 as floats. A row of scores has a vector to spare, as the rows that are
// seen begin anywhere.
//
// With MEGCC_CACHED_F16 queries and y are f16, which is widened as a whole. 2: few rows are
// multiplied by the cache in f16, where the compiler is told that the machine can
// (megcc_attention_cached_fp16.h). MEGCC_CACHED_BITS: of an element of the cache, which is widened
// as it is loaded. Rows of int8 are numbers and a factor (megcc_cache_row.h): scores are multiplied
// by those of keys, exponentials by those of values. With NEON few rows are multiplied as integers
// (megcc_attention_cached_neon.h).
#ifndef MEGCC_ATTENTION_CACHED_H
#define MEGCC_ATTENTION_CACHED_H

#include "gemm/megcc_attention.h"
#include "megcc_unroll.h"
#include "op/attention_cached.h"

#ifndef SOFTCAP
#define SOFTCAP 0
#endif
#ifndef MEGCC_CACHED_BITS
#define MEGCC_CACHED_BITS 32
#endif

// Heads that read keys and values together.
#define MEGCC_CACHED_HEADS 3

// Elements of queries and y.
#ifdef MEGCC_CACHED_F16
#include "simd/megcc_vh.h"
typedef uint16_t megcc_cached_elem_t;
#define MEGCC_CACHED_BLOCKS (2 * ATTENTION_BLOCK)  // rows of queries and y as floats
#else
typedef float megcc_cached_elem_t;
#define MEGCC_CACHED_BLOCKS 0
#endif

// Elements of the cache, a vector of them, and what all of a row are multiplied by.
#if MEGCC_CACHED_BITS == 8
#include "megcc_cache_row.h"
#include "simd/megcc_simd_types.h"
typedef int8_t megcc_cached_row_t;
#define MEGCC_CACHED_LOAD(p) megcc_vi_to_vf(megcc_vi8_load(p))
#define MEGCC_CACHED_F32(x) ((float)(x))
#define MEGCC_CACHED_FACTOR(row, d) megcc_cache_row_factor(row, d)
#elif MEGCC_CACHED_BITS == 16
#include "simd/megcc_vh.h"
typedef uint16_t megcc_cached_row_t;
#define MEGCC_CACHED_LOAD(p) megcc_vh_load(p)
#define MEGCC_CACHED_F32(x) megcc_f16_to_f32(x)
#define MEGCC_CACHED_FACTOR(row, d) 1.0f
#else
typedef float megcc_cached_row_t;
#define MEGCC_CACHED_LOAD(p) megcc_vf_load(p)
#define MEGCC_CACHED_F32(x) (x)
#endif

// One head of the cache, and the heads of q that share it.
typedef struct {
  megcc_attention_t a;  // without operands
  const megcc_cached_elem_t *q;
  const megcc_cached_row_t *k, *v;
  megcc_cached_elem_t *y;  // of q and y the first of these heads
  const float *bias;       // of new row 0 of the first of these heads
  const float *sinks;      // of the first of these heads, or null
  size_t bias_row, bias_head;
  size_t width;    // of a row of scores
  float *few;      // scores of few rows
  float *wide;     // rows of f16 or int8 as floats, or queries as integers
  float factor;    // of queries when they are widened, which scores are then not scaled by
  int32_t heads;   // of q
  int32_t shared;  // of q that share the head
  int32_t before;  // rows in the cache before the new ones
  int32_t window;  // rows that are seen at most; 0: all
  float cap;
} megcc_cached_t;

#if MEGCC_CACHED_BITS == 8
// The factors of a vector of rows of the cache.
MEGCC_INLINE megcc_vf megcc_cached_factors(const int8_t *row, size_t step, int32_t d) {
  float factors[MEGCC_VL];
  for (int32_t l = 0; l < MEGCC_VL; ++l, row += step) factors[l] = megcc_cache_row_factor(row, d);
  return megcc_vf_load(factors);
}
#endif

// Scores of `heads` rows by the factors of keys [lo, hi), which makes them those of the keys.
MEGCC_INLINE void megcc_cached_by_keys(const megcc_cached_t *c, float *s, int32_t lo, int32_t hi,
                                       int32_t heads) {
#if MEGCC_CACHED_BITS == 8
  const size_t row = c->a.k_row;
  const int8_t *k = c->k + (size_t)lo * row;
  int32_t j = lo;
  for (; j + MEGCC_VL <= hi; j += MEGCC_VL, k += MEGCC_VL * row) {
    const megcc_vf factors = megcc_cached_factors(k, row, c->a.d);
    for (int32_t r = 0; r < heads; ++r) {
      float *at = s + (size_t)r * c->width + (size_t)j;
      megcc_vf_store(at, megcc_vf_mul(megcc_vf_load(at), factors));
    }
  }
  for (; j < hi; ++j, k += row)
    for (int32_t r = 0; r < heads; ++r)
      s[(size_t)r * c->width + (size_t)j] *= megcc_cache_row_factor(k, c->a.d);
#else
  (void)c, (void)s, (void)lo, (void)hi, (void)heads;
#endif
}

#if MEGCC_CACHED_BITS == 8
// Exponentials [lo, hi) of a row by the factors of values, and the largest of the products.
MEGCC_INLINE float megcc_cached_by_values(const megcc_cached_t *c, float *s, int32_t lo,
                                          int32_t hi) {
  const size_t row = c->a.v_row;
  const int8_t *v = c->v + (size_t)lo * row;
  megcc_vf most = megcc_vf_zero();
  float largest;
  int32_t j = lo;
  for (; j + MEGCC_VL <= hi; j += MEGCC_VL, v += MEGCC_VL * row) {
    const megcc_vf x = megcc_vf_mul(megcc_vf_load(s + j), megcc_cached_factors(v, row, c->a.d));
    megcc_vf_store(s + j, x);
    most = megcc_vf_nanmax(most, x);
  }
  largest = megcc_vf_hmax(most);
  for (; j < hi; ++j, v += row) {
    s[j] *= megcc_cache_row_factor(v, c->a.d);
    largest = s[j] > largest || s[j] != s[j] ? s[j] : largest;
  }
  return largest;
}
#endif

#if defined(MEGCC_CACHED_F16) || MEGCC_CACHED_BITS == 16
// n elements of f16 times `factor`, as floats.
MEGCC_INLINE void megcc_cached_widen(const uint16_t *from, float *to, int32_t n, float factor) {
  const megcc_vf by = megcc_vf_dup(factor);
  int32_t i = 0;
  for (; i + MEGCC_VL <= n; i += MEGCC_VL)
    megcc_vf_store(to + i, megcc_vf_mul(megcc_vh_load(from + i), by));
  for (; i < n; ++i) to[i] = megcc_f16_to_f32(from[i]) * factor;
}
#endif

#if MEGCC_CACHED_BITS == 8
// n elements of a row of the cache, as floats.
MEGCC_INLINE void megcc_cached_widen_row(const int8_t *from, float *to, int32_t n, float factor) {
  const megcc_vf by = megcc_vf_dup(factor);
  int32_t i = 0;
  for (; i + MEGCC_VL <= n; i += MEGCC_VL)
    megcc_vf_store(to + i, megcc_vf_mul(MEGCC_CACHED_LOAD(from + i), by));
  for (; i < n; ++i) to[i] = (float)from[i] * factor;
}
#elif MEGCC_CACHED_BITS == 16
#define megcc_cached_widen_row megcc_cached_widen
#endif

// n elements of y, which are sums times k.
MEGCC_INLINE void megcc_cached_finish(float *sums, megcc_cached_elem_t *y, int32_t n, float k) {
#ifdef MEGCC_CACHED_F16
  const megcc_vf by = megcc_vf_dup(k);
  int32_t i = 0;
  for (; i + MEGCC_VL <= n; i += MEGCC_VL)
    megcc_vh_store(y + i, megcc_vf_mul(megcc_vf_load(sums + i), by));
  for (; i < n; ++i) y[i] = megcc_f32_to_f16(sums[i] * k);
#else
  (void)y;
  megcc_attention_divide(sums, n, k);
#endif
}

#if defined(MEGCC_CACHED_F16) && MEGCC_CACHED_F16 == 2 && \
    defined(__ARM_FEATURE_FP16_VECTOR_ARITHMETIC)
#include "gemm/megcc_attention_cached_fp16.h"
#elif MEGCC_CACHED_BITS == 8 && defined(MEGCC_SIMD_NEON_H)
#include "gemm/megcc_attention_cached_neon.h"
#else
#define MEGCC_CACHED_COLUMNS (4 * MEGCC_VL)  // of values whose sums are made together
#define MEGCC_CACHED_WEIGHT(p, j) (p)[j]

// n elements of q from `at` on, as scores read them.
MEGCC_INLINE const float *megcc_cached_query(const megcc_cached_t *c, size_t at, int32_t n) {
#ifdef MEGCC_CACHED_F16
  megcc_cached_widen(c->q + at, c->wide, n, c->factor);
  return c->wide;
#else
  (void)n;
  return c->q + at;
#endif
}

// By what scores of head r are multiplied, beside the scale.
MEGCC_INLINE float megcc_cached_query_factor(const megcc_cached_t *c, int32_t r) {
  (void)c, (void)r;
  return 1.0f;
}

// Exponentials [lo, hi) of a row, as products with values read them, and by what these are
// multiplied.
MEGCC_INLINE float megcc_cached_weights(const megcc_cached_t *c, float *s, int32_t lo, int32_t hi) {
#if MEGCC_CACHED_BITS == 8
  (void)megcc_cached_by_values(c, s, lo, hi);
#else
  (void)c, (void)s, (void)lo, (void)hi;
#endif
  return 1.0f;
}

// Scores: a vector, its sums, its lanes, queries, and what is done with them.
typedef megcc_vf megcc_cached_v;
typedef megcc_vf megcc_cached_a;
typedef float megcc_cached_query_t;
#define MEGCC_CACHED_LANES MEGCC_VL
#define MEGCC_CACHED_TURNS MEGCC_UNROLL(2)
#define MEGCC_CACHED_ZERO megcc_vf_zero()
#define MEGCC_CACHED_KEY(p) MEGCC_CACHED_LOAD(p)
#define MEGCC_CACHED_QUERY(p) megcc_vf_load(p)
#define MEGCC_CACHED_FMA(a, x, y) megcc_vf_fma(a, x, y)
#define MEGCC_CACHED_QUERY_F32(x) (x)

MEGCC_INLINE float megcc_cached_sum(megcc_vf a) { return megcc_vf_sum(a); }

// The sums of the lanes of four vectors.
MEGCC_INLINE void megcc_cached_sums(float *s, megcc_vf a, megcc_vf b, megcc_vf c, megcc_vf d) {
#if defined(__aarch64__) && MEGCC_VL == 4 && !defined(MEGCC_SIMD_PORTABLE) && \
    !defined(MEGCC_SIMD_SCALAR)
  vst1q_f32(s, vpaddq_f32(vpaddq_f32(a, b), vpaddq_f32(c, d)));
#else
  s[0] = megcc_vf_sum(a), s[1] = megcc_vf_sum(b);
  s[2] = megcc_vf_sum(c), s[3] = megcc_vf_sum(d);
#endif
}

// Rows of values [first, last) times the weights in rows of `s`, elements [i, i + 4 vectors).
MEGCC_INLINE void megcc_cached_values(const megcc_cached_t *c, const float *s, int32_t first,
                                      int32_t last, int32_t heads, int32_t i, float *y) {
  const size_t row = c->a.v_row, w = c->width, d = (size_t)c->a.d;
  const megcc_cached_row_t *v = c->v + (size_t)first * row + i;
  megcc_vf a0 = megcc_vf_zero(), a1 = a0, a2 = a0, a3 = a0;
  megcc_vf b0 = a0, b1 = a0, b2 = a0, b3 = a0, c0 = a0, c1 = a0, c2 = a0, c3 = a0;
  MEGCC_UNROLL(2)
  for (int32_t j = first; j < last; ++j, v += row) {
    const megcc_vf x0 = MEGCC_CACHED_LOAD(v), x1 = MEGCC_CACHED_LOAD(v + MEGCC_VL);
    const megcc_vf x2 = MEGCC_CACHED_LOAD(v + 2 * MEGCC_VL),
                   x3 = MEGCC_CACHED_LOAD(v + 3 * MEGCC_VL);
    megcc_vf p = megcc_vf_dup(s[j]);
    a0 = megcc_vf_fma(a0, x0, p), a1 = megcc_vf_fma(a1, x1, p);
    a2 = megcc_vf_fma(a2, x2, p), a3 = megcc_vf_fma(a3, x3, p);
    if (heads > 1) {
      p = megcc_vf_dup(s[w + (size_t)j]);
      b0 = megcc_vf_fma(b0, x0, p), b1 = megcc_vf_fma(b1, x1, p);
      b2 = megcc_vf_fma(b2, x2, p), b3 = megcc_vf_fma(b3, x3, p);
    }
    if (heads > 2) {
      p = megcc_vf_dup(s[2 * w + (size_t)j]);
      c0 = megcc_vf_fma(c0, x0, p), c1 = megcc_vf_fma(c1, x1, p);
      c2 = megcc_vf_fma(c2, x2, p), c3 = megcc_vf_fma(c3, x3, p);
    }
  }
  y += i;
  megcc_vf_store(y, a0), megcc_vf_store(y + MEGCC_VL, a1);
  megcc_vf_store(y + 2 * MEGCC_VL, a2), megcc_vf_store(y + 3 * MEGCC_VL, a3);
  if (heads > 1) {
    megcc_vf_store(y + d, b0), megcc_vf_store(y + d + MEGCC_VL, b1);
    megcc_vf_store(y + d + 2 * MEGCC_VL, b2), megcc_vf_store(y + d + 3 * MEGCC_VL, b3);
  }
  if (heads > 2) {
    y += 2 * d;
    megcc_vf_store(y, c0), megcc_vf_store(y + MEGCC_VL, c1);
    megcc_vf_store(y + 2 * MEGCC_VL, c2), megcc_vf_store(y + 3 * MEGCC_VL, c3);
  }
}

#endif

// Dot products of `heads` rows of q, d apart, with keys [first, last) into rows of `s`. Named sums,
// as compilers keep arrays of vectors in memory.
MEGCC_INLINE void megcc_cached_scores(const megcc_cached_t *c, const megcc_cached_query_t *q,
                                      int32_t first, int32_t last, int32_t heads, float *s) {
  const int32_t d = c->a.d, whole = d / MEGCC_CACHED_LANES * MEGCC_CACHED_LANES;
  const size_t row = c->a.k_row, w = c->width;
  const megcc_cached_query_t *q1 = q + (heads > 1 ? d : 0), *q2 = q + (heads > 2 ? 2 * d : 0);
  int32_t j = first;
  for (; j + 4 <= last; j += 4) {
    const megcc_cached_row_t *k0 = c->k + (size_t)j * row, *k1 = k0 + row, *k2 = k1 + row,
                             *k3 = k2 + row;
    megcc_cached_a a0 = MEGCC_CACHED_ZERO, a1 = a0, a2 = a0, a3 = a0;
    megcc_cached_a b0 = a0, b1 = a0, b2 = a0, b3 = a0, c0 = a0, c1 = a0, c2 = a0, c3 = a0;
    MEGCC_CACHED_TURNS
    for (int32_t i = 0; i < whole; i += MEGCC_CACHED_LANES) {
      const megcc_cached_v x0 = MEGCC_CACHED_KEY(k0 + i), x1 = MEGCC_CACHED_KEY(k1 + i);
      const megcc_cached_v x2 = MEGCC_CACHED_KEY(k2 + i), x3 = MEGCC_CACHED_KEY(k3 + i);
      megcc_cached_v y = MEGCC_CACHED_QUERY(q + i);
      a0 = MEGCC_CACHED_FMA(a0, x0, y), a1 = MEGCC_CACHED_FMA(a1, x1, y);
      a2 = MEGCC_CACHED_FMA(a2, x2, y), a3 = MEGCC_CACHED_FMA(a3, x3, y);
      if (heads > 1) {
        y = MEGCC_CACHED_QUERY(q1 + i);
        b0 = MEGCC_CACHED_FMA(b0, x0, y), b1 = MEGCC_CACHED_FMA(b1, x1, y);
        b2 = MEGCC_CACHED_FMA(b2, x2, y), b3 = MEGCC_CACHED_FMA(b3, x3, y);
      }
      if (heads > 2) {
        y = MEGCC_CACHED_QUERY(q2 + i);
        c0 = MEGCC_CACHED_FMA(c0, x0, y), c1 = MEGCC_CACHED_FMA(c1, x1, y);
        c2 = MEGCC_CACHED_FMA(c2, x2, y), c3 = MEGCC_CACHED_FMA(c3, x3, y);
      }
    }
    megcc_cached_sums(s + j, a0, a1, a2, a3);
    if (heads > 1) megcc_cached_sums(s + w + j, b0, b1, b2, b3);
    if (heads > 2) megcc_cached_sums(s + 2 * w + j, c0, c1, c2, c3);
  }
  for (; j < last; ++j) {
    const megcc_cached_row_t *k0 = c->k + (size_t)j * row;
    megcc_cached_a a0 = MEGCC_CACHED_ZERO, b0 = a0, c0 = a0;
    for (int32_t i = 0; i < whole; i += MEGCC_CACHED_LANES) {
      const megcc_cached_v x0 = MEGCC_CACHED_KEY(k0 + i);
      a0 = MEGCC_CACHED_FMA(a0, x0, MEGCC_CACHED_QUERY(q + i));
      if (heads > 1) b0 = MEGCC_CACHED_FMA(b0, x0, MEGCC_CACHED_QUERY(q1 + i));
      if (heads > 2) c0 = MEGCC_CACHED_FMA(c0, x0, MEGCC_CACHED_QUERY(q2 + i));
    }
    s[j] = megcc_cached_sum(a0);
    if (heads > 1) s[w + (size_t)j] = megcc_cached_sum(b0);
    if (heads > 2) s[2 * w + (size_t)j] = megcc_cached_sum(c0);
  }
  if (whole == d) return;
  for (j = first; j < last; ++j) {
    const megcc_cached_row_t *k0 = c->k + (size_t)j * row;
    for (int32_t r = 0; r < heads; ++r) {
      float sum = s[(size_t)r * w + (size_t)j];
      for (int32_t i = whole; i < d; ++i)
        sum += MEGCC_CACHED_F32(k0[i]) * MEGCC_CACHED_QUERY_F32(q[r * d + i]);
      s[(size_t)r * w + (size_t)j] = sum;
    }
  }
}

// Exponentials of scores [lo, hi) of new row `at` of a head in their place, and one over their sum.
// Scores are products by `scale`.
MEGCC_INLINE float megcc_cached_softmax(const megcc_cached_t *c, float *s, int32_t lo, int32_t hi,
                                        float scale, int32_t head, int32_t at) {
  const float *bias =
      MASK ? c->bias + (size_t)head * c->bias_head + (size_t)at * c->bias_row + lo : NULL;
  if (SOFTCAP) {
    const megcc_vf in = megcc_vf_dup(scale / c->cap), out = megcc_vf_dup(c->cap);
    for (int32_t i = lo; i < hi; i += MEGCC_VL) {
      const int32_t left = hi - i < MEGCC_VL ? hi - i : MEGCC_VL;
      const megcc_vf t = megcc_vf_tanh(megcc_vf_mul(megcc_vf_load_n(s + i, left), in));
      megcc_vf_store_n(s + i, megcc_vf_mul(t, out), left);
    }
    scale = 1.0f;
  }
  return megcc_attention_softmax(s + lo, bias, hi - lo, scale,
                                 c->sinks == NULL ? NULL : c->sinks + head);
}

// The first row of the cache that new row i sees, and the end of what it sees.
MEGCC_INLINE int32_t megcc_cached_end(const megcc_cached_t *c, int32_t i) {
  return c->before + i + 1;
}

MEGCC_INLINE int32_t megcc_cached_first(const megcc_cached_t *c, int32_t i) {
  const int32_t end = megcc_cached_end(c, i);
  return c->window > 0 && end > c->window ? end - c->window : 0;
}

// New row i of `heads` heads from `head` on.
MEGCC_INLINE void megcc_cached_few_heads(const megcc_cached_t *c, int32_t i, int32_t head,
                                         int32_t heads) {
  const int32_t lo = megcc_cached_first(c, i), hi = megcc_cached_end(c, i), d = c->a.d;
  const size_t at = (size_t)i * c->a.q_row + (size_t)head * (size_t)d;
#ifdef MEGCC_CACHED_F16
  float *y = c->wide + MEGCC_CACHED_HEADS * d;
#else
  float *y = c->y + at;
#endif
  float *s = c->few;
  float inverse[MEGCC_CACHED_HEADS];
  int32_t e = 0;
  megcc_cached_scores(c, megcc_cached_query(c, at, heads * d), lo, hi, heads, s);
  megcc_cached_by_keys(c, s, lo, hi, heads);
  for (int32_t r = 0; r < heads; ++r) {
    float *row = s + (size_t)r * c->width;
    const float scale = c->a.scale * megcc_cached_query_factor(c, r);
    inverse[r] = megcc_cached_softmax(c, row, lo, hi, scale, head + r, i);
    inverse[r] *= megcc_cached_weights(c, row, lo, hi);
  }
  for (; e + MEGCC_CACHED_COLUMNS <= d; e += MEGCC_CACHED_COLUMNS)
    megcc_cached_values(c, s, lo, hi, heads, e, y);
  for (int32_t r = 0; r < heads; ++r) {
    float *to = y + (size_t)r * (size_t)d;
    const float *p = s + (size_t)r * c->width;
    int32_t k = e;
    for (; k + MEGCC_VL <= d; k += MEGCC_VL) {
      megcc_vf sum = megcc_vf_zero();
      for (int32_t j = lo; j < hi; ++j) {
        const megcc_vf x = MEGCC_CACHED_LOAD(c->v + (size_t)j * c->a.v_row + (size_t)k);
        sum = megcc_vf_fma(sum, x, megcc_vf_dup(MEGCC_CACHED_WEIGHT(p, j)));
      }
      megcc_vf_store(to + k, sum);
    }
    for (; k < d; ++k) {
      const megcc_cached_row_t *v = c->v + k;
      float sum = 0.0f;
      for (int32_t j = lo; j < hi; ++j)
        sum += MEGCC_CACHED_WEIGHT(p, j) * MEGCC_CACHED_F32(v[(size_t)j * c->a.v_row]);
      to[k] = sum;
    }
    megcc_cached_finish(to, c->y + at + (size_t)r * (size_t)d, d, inverse[r]);
  }
}

MEGCC_HOT static void megcc_cached_few(const megcc_cached_t *c, int32_t count) {
  for (int32_t i = 0; i < count; ++i) {
    int32_t head = 0;
    for (; head + 3 <= c->shared; head += 3) megcc_cached_few_heads(c, i, head, 3);
    if (c->shared - head == 2) megcc_cached_few_heads(c, i, head, 2);
    if (c->shared - head == 1) megcc_cached_few_heads(c, i, head, 1);
  }
}

// The `filled` rows of a head of the cache, in panels.
MEGCC_INLINE void megcc_cached_pack(const megcc_cached_t *c, int32_t filled) {
  const int32_t d = c->a.d;
#if MEGCC_CACHED_BITS != 32
  float *rows = c->wide + (MEGCC_CACHED_BLOCKS * d);
  float *to = c->a.values;
  const size_t row = c->a.k_row;
  for (int32_t j = 0; j < filled; j += NR) {
    const int32_t count = filled - j < NR ? filled - j : NR;
    for (int32_t r = 0; r < count; ++r) {
      const megcc_cached_row_t *from = c->k + (size_t)(j + r) * row;
      megcc_cached_widen_row(from, rows + r * d, d, MEGCC_CACHED_FACTOR(from, d));
    }
    megcc_gemm_pack_transposed(rows, (size_t)d, d, count, c->a.keys + (size_t)j * (size_t)d);
  }
  for (int32_t p = 0; p < d; p += NR) {
    const int32_t lanes = d - p < NR ? d - p : NR;
    const megcc_cached_row_t *from = c->v;
    for (int32_t j = 0; j < filled; ++j, from += row, to += NR) {
      for (int32_t l = lanes; l < NR; ++l) to[l] = 0.0f;
      megcc_cached_widen_row(from + p, to, lanes, MEGCC_CACHED_FACTOR(from, d));
    }
  }
#else
  megcc_gemm_pack_transposed(c->k, (size_t)d, d, filled, c->a.keys);
  megcc_gemm_pack_columns(c->v, (size_t)d, filled, d, c->a.values);
#endif
}

// New rows [first, first + count) of one head of q, with keys and values in panels of `n` rows.
MEGCC_INLINE void megcc_cached_block(const megcc_cached_t *c, int32_t head, int32_t first,
                                     int32_t count, int32_t n) {
  const megcc_attention_t *a = &c->a;
  const int32_t end = megcc_cached_end(c, first + count - 1), d = a->d;
  const int32_t columns = (end + NR - 1) / NR * NR;
  const size_t at = (size_t)first * a->q_row + (size_t)head * (size_t)d;
  megcc_cached_elem_t *to = c->y + at;
#ifdef MEGCC_CACHED_F16
  float *y = c->wide + ATTENTION_BLOCK * d;
  const size_t y_row = (size_t)d;
#else
  float *y = to;
  const size_t y_row = a->y_row;
#endif
  float inverse[ATTENTION_BLOCK];
  megcc_gemm_t g = megcc_attention_product(a, d, a->keys, a->scores, c->width);
  for (int32_t r = 0; r < count; ++r) {
    const megcc_cached_elem_t *q = c->q + at + (size_t)r * a->q_row;
#ifdef MEGCC_CACHED_F16
    megcc_cached_widen(q, c->wide + r * d, d, c->factor);
    a->table[r] = c->wide + r * d;
#else
    a->table[r] = q;
#endif
  }
  megcc_gemm_block(&g, count, 0, columns);
  for (int32_t r = 0; r < count; ++r) {
    const int32_t lo = megcc_cached_first(c, first + r), hi = megcc_cached_end(c, first + r);
    float *s = a->scores + (size_t)r * c->width;
    inverse[r] = megcc_cached_softmax(c, s, lo, hi, c->a.scale, head, first + r);
    for (int32_t j = 0; j < lo; ++j) s[j] = 0.0f;
    for (int32_t j = hi; j < end; ++j) s[j] = 0.0f;
    a->table[r] = s;
  }
  g = megcc_attention_product(a, end, a->values, y, y_row);
  g.panel = (size_t)n * NR;
  megcc_gemm_block(&g, count, 0, d);
  for (int32_t r = 0; r < count; ++r)
    megcc_cached_finish(y + (size_t)r * y_row, to + (size_t)r * a->y_row, d, inverse[r]);
}

// Units [begin, end) of b * g * ceil(m / ATTENTION_BLOCK), those of a head together.
MEGCC_INLINE void megcc_attention_cached(void *const *ptr, const int32_t *attr, void *workspace,
                                         int32_t begin, int32_t end) {
  const int64_t *before = ptr[3];
  const int32_t m = attr[ATTENTION_CACHED_M], n = attr[ATTENTION_CACHED_N];
  const int32_t groups = attr[ATTENTION_CACHED_G], d = attr[ATTENTION_CACHED_D];
  const int32_t units = (m + ATTENTION_BLOCK - 1) / ATTENTION_BLOCK;
  const int few = m <= MEGCC_ATTENTION_FEW;
  const int32_t columns = attr[ATTENTION_CACHED_BIAS_N], room = MASK && columns < n ? columns : n;
  const size_t width = (size_t)((n + NR - 1) / NR) * NR;
  const size_t row = (size_t)attr[ATTENTION_CACHED_ROW];
  int32_t packed = -1;
  megcc_cached_t c;
  if (room < m) return;
  c.heads = attr[ATTENTION_CACHED_H];
  c.shared = c.heads / groups;
  c.window = attr[ATTENTION_CACHED_WINDOW];
  c.cap = megcc_attr_f32(attr[ATTENTION_CACHED_CAP]);
  c.width = width + NR;
#ifdef MEGCC_CACHED_F16
  c.factor = megcc_attr_f32(attr[ATTENTION_CACHED_SCALE]);
  c.a.scale = 1.0f;
#else
  c.factor = 1.0f;
  c.a.scale = megcc_attr_f32(attr[ATTENTION_CACHED_SCALE]);
#endif
  c.a.q = c.a.k = c.a.v = c.a.mask = NULL;
  c.a.y = NULL;
  c.a.n = n;
  c.a.d = c.a.e = d;
  c.a.k_row = c.a.v_row = row;
  c.a.q_row = c.a.y_row = (size_t)c.heads * (size_t)d;
  c.a.mask_row = 0;
  c.bias_row = (size_t)columns;
  c.bias_head = attr[ATTENTION_CACHED_BIAS_H] ? (size_t)m * c.bias_row : 0;
  c.a.table = workspace;
  c.few = (float *)(void *)((char *)workspace + MEGCC_GEMM_ENTRY * ATTENTION_BLOCK);
  c.a.scores = few ? c.few : c.few + 4 * c.width;
  c.a.keys = few ? c.few : c.a.scores + ATTENTION_BLOCK * c.width;
  c.a.values = few ? c.few : c.a.keys + width * (size_t)d;
  c.wide = few ? c.few + 4 * c.width : c.a.values + (size_t)((d + NR - 1) / NR) * NR * (size_t)n;
  for (int32_t unit = begin; unit < end; ++unit) {
    const int32_t head = unit / units, first = unit % units * ATTENTION_BLOCK;
    const int32_t count = m - first < ATTENTION_BLOCK ? m - first : ATTENTION_BLOCK;
    const int32_t batch = head / groups, group = head % groups;
    const int64_t given = before[batch];
    const size_t rows = (size_t)batch * (size_t)m * c.a.q_row;
    const size_t own = rows + (size_t)group * (size_t)c.shared * (size_t)d;
    const int32_t own_head = group * c.shared;
    c.before = given < 0 ? 0 : given > room - m ? room - m : (int32_t)given;
    c.bias = NULL;
    if (MASK) {
      const size_t heads = attr[ATTENTION_CACHED_BIAS_H] ? (size_t)c.heads : 1;
      const size_t from = attr[ATTENTION_CACHED_BIAS_B] ? (size_t)batch * heads : 0;
      c.bias = (const float *)ptr[4] + from * (size_t)m * c.bias_row;
      c.bias += (size_t)own_head * c.bias_head;
    }
    c.sinks = attr[ATTENTION_CACHED_SINKS] ? (const float *)ptr[4 + MASK] + own_head : NULL;
    c.q = (const megcc_cached_elem_t *)ptr[0] + own;
    c.y = (megcc_cached_elem_t *)ptr[4 + MASK + attr[ATTENTION_CACHED_SINKS]] + own;
    c.k = (const megcc_cached_row_t *)ptr[1] + (size_t)head * (size_t)n * row;
    c.v = (const megcc_cached_row_t *)ptr[2] + (size_t)head * (size_t)n * row;
    if (few) {
      megcc_cached_few(&c, count);
      continue;
    }
    const int32_t filled = c.before + m;
    if (packed != head) {
      megcc_cached_pack(&c, filled);
      packed = head;
    }
    for (int32_t r = 0; r < c.shared; ++r) megcc_cached_block(&c, r, first, count, filled);
  }
}

#endif  // MEGCC_ATTENTION_CACHED_H
