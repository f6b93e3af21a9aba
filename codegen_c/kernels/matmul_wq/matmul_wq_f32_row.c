// kernel: matmul_wq_f32_row
// op: matmul_wq
// dtype: f32
// arch: portable
// isa: simd
// when: m == 1
// rank: 20
// tolerance: 2e-6
// params: ACT=act RESIDUAL=residual BIAS=bias BITS=bits ZERO=zero CHANNELS=channel_scales
// pack: rhs=wq_panels(nr=MEGCC_WQ_COLS) scale=wq_blocks(nr=MEGCC_WQ_COLS)
//   zero=wq_blocks(nr=MEGCC_WQ_COLS)
// inplace: residual
// work: (n + MEGCC_WQ_COLS - 1) // MEGCC_WQ_COLS
// cost: 3 * MEGCC_WQ_COLS * k
//
// One row: weights become floats in registers. The scale of a block multiplies its sum.
#include "gemm/megcc_matmul_wq.h"

#ifndef MEGCC_SYMBOL
#define MEGCC_SYMBOL megcc_matmul_wq_f32_row
#endif

// What `length` k add to 16 columns, without their scale.
MEGCC_INLINE megcc_w16 block_sum(const float *a, const int8_t *p, megcc_w16 zero, int32_t length) {
  megcc_w16 sum = megcc_w16_dup(0.0f);
  int32_t i = 0;
  for (; BITS == 4 && i + 1 < length; i += 2, p += MEGCC_WQ_COLS) {
    sum = megcc_w16_fma(sum, megcc_vf_dup(a[i]), megcc_wq_low(p, zero));
    sum = megcc_w16_fma(sum, megcc_vf_dup(a[i + 1]), megcc_wq_high(p, zero));
  }
  for (; i < length; ++i, p += MEGCC_WQ_COLS) {
    sum = megcc_w16_fma(sum, megcc_vf_dup(a[i]), megcc_wq_low(p, zero));
  }
  return sum;
}

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  const float *bias = BIAS ? ptr[3 + ZERO] : NULL;
  const float *residual = MEGCC_RESIDUAL(ptr, 3 + ZERO + BIAS);
  float *dst = MEGCC_OUTPUT(ptr, 3 + ZERO + BIAS);
  const int32_t n = attr[MATMUL_WQ_N], k = attr[MATMUL_WQ_K], block = attr[MATMUL_WQ_BLOCK];
  const megcc_vf act_a = megcc_vf_dup(megcc_attr_f32(attr[MATMUL_WQ_ACT_A]));
  const megcc_vf act_b = megcc_vf_dup(megcc_attr_f32(attr[MATMUL_WQ_ACT_B]));
  (void)workspace, (void)bias, (void)residual, (void)act_a, (void)act_b;
  for (int32_t panel = begin; panel < end; ++panel) {
    const float *a = ptr[0];
    megcc_wq_at_t at = megcc_wq_panel(ptr, attr, panel);
    megcc_w16 total = megcc_w16_dup(0.0f);
    float sums[MEGCC_WQ_COLS];
    for (int32_t left = k; left > 0; left -= block) {
      const int32_t length = left < block ? left : block;
      const megcc_w16 sum = block_sum(a, at.weights, megcc_wq_zero(&at), length);
      total = megcc_w16_fmas(total, sum, megcc_wq_scale(&at));
      megcc_wq_next(&at, length);
      a += length;
    }
    megcc_w16_store(sums, total);
    for (int32_t j = 0; j < MEGCC_WQ_COLS; j += MEGCC_VL) {
      const int32_t column = panel * MEGCC_WQ_COLS + j, lanes = n - column;
      megcc_vf y = megcc_vf_load(sums + j);
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
