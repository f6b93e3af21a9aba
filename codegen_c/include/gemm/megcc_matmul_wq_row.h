// The body of the matmul_wq kernels of one row, and of few rows one after the other: weights become
// floats in registers, and the scale of a block multiplies its sum. A row of f16 becomes floats in
// the workspace.
#ifndef MEGCC_MATMUL_WQ_ROW_H
#define MEGCC_MATMUL_WQ_ROW_H

#include "gemm/megcc_matmul_wq.h"

#define TURN 8  // k of a turn of the loop

// Adds the products of four k, from number `i` of `a` on.
#if BITS == 4
#define FOUR_K(i)                                                         \
  do {                                                                    \
    const megcc_four x = megcc_four_load(a + (i));                        \
    const int8_t *from = p + (i) / 2 * MEGCC_WQ_COLS;                     \
    MEGCC_W16_FMA4(sum, x, 0, MEGCC_WQ_LOW(from, zero));                  \
    MEGCC_W16_FMA4(sum, x, 1, MEGCC_WQ_HIGH(from, zero));                 \
    MEGCC_W16_FMA4(sum, x, 2, MEGCC_WQ_LOW(from + MEGCC_WQ_COLS, zero));  \
    MEGCC_W16_FMA4(sum, x, 3, MEGCC_WQ_HIGH(from + MEGCC_WQ_COLS, zero)); \
  } while (0)
#else
#define FOUR_K(i)                                                            \
  do {                                                                       \
    const megcc_four x = megcc_four_load(a + (i));                           \
    const int8_t *from = p + (i)*MEGCC_WQ_COLS;                              \
    MEGCC_W16_FMA4(sum, x, 0, MEGCC_WQ_LOW(from, zero));                     \
    MEGCC_W16_FMA4(sum, x, 1, MEGCC_WQ_LOW(from + MEGCC_WQ_COLS, zero));     \
    MEGCC_W16_FMA4(sum, x, 2, MEGCC_WQ_LOW(from + 2 * MEGCC_WQ_COLS, zero)); \
    MEGCC_W16_FMA4(sum, x, 3, MEGCC_WQ_LOW(from + 3 * MEGCC_WQ_COLS, zero)); \
  } while (0)
#endif

// Sums `length` k of 16 columns, without their scale; both pointers move behind them.
MEGCC_INLINE megcc_w16 megcc_wq_block_sum(const float **row, const int8_t **weights,
                                          megcc_wq_zero_t zero, int32_t length) {
  const float *a = *row;
  const int8_t *p = *weights;
  megcc_w16 sum = megcc_w16_dup(0.0f);
  for (; length >= TURN; length -= TURN, a += TURN, p += megcc_wq_bytes(TURN)) {
    FOUR_K(0);
    FOUR_K(4);
  }
#if BITS == 4
  for (; length > 1; length -= 2, a += 2, p += MEGCC_WQ_COLS) {
    sum = megcc_w16_fma(sum, megcc_vf_dup(a[0]), MEGCC_WQ_LOW(p, zero));
    sum = megcc_w16_fma(sum, megcc_vf_dup(a[1]), MEGCC_WQ_HIGH(p, zero));
  }
#endif
  for (; length > 0; --length, ++a, p += MEGCC_WQ_COLS) {
    sum = megcc_w16_fma(sum, megcc_vf_dup(*a), MEGCC_WQ_LOW(p, zero));
  }
  *row = a;
  *weights = p;
  return sum;
}

// Panels [begin, end) of row number `m`.
MEGCC_INLINE void megcc_matmul_wq_row(void *const *ptr, const int32_t *attr, void *workspace,
                                      int32_t m, int32_t begin, int32_t end) {
  const int32_t n = attr[MATMUL_WQ_N], k = attr[MATMUL_WQ_K], block = attr[MATMUL_WQ_BLOCK];
  const size_t bytes = megcc_wq_panel_bytes(k, block);
  const size_t at_row = (size_t)m * (size_t)n;
  const megcc_elem_t *lhs = (const megcc_elem_t *)ptr[0] + (size_t)m * (size_t)k;
  const megcc_elem_t *bias = BIAS ? ptr[3 + ZERO] : NULL;
  const megcc_elem_t *residual = MEGCC_RESIDUAL(ptr, 3 + ZERO + BIAS);
  megcc_elem_t *dst = MEGCC_OUTPUT(ptr, 3 + ZERO + BIAS) + at_row;
  const megcc_vf act_a = megcc_vf_dup(megcc_attr_f32(attr[MATMUL_WQ_ACT_A]));
  const megcc_vf act_b = megcc_vf_dup(megcc_attr_f32(attr[MATMUL_WQ_ACT_B]));
#if defined(MEGCC_F16)  // one row is widened once
  float *row = workspace;
  for (int32_t i = 0; begin < end && i < k; ++i) row[i] = megcc_elem_f32(lhs[i]);
#else
  const float *row = lhs;
#endif
  if (RESIDUAL) residual += at_row;
  (void)workspace, (void)bias, (void)residual, (void)act_a, (void)act_b;
  for (int32_t panel = begin; panel < end; ++panel) {
    const float *a = row;
    megcc_wq_at_t at = megcc_wq_panel(ptr, attr, panel, bytes);
    megcc_w16 total = megcc_w16_dup(0.0f);
    float sums[MEGCC_WQ_COLS];
    for (int32_t left = k; left > 0; left -= block) {
      const int32_t length = left < block ? left : block;
      const megcc_w16 sum = megcc_wq_block_sum(&a, &at.weights, MEGCC_WQ_ZERO(&at), length);
      total = megcc_w16_fmas(total, sum, megcc_wq_scale(&at));
      megcc_wq_next(&at);
    }
    megcc_w16_store(sums, total);
    for (int32_t j = 0; j < MEGCC_WQ_COLS; j += MEGCC_VL) {
      const int32_t column = panel * MEGCC_WQ_COLS + j, lanes = n - column;
      megcc_vf y = megcc_vf_of(sums + j, MEGCC_VL);
      if (lanes >= MEGCC_VL) {
        if (BIAS) y = megcc_vf_add(y, megcc_vf_load(bias + column));
        MEGCC_EPILOGUE_VF(y, megcc_vf_load(residual + column), act_a, act_b);
        megcc_vf_store(dst + column, y);
      } else if (lanes > 0) {
        if (BIAS) y = megcc_vf_add(y, megcc_vf_load_n(bias + column, lanes));
        MEGCC_EPILOGUE_VF(y, megcc_vf_load_n(residual + column, lanes), act_a, act_b);
        megcc_vf_store_n(dst + column, y, lanes);
      }
    }
  }
}

#endif  // MEGCC_MATMUL_WQ_ROW_H
