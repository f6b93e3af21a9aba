// y[r][n] = act(bias[n] + sum_k x[r][k] * w[k][n] + residual[r][n]) by one level of Strassen's
// product in Winograd's variant: seven products of halves and fifteen additions, in place of eight
// products (Winograd, "On multiplication of 2 x 2 matrices", 1971; numbered as in Boyer, Dumas,
// Pernet, Zhou, "Memory efficient scheduling of Strassen-Winograd's matrix multiplication
// algorithm", 2009).
//
// Rows are taken in blocks. A block is split in two by rows, K and N are split in two by columns:
//   sums      S1 = X21 + X22, S2 = S1 - X11, S3 = X11 - X21, S4 = X12 - S2, once per block
//   products  P1 = X11 W11, P2 = X12 W21, P3 = S4 W22, P4 = X22 T4, P5 = S1 T1, P6 = S2 T2,
//             P7 = S3 T3 (megcc_gemm.h), COLS columns of each half of N at a time
//   results   Y11 = P1 + P2, Y12 = P1 + P6 + P5 + P3, Y21 = P1 + P6 + P7 + P4,
//             Y22 = P1 + P6 + P7 + P5, then the residual and the activation, in one pass
// The seven matrices of weights are made at compile time (packing.py, strassen_panels). P2, P4 and
// P5 begin with the bias: each half of Y gets its bias once. Where a block has an odd number of
// rows, the second half ends with a row of zeros that is not stored.
//
// A unit of work is a block of rows by COLS columns of each half of N. The sums of a block are
// computed once for all units of it in a range.
//
// Workspace: three pointers for each row of half a block, zeros, the sums of a block, and the
// products for COLS columns.
//
// The including kernel defines MEGCC_STRASSEN_COLS, NR, ACT, RESIDUAL and BIAS. K and N are
// multiples of 4 * NR, COLS is one of 2 * NR: each half is whole panels and pairs of vectors.
#ifndef MEGCC_STRASSEN_H
#define MEGCC_STRASSEN_H

#define MEGCC_PLAIN_BIAS 1
#include "gemm/megcc_gemm_plain.h"

#define MEGCC_STRASSEN_BLOCK 96  // rows of a block at most: whole tiles in each half
#define MEGCC_STRASSEN_PRODUCTS 7
#define MEGCC_STRASSEN_SUMS 4

typedef struct {
  const float *x;
  int32_t rows, batch;  // all rows, those of a batch
  ptrdiff_t stride;     // floats from batch to batch
  int32_t k, n;
  const float *weights, *bias, *residual;  // read where the kernel has them
  float *y;
  float act_a, act_b;
} megcc_strassen_t;

// The operands of a product: its rows, the halves or sums to skip in them, the half of the bias.
typedef struct {
  uint8_t rows, skip, bias;
} megcc_strassen_product_t;

enum { MEGCC_STRASSEN_UPPER, MEGCC_STRASSEN_LOWER, MEGCC_STRASSEN_SUM };
enum { MEGCC_STRASSEN_LEFT, MEGCC_STRASSEN_RIGHT, MEGCC_STRASSEN_NONE };

static const megcc_strassen_product_t megcc_strassen_products[MEGCC_STRASSEN_PRODUCTS] = {
    {MEGCC_STRASSEN_UPPER, 0, MEGCC_STRASSEN_NONE},  // X11 W11
    {MEGCC_STRASSEN_UPPER, 1, MEGCC_STRASSEN_LEFT},  // X12 W21
    {MEGCC_STRASSEN_SUM, 3, MEGCC_STRASSEN_NONE},    // S4 W22
    {MEGCC_STRASSEN_LOWER, 1, MEGCC_STRASSEN_LEFT},  // X22 T4
    {MEGCC_STRASSEN_SUM, 0, MEGCC_STRASSEN_RIGHT},   // S1 T1
    {MEGCC_STRASSEN_SUM, 1, MEGCC_STRASSEN_NONE},    // S2 T2
    {MEGCC_STRASSEN_SUM, 2, MEGCC_STRASSEN_NONE},    // S3 T3
};

// S1 to S4 of a row of each half, one behind the other.
MEGCC_HOT static void megcc_strassen_sums(const float *upper, const float *lower, size_t half,
                                          float *sums) {
  const float *upper2 = upper + half, *lower2 = lower + half, *const end = upper2;
  float *s2 = sums + half, *s3 = s2 + half, *s4 = s3 + half;
  while (upper != end) {
    const megcc_vf2 x11 = megcc_vf2_load_move(&upper), x12 = megcc_vf2_load_move(&upper2);
    const megcc_vf2 x21 = megcc_vf2_load_move(&lower), x22 = megcc_vf2_load_move(&lower2);
    const megcc_vf2 first = megcc_vf2_add(x21, x22), second = megcc_vf2_sub(first, x11);
    megcc_vf2_store_move(&sums, first);
    megcc_vf2_store_move(&s2, second);
    megcc_vf2_store_move(&s3, megcc_vf2_sub(x11, x21));
    megcc_vf2_store_move(&s4, megcc_vf2_sub(x12, second));
  }
}

// Stores `sum` with residual and activation; the pointers move on.
#define MEGCC_STRASSEN_STORE(y, sum, residual)                                   \
  do {                                                                           \
    megcc_vf2 out_ = sum;                                                        \
    MEGCC_EPILOGUE_VF(out_.a, megcc_vf_load(residual), act_a, act_b);            \
    MEGCC_EPILOGUE_VF(out_.b, megcc_vf_load(residual + MEGCC_VL), act_a, act_b); \
    megcc_vf2_store_move(&(y), out_);                                            \
    if (RESIDUAL) (residual) += 2 * MEGCC_VL;                                    \
  } while (0)

// Results of `rows` rows and `cols` columns of each half, from element `at` of Y on, and `below`
// elements further, where there is a lower half.
MEGCC_INLINE void megcc_strassen_results(const megcc_strassen_t *s, const float *products,
                                         int32_t rows, int32_t cols, size_t at, size_t below,
                                         int is_lower) {
  const megcc_vf act_a = megcc_vf_dup(s->act_a), act_b = megcc_vf_dup(s->act_b);
  const size_t right = (size_t)s->n / 2;
  (void)act_a, (void)act_b;
  for (; rows > 0; --rows, at += (size_t)s->n) {
    const float *const end = products + cols;
    const float *m1 = products, *m2 = m1 + MEGCC_STRASSEN_COLS, *m3 = m2 + MEGCC_STRASSEN_COLS;
    const float *m4 = m3 + MEGCC_STRASSEN_COLS, *m5 = m4 + MEGCC_STRASSEN_COLS;
    const float *m6 = m5 + MEGCC_STRASSEN_COLS, *m7 = m6 + MEGCC_STRASSEN_COLS;
    const float *r11 = RESIDUAL ? s->residual + at : NULL, *r12 = RESIDUAL ? r11 + right : NULL;
    const float *r21 = RESIDUAL ? r11 + below : NULL, *r22 = RESIDUAL ? r12 + below : NULL;
    float *y11 = s->y + at, *y12 = y11 + right, *y21 = y11 + below, *y22 = y12 + below;
    (void)r11, (void)r12, (void)r21, (void)r22;
    while (m1 != end) {
      const megcc_vf2 p1 = megcc_vf2_load_move(&m1), p5 = megcc_vf2_load_move(&m5);
      const megcc_vf2 u2 = megcc_vf2_add(p1, megcc_vf2_load_move(&m6));
      const megcc_vf2 u4 = megcc_vf2_add(u2, p5);
      MEGCC_STRASSEN_STORE(y11, megcc_vf2_add(p1, megcc_vf2_load_move(&m2)), r11);
      MEGCC_STRASSEN_STORE(y12, megcc_vf2_add(u4, megcc_vf2_load_move(&m3)), r12);
      if (is_lower) {
        const megcc_vf2 u3 = megcc_vf2_add(u2, megcc_vf2_load_move(&m7));
        MEGCC_STRASSEN_STORE(y21, megcc_vf2_add(u3, megcc_vf2_load_move(&m4)), r21);
        MEGCC_STRASSEN_STORE(y22, megcc_vf2_add(u3, p5), r22);
      }
    }
    products += MEGCC_STRASSEN_PRODUCTS * MEGCC_STRASSEN_COLS;
  }
}

// Rows of a block: at most MEGCC_STRASSEN_BLOCK, whole tiles in each half, all blocks equal. There
// are as many as ceil(rows / MEGCC_STRASSEN_BLOCK).
MEGCC_INLINE int32_t megcc_strassen_block_rows(int32_t rows) {
  const int32_t blocks = (rows + MEGCC_STRASSEN_BLOCK - 1) / MEGCC_STRASSEN_BLOCK;
  const int32_t block = (rows + blocks - 1) / blocks, tiles = 2 * MEGCC_GEMM_ROWS;
  return (block + tiles - 1) / tiles * tiles;
}

MEGCC_INLINE const float *megcc_strassen_row(const megcc_strassen_t *s, int32_t row) {
  return s->x + (ptrdiff_t)(row / s->batch) * s->stride + (size_t)(row % s->batch) * (size_t)s->k;
}

// Units [begin, end) of blocks of rows by MEGCC_STRASSEN_COLS columns of each half.
MEGCC_INLINE void megcc_strassen(const megcc_strassen_t *s, void *workspace, int32_t begin,
                                 int32_t end) {
  const size_t half_k = (size_t)s->k / 2, half_n = (size_t)s->n / 2;
  const int32_t units = (s->n / 2 + MEGCC_STRASSEN_COLS - 1) / MEGCC_STRASSEN_COLS;
  const int32_t zero_count = s->k < MEGCC_STRASSEN_COLS ? MEGCC_STRASSEN_COLS : s->k;
  const float **tables[3];
  float *zeros, *sums, *products;
  int32_t block, most, done = -1, count = 0, upper = 0;
  megcc_gemm_t g;
  if (begin >= end) return;
  block = megcc_strassen_block_rows(s->rows);
  most = ((block < s->rows ? block : s->rows) + 1) / 2;
  for (int t = 0; t < 3; ++t) {
    tables[t] = (const float **)(void *)((char *)workspace + (size_t)(t * most) * MEGCC_GEMM_ENTRY);
  }
  zeros = (float *)(void *)((char *)workspace + (size_t)(3 * most) * MEGCC_GEMM_ENTRY);
  sums = zeros + zero_count;
  products = sums + (size_t)most * MEGCC_STRASSEN_SUMS * half_k;
  for (int32_t i = 0; i < zero_count; ++i) zeros[i] = 0.0f;
  g.a_stride = 0;
  g.segments = 1;
  g.length = half_k;
  g.panel = half_k * NR;
  g.residual = NULL;
  g.ld = MEGCC_STRASSEN_PRODUCTS * MEGCC_STRASSEN_COLS;
  g.act_a = g.act_b = 0.0f;
  for (int32_t unit = begin; unit < end; ++unit) {
    const int32_t first = unit / units * block, c0 = unit % units * MEGCC_STRASSEN_COLS;
    const int32_t rest = s->n / 2 - c0;
    const int32_t cols = rest < MEGCC_STRASSEN_COLS ? rest : MEGCC_STRASSEN_COLS;
    const size_t at = (size_t)first * (size_t)s->n + (size_t)c0;
    if (first != done) {
      done = first;
      count = s->rows - first < block ? s->rows - first : block;
      upper = (count + 1) / 2;
      for (int32_t r = 0; r < upper; ++r) {
        float *to = sums + (size_t)r * MEGCC_STRASSEN_SUMS * half_k;
        const int is_there = upper + r < count;
        tables[MEGCC_STRASSEN_UPPER][r] = megcc_strassen_row(s, first + r);
        tables[MEGCC_STRASSEN_LOWER][r] =
            is_there ? megcc_strassen_row(s, first + upper + r) : zeros;
        tables[MEGCC_STRASSEN_SUM][r] = to;
        megcc_strassen_sums(tables[MEGCC_STRASSEN_UPPER][r], tables[MEGCC_STRASSEN_LOWER][r],
                            half_k, to);
      }
    }
    for (int k = 0; k < MEGCC_STRASSEN_PRODUCTS; ++k) {
      const megcc_strassen_product_t *p = megcc_strassen_products + k;
      const int is_biased = BIAS && p->bias != MEGCC_STRASSEN_NONE;
      g.a = tables[p->rows];
      g.a_skip = p->skip * half_k;
      g.b = s->weights + ((size_t)k * half_n + (size_t)c0) * half_k;
      g.bias = is_biased ? s->bias + p->bias * half_n + c0 : zeros;
      g.dst = products + k * MEGCC_STRASSEN_COLS;
      megcc_gemm_block(&g, upper, 0, cols);
    }
    megcc_strassen_results(s, products, count - upper, cols, at, (size_t)upper * (size_t)s->n, 1);
    if (count < 2 * upper) {
      const int32_t last = upper - 1;
      megcc_strassen_results(s, products + (size_t)last * g.ld, 1, cols,
                             at + (size_t)last * (size_t)s->n, 0, 0);
    }
  }
}

#endif  // MEGCC_STRASSEN_H
