// Products of few rows by an rhs that is computed at run time: every row reads rhs where it is,
// which costs less than packing it (megcc_gemm_pack.h) for so few rows. As there, an output is
// summed by one accumulator in the order of k, but where rhs is transposed: there by one of as many
// lanes as a vector has, which are added at the end. Neither depends on how the work is split.
#ifndef MEGCC_MATMUL_FEW_H
#define MEGCC_MATMUL_FEW_H

#include "gemm/megcc_gemm.h"

// One row: its k elements of lhs, and the output columns [c0, c1).
typedef struct {
  const megcc_elem_t *lhs, *rhs, *bias, *residual;
  megcc_elem_t *dst;
  int32_t k;
  size_t ld;  // elements from row to row of rhs
  megcc_vf act_a, act_b;
} megcc_few_t;

MEGCC_INLINE void megcc_few_store(const megcc_few_t *f, int32_t c, megcc_vf y) {
  if (BIAS) y = megcc_vf_add(y, megcc_vf_load(f->bias + c));
  MEGCC_EPILOGUE_VF(y, megcc_vf_load(f->residual + c), f->act_a, f->act_b);
  megcc_vf_store(f->dst + c, y);
}

MEGCC_INLINE void megcc_few_store_n(const megcc_few_t *f, int32_t c, megcc_vf y, int32_t lanes) {
  if (BIAS) y = megcc_vf_add(y, megcc_vf_load_n(f->bias + c, lanes));
  MEGCC_EPILOGUE_VF(y, megcc_vf_load_n(f->residual + c, lanes), f->act_a, f->act_b);
  megcc_vf_store_n(f->dst + c, y, lanes);
}

// Column c: as a sum by lanes.
MEGCC_INLINE megcc_vf megcc_few_tail(const megcc_few_t *f, const megcc_elem_t *b, int32_t i,
                                     megcc_vf sum) {
  const int32_t left = f->k - i;
  if (left == 0) return sum;
  return megcc_vf_fma(sum, megcc_vf_load_n(f->lhs + i, left), megcc_vf_load_n(b + i, left));
}

#define MEGCC_FEW_COLS 4  // columns whose sums are made together

// Where rhs is [n][ld].
MEGCC_INLINE void megcc_few_row_transposed(const megcc_few_t *f, int32_t c0, int32_t c1) {
  const size_t ld = f->ld;
  int32_t c = c0;
  while (c < c1) {
    float sums[MEGCC_VL > MEGCC_FEW_COLS ? MEGCC_VL : MEGCC_FEW_COLS] = {0};
    const int32_t lanes = c1 - c < MEGCC_VL ? c1 - c : MEGCC_VL;
    int32_t j = 0;
    for (; lanes - j >= MEGCC_FEW_COLS; j += MEGCC_FEW_COLS) {
      const megcc_elem_t *b0 = f->rhs + (size_t)(c + j) * ld, *b1 = b0 + ld;
      const megcc_elem_t *b2 = b1 + ld, *b3 = b2 + ld;
      megcc_vf s0 = megcc_vf_zero(), s1 = s0, s2 = s0, s3 = s0;
      int32_t i = 0;
      for (; f->k - i >= MEGCC_VL; i += MEGCC_VL) {
        const megcc_vf x = megcc_vf_load(f->lhs + i);
        s0 = megcc_vf_fma(s0, x, megcc_vf_load(b0 + i));
        s1 = megcc_vf_fma(s1, x, megcc_vf_load(b1 + i));
        s2 = megcc_vf_fma(s2, x, megcc_vf_load(b2 + i));
        s3 = megcc_vf_fma(s3, x, megcc_vf_load(b3 + i));
      }
      sums[j] = megcc_vf_sum(megcc_few_tail(f, b0, i, s0));
      sums[j + 1] = megcc_vf_sum(megcc_few_tail(f, b1, i, s1));
      sums[j + 2] = megcc_vf_sum(megcc_few_tail(f, b2, i, s2));
      sums[j + 3] = megcc_vf_sum(megcc_few_tail(f, b3, i, s3));
    }
    for (; j < lanes; ++j) {
      const megcc_elem_t *b = f->rhs + (size_t)(c + j) * ld;
      megcc_vf sum = megcc_vf_zero();
      int32_t i = 0;
      for (; f->k - i >= MEGCC_VL; i += MEGCC_VL) {
        sum = megcc_vf_fma(sum, megcc_vf_load(f->lhs + i), megcc_vf_load(b + i));
      }
      sums[j] = megcc_vf_sum(megcc_few_tail(f, b, i, sum));
    }
    if (lanes == MEGCC_VL) {
      megcc_few_store(f, c, megcc_vf_of(sums, MEGCC_VL));
    } else {
      megcc_few_store_n(f, c, megcc_vf_of(sums, lanes), lanes);
    }
    c += lanes;
  }
}

// Where rhs is [k][ld].
MEGCC_INLINE void megcc_few_row_plain(const megcc_few_t *f, int32_t c0, int32_t c1) {
  const size_t n = f->ld;
  int32_t c = c0;
  for (; c1 - c >= 4 * MEGCC_VL; c += 4 * MEGCC_VL) {
    const megcc_elem_t *b = f->rhs + c, *a = f->lhs;
    megcc_vf s0 = megcc_vf_zero(), s1 = s0, s2 = s0, s3 = s0;
    for (int32_t i = 0; i < f->k; ++i, b += n) {
      const megcc_vf x = megcc_vf_spread(a + i);
      s0 = megcc_vf_fma(s0, x, megcc_vf_load(b));
      s1 = megcc_vf_fma(s1, x, megcc_vf_load(b + MEGCC_VL));
      s2 = megcc_vf_fma(s2, x, megcc_vf_load(b + 2 * MEGCC_VL));
      s3 = megcc_vf_fma(s3, x, megcc_vf_load(b + 3 * MEGCC_VL));
    }
    megcc_few_store(f, c, s0);
    megcc_few_store(f, c + MEGCC_VL, s1);
    megcc_few_store(f, c + 2 * MEGCC_VL, s2);
    megcc_few_store(f, c + 3 * MEGCC_VL, s3);
  }
  for (; c1 - c >= MEGCC_VL; c += MEGCC_VL) {
    const megcc_elem_t *b = f->rhs + c;
    megcc_vf sum = megcc_vf_zero();
    for (int32_t i = 0; i < f->k; ++i, b += n) {
      sum = megcc_vf_fma(sum, megcc_vf_spread(f->lhs + i), megcc_vf_load(b));
    }
    megcc_few_store(f, c, sum);
  }
  if (c < c1) {
    const megcc_elem_t *b = f->rhs + c;
    megcc_vf sum = megcc_vf_zero();
    for (int32_t i = 0; i < f->k; ++i, b += n) {
      sum = megcc_vf_fma(sum, megcc_vf_spread(f->lhs + i), megcc_vf_load_n(b, c1 - c));
    }
    megcc_few_store_n(f, c, sum, c1 - c);
  }
}

#endif  // MEGCC_MATMUL_FEW_H
