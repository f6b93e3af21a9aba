// matmul whose rhs is computed at run time, through megcc_gemm.h.
//
// Workspace: that of megcc_matmul_gemm.h, then, from the next 64 bytes on, up to MEGCC_MATMUL_COLS
// columns of rhs (a multiple of NR that the kernel defines) as panels of NR columns. Few rows read
// rhs where it is (megcc_matmul_few.h).
#ifndef MEGCC_MATMUL_DYNAMIC_H
#define MEGCC_MATMUL_DYNAMIC_H

#include "gemm/megcc_gemm_pack.h"
#include "gemm/megcc_matmul_gemm.h"

#ifndef TRANS_B
#define TRANS_B 0
#endif

#ifndef MEGCC_SIMD_FP16_H
#include "gemm/megcc_matmul_few.h"

// Up to how many rows rhs is not packed. A transposed rhs is packed element by element: there so
// many times as many rows are few.
#ifndef MEGCC_MATMUL_FEW
#define MEGCC_MATMUL_FEW 2
#endif
#define MEGCC_FEW_TIMES (TRANS_B ? 4 : 1)
#endif

#ifdef MEGCC_MATMUL_FEW_H
MEGCC_HOT static void megcc_few_row(const megcc_few_t *f, int32_t c0, int32_t c1) {
#if TRANS_B
  megcc_few_row_transposed(f, c0, c1);
#else
  megcc_few_row_plain(f, c0, c1);
#endif
}

// The same units as of megcc_matmul_dynamic, those of a batch together.
MEGCC_INLINE void megcc_matmul_few(void *const *ptr, const int32_t *attr, int32_t begin,
                                   int32_t end) {
  const int32_t m = attr[MATMUL_M], n = attr[MATMUL_N], k = attr[MATMUL_K];
  const int32_t units = (n + MEGCC_MATMUL_COLS - 1) / MEGCC_MATMUL_COLS;
  const megcc_elem_t *residual = MEGCC_RESIDUAL(ptr, 2 + BIAS);
  megcc_elem_t *dst = MEGCC_OUTPUT(ptr, 2 + BIAS);
  megcc_few_t f;
  f.bias = BIAS ? ptr[2] : NULL;
  f.k = k;
  f.ld = (size_t)(TRANS_B ? k : n);
  f.act_a = megcc_vf_dup(megcc_attr_f32(attr[MATMUL_ACT_A]));
  f.act_b = megcc_vf_dup(megcc_attr_f32(attr[MATMUL_ACT_B]));
  while (begin < end) {
    const int32_t batch = begin / units, first = begin % units;
    const int32_t stop = units - first < end - begin ? units : first + end - begin;
    const int32_t c0 = first * MEGCC_MATMUL_COLS;
    const int32_t c1 = stop < units ? stop * MEGCC_MATMUL_COLS : n;
    const size_t at = (size_t)batch * (size_t)m * (size_t)n;
    f.lhs = (const megcc_elem_t *)ptr[0] + (ptrdiff_t)batch * attr[MATMUL_LHS_STRIDE];
    f.rhs = (const megcc_elem_t *)ptr[1] + (ptrdiff_t)batch * attr[MATMUL_RHS_STRIDE];
    f.residual = RESIDUAL ? residual + at : NULL;
    f.dst = dst + at;
    for (int32_t r = 0; r < m; ++r) {
      megcc_few_row(&f, c0, c1);
      f.lhs += k;
      f.dst += n;
      if (RESIDUAL) f.residual += n;
    }
    begin += stop - first;
  }
}
#endif

// Units [begin, end) of b * ceil(n / MEGCC_MATMUL_COLS): so many columns of one batch, all its
// rows.
MEGCC_INLINE void megcc_matmul_dynamic(void *const *ptr, const int32_t *attr, void *workspace,
                                       int32_t begin, int32_t end) {
  const int32_t m = attr[MATMUL_M], n = attr[MATMUL_N], depth = attr[MATMUL_K];
  const int32_t units = (n + MEGCC_MATMUL_COLS - 1) / MEGCC_MATMUL_COLS;
  const megcc_elem_t **table = workspace;
  const size_t rows = (size_t)(m < MEGCC_GEMM_BLOCK ? m : MEGCC_GEMM_BLOCK);
  megcc_elem_t *panels = (megcc_elem_t *)(void *)((char *)workspace + (rows + 7) / 8 * 64);
  megcc_gemm_t g = megcc_matmul_setup(ptr, attr, table);
  const megcc_elem_t *bias = g.bias, *residual = g.residual;
  megcc_elem_t *dst = g.dst;
#ifdef MEGCC_MATMUL_FEW_H
  if (m <= MEGCC_FEW_TIMES * MEGCC_MATMUL_FEW) {
    megcc_matmul_few(ptr, attr, begin, end);
    return;
  }
#endif
  g.b = panels;
  for (int32_t unit = begin; unit < end; ++unit) {
    const int32_t batch = unit / units, c0 = unit % units * MEGCC_MATMUL_COLS;
    const int32_t cols = n - c0 < MEGCC_MATMUL_COLS ? n - c0 : MEGCC_MATMUL_COLS;
    const megcc_elem_t *lhs =
        (const megcc_elem_t *)ptr[0] + (ptrdiff_t)batch * attr[MATMUL_LHS_STRIDE];
    const megcc_elem_t *rhs =
        (const megcc_elem_t *)ptr[1] + (ptrdiff_t)batch * attr[MATMUL_RHS_STRIDE];
#if TRANS_B
    megcc_gemm_pack_transposed(rhs + (size_t)c0 * (size_t)depth, (size_t)depth, depth, cols,
                               panels);
#else
    megcc_gemm_pack_columns(rhs + c0, (size_t)n, depth, cols, panels);
#endif
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

#endif  // MEGCC_MATMUL_DYNAMIC_H
