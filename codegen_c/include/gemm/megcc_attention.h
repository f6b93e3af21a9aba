// The body of the attention kernels: scores, their softmax and the products with v, a block of rows
// at a time.
//
// Workspace: addresses of a block's rows (8 bytes each, whatever the machine), panels of k, panels
// of v, and a block's scores. Exponentials are divided by their sum as elements of y, which are
// fewer.
#ifndef MEGCC_ATTENTION_H
#define MEGCC_ATTENTION_H

#define ACT 0
#define RESIDUAL 0
#define BIAS 0

#include "gemm/megcc_gemm.h"
#include "gemm/megcc_gemm_pack.h"
#include "gemm/megcc_matmul_few.h"
#include "math/megcc_math.h"
#include "math/megcc_vmath.h"
#include "op/attention.h"

#ifndef MASK
#define MASK 0
#endif
#ifndef TRANS_K
#define TRANS_K 1
#endif

// Up to how many rows k and v are read where they are.
#define MEGCC_ATTENTION_FEW 2

// What a head has, and where its block's scores go.
typedef struct {
  const megcc_elem_t *q, *k, *v, *mask;
  megcc_elem_t *y;
  size_t q_row, k_row, v_row, mask_row, y_row;
  int32_t n, d, e;
  float scale;
  const megcc_elem_t **table;
  megcc_elem_t *keys, *values, *scores;
} megcc_attention_t;

// A tensor's elements of one head, with the strides of batch and head at `at`.
MEGCC_INLINE ptrdiff_t megcc_attention_at(const int32_t *attr, int32_t at, int32_t batch,
                                          int32_t head) {
  return (ptrdiff_t)batch * attr[at] + (ptrdiff_t)head * attr[at + 1];
}

// Exponentials of a row of scores in its place, and one over their sum. `s` has whole vectors. If
// there is a `sink`, it is one more score, which has no place.
MEGCC_HOT static float megcc_attention_softmax(float *s, const float *mask, int32_t n, float scale,
                                               const float *sink) {
  const megcc_vf k = megcc_vf_dup(scale);
  megcc_vf shift, sum = megcc_vf_zero(), m = megcc_vf_dup(-MEGCC_INFINITY);
  float most, total;
  int32_t i = 0;
  for (; i + MEGCC_VL <= n; i += MEGCC_VL) {
    const megcc_vf x = megcc_vf_mul(megcc_vf_load(s + i), k);
    const megcc_vf y = MASK ? megcc_vf_add(x, megcc_vf_load(mask + i)) : x;
    megcc_vf_store(s + i, y);
    m = megcc_vf_max(m, y);
  }
  most = megcc_vf_hmax(m);
  for (; i < n; ++i) {
    s[i] = MASK ? s[i] * scale + mask[i] : s[i] * scale;
    most = s[i] > most ? s[i] : most;
  }
  if (sink != NULL && *sink > most) most = *sink;
  shift = megcc_vf_dup(most);
  for (i = 0; i + MEGCC_VL <= n; i += MEGCC_VL) {
    const megcc_vf e = megcc_vf_exp(megcc_vf_sub(megcc_vf_load(s + i), shift));
    megcc_vf_store(s + i, e);
    sum = megcc_vf_add(sum, e);
  }
  total = megcc_vf_sum(sum);
  if (i < n) {
    megcc_vf_store(s + i, megcc_vf_exp(megcc_vf_sub(megcc_vf_load(s + i), shift)));
    for (; i < n; ++i) total += s[i];
  }
  if (sink != NULL) total += megcc_expf(*sink - most);
  return 1.0f / total;
}

MEGCC_INLINE void megcc_attention_divide(float *y, int32_t n, float k) {
  const megcc_vf by = megcc_vf_dup(k);
  int32_t i = 0;
  for (; i + MEGCC_VL <= n; i += MEGCC_VL)
    megcc_vf_store(y + i, megcc_vf_mul(megcc_vf_load(y + i), by));
  for (; i < n; ++i) y[i] *= k;
}

// The table's rows by panels of that depth, to rows `ld` apart.
MEGCC_INLINE megcc_gemm_t megcc_attention_product(const megcc_attention_t *a, int32_t depth,
                                                  const megcc_elem_t *panels, megcc_elem_t *dst,
                                                  size_t ld) {
  megcc_gemm_t g;
  g.a = a->table;
  g.a_stride = g.a_skip = 0;
  g.segments = 1;
  g.length = (size_t)depth;
  g.panel = (size_t)depth * NR;
  g.b = panels;
  g.bias = g.residual = NULL;
  g.dst = dst;
  g.ld = ld;
  g.act_a = g.act_b = 0.0f;
  return g;
}

// Rows [first, first + count) of a head, with keys and values in panels.
MEGCC_INLINE void megcc_attention_block(const megcc_attention_t *a, int32_t first, int32_t count) {
  const int32_t width = (a->n + NR - 1) / NR * NR;
  megcc_elem_t *y = a->y + (size_t)first * a->y_row;
  float inverse[ATTENTION_BLOCK];
  megcc_gemm_t g = megcc_attention_product(a, a->d, a->keys, a->scores, (size_t)width);
  for (int32_t r = 0; r < count; ++r) a->table[r] = a->q + (size_t)(first + r) * a->q_row;
  megcc_gemm_block(&g, count, 0, width);
  for (int32_t r = 0; r < count; ++r) {
    megcc_elem_t *s = a->scores + (size_t)r * (size_t)width;
    const megcc_elem_t *mask = MASK ? a->mask + (size_t)(first + r) * a->mask_row : NULL;
    inverse[r] = megcc_attention_softmax(s, mask, a->n, a->scale, NULL);
    a->table[r] = s;
  }
  g = megcc_attention_product(a, a->n, a->values, y, a->y_row);
  megcc_gemm_block(&g, count, 0, a->e);
  for (int32_t r = 0; r < count; ++r)
    megcc_attention_divide(y + (size_t)r * a->y_row, a->e, inverse[r]);
}

// The same of few rows, with keys and values where they are.
MEGCC_INLINE void megcc_attention_few(const megcc_attention_t *a, int32_t first, int32_t count) {
  megcc_few_t f;
  f.bias = f.residual = NULL;
  f.act_a = f.act_b = megcc_vf_zero();
  for (int32_t r = first; r < first + count; ++r) {
    megcc_elem_t *y = a->y + (size_t)r * a->y_row;
    float inverse;
    f.lhs = a->q + (size_t)r * a->q_row;
    f.rhs = a->k;
    f.ld = a->k_row;
    f.k = a->d;
    f.dst = a->scores;
    if (TRANS_K) {
      megcc_few_row_transposed(&f, 0, a->n);
    } else {
      megcc_few_row_plain(&f, 0, a->n);
    }
    inverse = megcc_attention_softmax(a->scores, MASK ? a->mask + (size_t)r * a->mask_row : NULL,
                                      a->n, a->scale, NULL);
    f.lhs = a->scores;
    f.rhs = a->v;
    f.ld = a->v_row;
    f.k = a->n;
    f.dst = y;
    megcc_few_row_plain(&f, 0, a->e);
    megcc_attention_divide(y, a->e, inverse);
  }
}

// Units [begin, end) of b * h * ceil(m / ATTENTION_BLOCK), those of a head together.
MEGCC_INLINE void megcc_attention(void *const *ptr, const int32_t *attr, void *workspace,
                                  int32_t begin, int32_t end) {
  const int32_t m = attr[ATTENTION_M], heads = attr[ATTENTION_H];
  const int32_t units = (m + ATTENTION_BLOCK - 1) / ATTENTION_BLOCK;
  const int few = m <= MEGCC_ATTENTION_FEW;
  megcc_attention_t a;
  size_t width;
  int32_t packed = -1;
  a.n = attr[ATTENTION_N];
  a.d = attr[ATTENTION_D];
  a.e = attr[ATTENTION_E];
  a.scale = megcc_attr_f32(attr[ATTENTION_SCALE]);
  a.q_row = (size_t)attr[ATTENTION_Q_ROW];
  a.k_row = (size_t)attr[ATTENTION_K_ROW];
  a.v_row = (size_t)attr[ATTENTION_V_ROW];
  a.mask_row = (size_t)attr[ATTENTION_MASK_M];
  a.y_row = (size_t)attr[ATTENTION_Y_ROW];
  width = (size_t)((a.n + NR - 1) / NR) * NR;
  a.table = workspace;
  a.keys = (megcc_elem_t *)(void *)((char *)workspace + MEGCC_GEMM_ENTRY * ATTENTION_BLOCK);
  a.values = a.keys + width * (size_t)a.d;
  a.scores = few ? a.keys : a.values + (size_t)((a.e + NR - 1) / NR) * NR * (size_t)a.n;
  for (int32_t unit = begin; unit < end; ++unit) {
    const int32_t head = unit / units, first = unit % units * ATTENTION_BLOCK;
    const int32_t count = m - first < ATTENTION_BLOCK ? m - first : ATTENTION_BLOCK;
    const int32_t b = head / heads, h = head % heads;
    a.q = (const megcc_elem_t *)ptr[0] + megcc_attention_at(attr, ATTENTION_Q_B, b, h);
    a.k = (const megcc_elem_t *)ptr[1] + megcc_attention_at(attr, ATTENTION_K_B, b, h);
    a.v = (const megcc_elem_t *)ptr[2] + megcc_attention_at(attr, ATTENTION_V_B, b, h);
    a.mask = NULL;
    if (MASK)
      a.mask = (const megcc_elem_t *)ptr[3] + megcc_attention_at(attr, ATTENTION_MASK_B, b, h);
    a.y = (megcc_elem_t *)ptr[3 + MASK] + megcc_attention_at(attr, ATTENTION_Y_B, b, h);
    if (a.n == 0) {  // as products of no terms
      for (int32_t r = first; r < first + count; ++r)
        for (int32_t c = 0; c < a.e; ++c) a.y[(size_t)r * a.y_row + (size_t)c] = 0.0f;
    } else if (few) {
      megcc_attention_few(&a, first, count);
    } else {
      if (packed != head) {
        if (TRANS_K) {
          megcc_gemm_pack_transposed(a.k, a.k_row, a.d, a.n, a.keys);
        } else {
          megcc_gemm_pack_columns(a.k, a.k_row, a.d, a.n, a.keys);
        }
        megcc_gemm_pack_columns(a.v, a.v_row, a.n, a.e, a.values);
        packed = head;
      }
      megcc_attention_block(&a, first, count);
    }
  }
}

#endif  // MEGCC_ATTENTION_H
