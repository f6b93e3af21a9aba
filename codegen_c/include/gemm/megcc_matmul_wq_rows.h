// The body of the matmul_wq kernels of several rows: the weights of 16 columns become elements of
// lhs in the workspace, as panels of megcc_gemm.h, then all rows run over them. Of f32 they are the
// floats that ONNX says, and the sums those of matmul_f32_packed. Few rows do without panels
// (megcc_matmul_wq_row.h).
//
// The including kernel defines NR (8 or 16), and what megcc_gemm.h and megcc_matmul_wq.h want.
#ifndef MEGCC_MATMUL_WQ_ROWS_H
#define MEGCC_MATMUL_WQ_ROWS_H

#define MEGCC_SIMD_MAX NR
#include "gemm/megcc_matmul_wq.h"

#include "gemm/megcc_gemm.h"

#ifndef MEGCC_SIMD_FP16_H
#include "gemm/megcc_matmul_wq_row.h"

// Up to how many rows each takes the weights by itself.
#ifndef MEGCC_WQ_FEW
#define MEGCC_WQ_FEW 2
#endif
#endif

// The weights of 16 columns and one k into panels of NR columns.
MEGCC_INLINE void megcc_wq_put(megcc_elem_t *to, size_t panel, megcc_w16 w) {
#if defined(MEGCC_SIMD_FP16_H)
  (void)panel;
  megcc_vf_store(to, vcombine_f16(vcvt_f16_f32(w.v0), vcvt_f16_f32(w.v1)));
  megcc_vf_store(to + 8, vcombine_f16(vcvt_f16_f32(w.v2), vcvt_f16_f32(w.v3)));
#elif NR == 16
  (void)panel;
  megcc_w16_store(to, w);
#elif MEGCC_VL == 4
  megcc_vf_store(to, w.v0), megcc_vf_store(to + 4, w.v1);
  megcc_vf_store(to + panel, w.v2), megcc_vf_store(to + panel + 4, w.v3);
#else
  float both[16];
  megcc_w16_store(both, w);
  for (int32_t j = 0; j < NR; ++j) {
    to[j] = megcc_elem_of(both[j]);
    to[panel + (size_t)j] = megcc_elem_of(both[NR + j]);
  }
#endif
}

// All k of 16 columns.
MEGCC_HOT static void megcc_wq_widen(megcc_wq_at_t at, int32_t k, int32_t block, megcc_elem_t *to) {
  const size_t panel = (size_t)k * NR;
  const int8_t *p = at.weights;
  for (int32_t left = k; left > 0; left -= block) {
    const int32_t length = left < block ? left : block;
    const megcc_wq_zero_t zero = MEGCC_WQ_ZERO(&at);
    const megcc_w16 scale = megcc_wq_scale(&at);
    int32_t i = 0;
#if BITS == 4
    for (; i + 1 < length; i += 2, p += MEGCC_WQ_COLS, to += 2 * NR) {
      megcc_wq_put(to, panel, megcc_w16_mul(MEGCC_WQ_LOW(p, zero), scale));
      megcc_wq_put(to + NR, panel, megcc_w16_mul(MEGCC_WQ_HIGH(p, zero), scale));
    }
#endif
    for (; i < length; ++i, p += MEGCC_WQ_COLS, to += NR) {
      megcc_wq_put(to, panel, megcc_w16_mul(MEGCC_WQ_LOW(p, zero), scale));
    }
    megcc_wq_next(&at);
  }
}

MEGCC_INLINE void megcc_matmul_wq(void *const *ptr, const int32_t *attr, void *workspace,
                                  int32_t begin, int32_t end) {
  const int32_t m = attr[MATMUL_WQ_M], n = attr[MATMUL_WQ_N], k = attr[MATMUL_WQ_K];
  const int32_t block = attr[MATMUL_WQ_BLOCK];
  const size_t bytes = megcc_wq_panel_bytes(k, block);
  const megcc_elem_t *lhs = ptr[0], *bias = BIAS ? ptr[3 + ZERO] : NULL;
  const megcc_elem_t *residual = MEGCC_RESIDUAL(ptr, 3 + ZERO + BIAS);
  megcc_elem_t *dst = MEGCC_OUTPUT(ptr, 3 + ZERO + BIAS);
  const size_t rows = (size_t)(m < MEGCC_GEMM_BLOCK ? m : MEGCC_GEMM_BLOCK);
  const megcc_elem_t **table = workspace;
  megcc_elem_t *panels = (megcc_elem_t *)(void *)((char *)workspace + (rows + 7) / 8 * 64);
  megcc_gemm_t g;
#ifdef MEGCC_WQ_FEW
  if (m <= MEGCC_WQ_FEW) {
    for (int32_t r = 0; r < m; ++r) megcc_matmul_wq_row(ptr, attr, workspace, r, begin, end);
    return;
  }
#endif
  g.a = table;
  g.a_stride = g.a_skip = 0;
  g.segments = 1;
  g.length = (size_t)k;
  g.panel = (size_t)k * NR;
  g.b = panels;
  g.ld = (size_t)n;
  g.act_a = megcc_attr_f32(attr[MATMUL_WQ_ACT_A]);
  g.act_b = megcc_attr_f32(attr[MATMUL_WQ_ACT_B]);
  for (int32_t unit = begin; unit < end; ++unit) {
    const int32_t c0 = unit * MEGCC_WQ_COLS;
    const int32_t cols = n - c0 < MEGCC_WQ_COLS ? n - c0 : MEGCC_WQ_COLS;
    megcc_wq_widen(megcc_wq_panel(ptr, attr, unit, bytes), k, block, panels);
    g.bias = BIAS ? bias + c0 : NULL;
    for (int32_t first = 0; first < m; first += MEGCC_GEMM_BLOCK) {
      const int32_t count = m - first < MEGCC_GEMM_BLOCK ? m - first : MEGCC_GEMM_BLOCK;
      const size_t at = (size_t)first * (size_t)n + (size_t)c0;
      for (int32_t r = 0; r < count; ++r) table[r] = lhs + (size_t)(first + r) * g.length;
      g.dst = dst + at;
      g.residual = RESIDUAL ? residual + at : NULL;
      megcc_gemm_block(&g, count, 0, cols);
    }
  }
}

#endif  // MEGCC_MATMUL_WQ_ROWS_H
