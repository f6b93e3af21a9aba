// kernel: matmul_wq_f32
// op: matmul_wq
// dtype: f32
// arch: portable
// isa: simd
// rank: 10
// tolerance: 2e-6
// params: ACT=act RESIDUAL=residual BIAS=bias BITS=bits ZERO=zero CHANNELS=channel_scales
// pack: rhs=wq_panels(nr=MEGCC_WQ_COLS) scale=wq_blocks(nr=MEGCC_WQ_COLS)
//   zero=wq_blocks(nr=MEGCC_WQ_COLS)
// workspace: 64 * min(MEGCC_GEMM_BLOCK // 8, (m + 7) // 8) + sizeof(L) * k * MEGCC_WQ_COLS
// inplace: residual
// work: (n + MEGCC_WQ_COLS - 1) // MEGCC_WQ_COLS
// cost: (m + 8) * MEGCC_WQ_COLS * k
//
// Several rows: the weights of 16 columns become floats in the workspace, as panels of
// megcc_gemm.h, then all rows run over them. They are the floats that ONNX says, and the sums those
// of matmul_f32_packed.
#if defined(__AVX2__)
#define NR 16
#else
#define NR 8
#endif

#include "gemm/megcc_gemm.h"
#include "gemm/megcc_matmul_wq.h"

#ifndef MEGCC_SYMBOL
#define MEGCC_SYMBOL megcc_matmul_wq_f32
#endif

// Sixteen floats of one k into panels of NR columns.
MEGCC_INLINE void put(float *to, size_t panel, megcc_w16 w) {
#if NR == 16
  (void)panel;
  megcc_w16_store(to, w);
#elif MEGCC_VL == 4
  megcc_vf_store(to, w.v0), megcc_vf_store(to + 4, w.v1);
  megcc_vf_store(to + panel, w.v2), megcc_vf_store(to + panel + 4, w.v3);
#else
  float both[16];
  megcc_w16_store(both, w);
  for (int32_t j = 0; j < NR; ++j) to[j] = both[j], to[panel + (size_t)j] = both[NR + j];
#endif
}

// All k of 16 columns.
MEGCC_HOT static void widen(megcc_wq_at_t at, int32_t k, int32_t block, float *to) {
  const size_t panel = (size_t)k * NR;
  const int8_t *p = at.weights;
  for (int32_t left = k; left > 0; left -= block) {
    const int32_t length = left < block ? left : block;
    const megcc_wq_zero_t zero = MEGCC_WQ_ZERO(&at);
    const megcc_w16 scale = megcc_wq_scale(&at);
    int32_t i = 0;
#if BITS == 4
    for (; i + 1 < length; i += 2, p += MEGCC_WQ_COLS, to += 2 * NR) {
      put(to, panel, megcc_w16_mul(MEGCC_WQ_LOW(p, zero), scale));
      put(to + NR, panel, megcc_w16_mul(MEGCC_WQ_HIGH(p, zero), scale));
    }
#endif
    for (; i < length; ++i, p += MEGCC_WQ_COLS, to += NR) {
      put(to, panel, megcc_w16_mul(MEGCC_WQ_LOW(p, zero), scale));
    }
    megcc_wq_next(&at);
  }
}

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  const int32_t m = attr[MATMUL_WQ_M], n = attr[MATMUL_WQ_N], k = attr[MATMUL_WQ_K];
  const float *lhs = ptr[0], *bias = BIAS ? ptr[3 + ZERO] : NULL;
  const float *residual = MEGCC_RESIDUAL(ptr, 3 + ZERO + BIAS);
  float *dst = MEGCC_OUTPUT(ptr, 3 + ZERO + BIAS);
  const size_t rows = (size_t)(m < MEGCC_GEMM_BLOCK ? m : MEGCC_GEMM_BLOCK);
  const float **table = workspace;
  float *panels = (float *)((char *)workspace + (rows + 7) / 8 * 64);
  megcc_gemm_t g;
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
    widen(megcc_wq_panel(ptr, attr, unit), k, attr[MATMUL_WQ_BLOCK], panels);
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
