// matmul through megcc_gemm.h: one run of K floats per row of lhs, so lhs is not transposed.
//
// Workspace: a pointer per row of a block of at most 96 rows (8 bytes each, whatever the machine);
// then, for a rhs that is not constant and from the next 64 bytes on, up to 32 columns of it as
// panels of NR columns.
#ifndef MEGCC_MATMUL_GEMM_H
#define MEGCC_MATMUL_GEMM_H

#include "gemm/megcc_gemm.h"
#include "op/matmul.h"

#define MEGCC_MATMUL_COLS 32

#ifndef TRANS_B
#define TRANS_B 0
#endif

MEGCC_INLINE megcc_gemm_t megcc_matmul_setup(void *const *ptr, const int32_t *attr, void *workspace,
                                             float **dst) {
  megcc_gemm_t g;
  const size_t k = (size_t)attr[MATMUL_K];
  g.a = workspace;
  g.a_stride = g.a_skip = 0;
  g.segments = 1;
  g.length = k;
  g.panel = k * NR;
  g.b = ptr[1];
  g.bias = BIAS ? ptr[2] : NULL;
  g.residual = MEGCC_RESIDUAL(ptr, 2 + BIAS);
  *dst = g.dst = MEGCC_OUTPUT(ptr, 2 + BIAS);
  g.ld = (size_t)attr[MATMUL_N];
  g.act_a = megcc_attr_f32(attr[MATMUL_ACT_A]);
  g.act_b = megcc_attr_f32(attr[MATMUL_ACT_B]);
  return g;
}

// Units [begin, end) of blocks of rows, of all batches, by MEGCC_GEMM_UNIT columns; a constant rhs
// in panels.
MEGCC_INLINE void megcc_matmul_packed(void *const *ptr, const int32_t *attr, void *workspace,
                                      int32_t begin, int32_t end) {
  const int32_t m = attr[MATMUL_M], n = attr[MATMUL_N], rows = attr[MATMUL_B] * m;
  const int32_t units = (n + MEGCC_GEMM_UNIT - 1) / MEGCC_GEMM_UNIT;
  const float **table = workspace;
  float *dst;
  megcc_gemm_t g = megcc_matmul_setup(ptr, attr, workspace, &dst);
  const float *residual = g.residual;
  int32_t block;
  if (begin >= end) return;
  if (rows == 1) {  // recurrent models have thousands of these: nothing to find or divide
    table[0] = ptr[0];
    megcc_gemm_block(&g, 1, begin * MEGCC_GEMM_UNIT, end < units ? end * MEGCC_GEMM_UNIT : n);
    return;
  }
  block = megcc_gemm_block_rows(rows);
  while (begin < end) {
    const int32_t first = begin / units * block, unit = begin % units;
    const int32_t count = rows - first < block ? rows - first : block;
    const int32_t stop = units - unit < end - begin ? units : unit + end - begin;
    for (int32_t r = 0; r < count; ++r) {
      const int32_t row = first + r;
      table[r] = (const float *)ptr[0] + (ptrdiff_t)(row / m) * attr[MATMUL_LHS_STRIDE] +
                 (size_t)(row % m) * g.length;
    }
    g.dst = dst + (size_t)first * (size_t)n;
    if (RESIDUAL) g.residual = residual + (size_t)first * (size_t)n;
    megcc_gemm_block(&g, count, unit * MEGCC_GEMM_UNIT, stop < units ? stop * MEGCC_GEMM_UNIT : n);
    begin += stop - unit;
  }
}

// Columns [c0, c0 + cols) of rhs as panels, zeros in the lanes past them.
static void megcc_matmul_pack(const float *rhs, int32_t n, int32_t depth, int32_t c0, int32_t cols,
                              float *panels) {
  for (int32_t p = 0; p < cols; p += NR, panels += (size_t)depth * NR) {
    const int32_t lanes = cols - p < NR ? cols - p : NR;
    if (TRANS_B) {
      for (int32_t j = 0; j < NR; ++j) {
        const float *src = rhs + (size_t)(c0 + p + (j < lanes ? j : 0)) * (size_t)depth;
        for (int32_t k = 0; k < depth; ++k)
          panels[(size_t)k * NR + (size_t)j] = j < lanes ? src[k] : 0.0f;
      }
    } else {
      for (int32_t k = 0; k < depth; ++k) {
        const float *src = rhs + (size_t)k * (size_t)n + c0 + p;
        float *to = panels + (size_t)k * NR;
        for (int32_t j = 0; j < NR; j += MEGCC_VL) {
          const int32_t here = lanes - j < 0 ? 0 : lanes - j < MEGCC_VL ? lanes - j : MEGCC_VL;
          megcc_vf_store(to + j, here == MEGCC_VL ? megcc_vf_load(src + j)
                                 : here           ? megcc_vf_load_n(src + j, here)
                                                  : megcc_vf_zero());
        }
      }
    }
  }
}

// Units [begin, end) of b * ceil(n / 32): 32 columns of one batch, all its rows.
MEGCC_INLINE void megcc_matmul_dynamic(void *const *ptr, const int32_t *attr, void *workspace,
                                       int32_t begin, int32_t end) {
  const int32_t m = attr[MATMUL_M], n = attr[MATMUL_N], depth = attr[MATMUL_K];
  const int32_t units = (n + MEGCC_MATMUL_COLS - 1) / MEGCC_MATMUL_COLS;
  const float **table = workspace;
  const size_t rows = (size_t)(m < MEGCC_GEMM_BLOCK ? m : MEGCC_GEMM_BLOCK);
  float *panels = (float *)((char *)workspace + (rows + 7) / 8 * 64);
  float *dst;
  megcc_gemm_t g = megcc_matmul_setup(ptr, attr, workspace, &dst);
  const float *bias = g.bias, *residual = g.residual;
  g.b = panels;
  for (int32_t unit = begin; unit < end; ++unit) {
    const int32_t batch = unit / units, c0 = unit % units * MEGCC_MATMUL_COLS;
    const int32_t cols = n - c0 < MEGCC_MATMUL_COLS ? n - c0 : MEGCC_MATMUL_COLS;
    const float *lhs = (const float *)ptr[0] + (ptrdiff_t)batch * attr[MATMUL_LHS_STRIDE];
    const float *rhs = (const float *)ptr[1] + (ptrdiff_t)batch * attr[MATMUL_RHS_STRIDE];
    megcc_matmul_pack(rhs, n, depth, c0, cols, panels);
    if (BIAS) g.bias = bias + c0;
    for (int32_t first = 0; first < m; first += MEGCC_GEMM_BLOCK) {
      const int32_t left = m - first, count = left < MEGCC_GEMM_BLOCK ? left : MEGCC_GEMM_BLOCK;
      const size_t at = ((size_t)batch * (size_t)m + (size_t)first) * (size_t)n + (size_t)c0;
      for (int32_t r = 0; r < count; ++r) table[r] = lhs + (size_t)(first + r) * (size_t)depth;
      g.dst = dst + at;
      if (RESIDUAL) g.residual = residual + at;
      megcc_gemm_block(&g, count, 0, cols);
    }
  }
}

#endif  // MEGCC_MATMUL_GEMM_H
