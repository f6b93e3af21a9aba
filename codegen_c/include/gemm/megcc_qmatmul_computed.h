// qmatmul whose rhs is computed at run time: up to MEGCC_QMATMUL_COLS columns go into panels,
// signed, with a bias that holds what the zero points add to each column; then all rows of the
// batch run over them.
//
// Workspace: that of megcc_qmatmul_gemm.h, with a term per row of a block, then MEGCC_QMATMUL_COLS
// biases, then the panels, which megcc_qmatmul_dynamic.h or megcc_qmatmul_dynamic_lanes.h makes
// before it includes this header.
#ifndef MEGCC_QMATMUL_COMPUTED_H
#define MEGCC_QMATMUL_COMPUTED_H

// Units [begin, end) of b * ceil(n / MEGCC_QMATMUL_COLS): so many columns of one batch, all its
// rows.
MEGCC_INLINE void megcc_qmatmul_dynamic(void *const *ptr, const int32_t *attr, void *workspace,
                                        int32_t begin, int32_t end) {
  const int32_t m = attr[QMATMUL_M], n = attr[QMATMUL_N], k = attr[QMATMUL_K];
  const int32_t units = (n + MEGCC_QMATMUL_COLS - 1) / MEGCC_QMATMUL_COLS;
  const int32_t rows = m < MEGCC_QGEMM_BLOCK ? m : MEGCC_QGEMM_BLOCK;
  const int32_t flipped = MEGCC_QGEMM_FLIP == (MEGCC_IS_UNSIGNED(X) ? 1 : 2) ? 128 : 0;
  const int32_t lhs_zero = attr[QMATMUL_LHS_ZERO] + (MEGCC_IS_UNSIGNED(X) ? -flipped : flipped);
  const int32_t rhs_zero = attr[QMATMUL_RHS_ZERO] - (MEGCC_IS_UNSIGNED(R) ? 128 : 0);
  const ptrdiff_t across = TRANS_B ? k : 1, down = TRANS_B ? 1 : n;
  const uint8_t **const table = workspace;
  int32_t *const terms = (int32_t *)(void *)(table + rows), *const bias = terms + rows;
  uint8_t *const tail = (uint8_t *)(bias + MEGCC_QMATMUL_COLS);
  uint8_t *const panels = tail + 2 * ((size_t)k + MEGCC_RUN_PIECE);
  MEGCC_CTYPE(Y) *const dst = MEGCC_QUANT_DST(ptr, 2 + BIAS);
  megcc_qgemm_t g = megcc_qmatmul_setup(ptr, attr, table);
  const megcc_rescale rescale = g.rescale;
  const megcc_runs_t lhs = megcc_qmatmul_lhs(ptr, attr, tail);
  g.b = (const int8_t *)panels;
  g.bias = bias;
  g.terms = terms;
  for (int32_t unit = begin; unit < end; ++unit) {
    const int32_t batch = unit / units, c0 = unit % units * MEGCC_QMATMUL_COLS;
    const int32_t cols = n - c0 < MEGCC_QMATMUL_COLS ? n - c0 : MEGCC_QMATMUL_COLS;
    const uint8_t *rhs = (const uint8_t *)ptr[1] + (ptrdiff_t)batch * attr[QMATMUL_RHS_STRIDE];
    for (int32_t c = 0; c < cols; c += MEGCC_QGEMM_COLUMNS) {
      const int32_t left = cols - c;
      const int32_t lanes = left < MEGCC_QGEMM_COLUMNS ? left : MEGCC_QGEMM_COLUMNS;
      uint8_t *const panel = panels + (size_t)(c / MEGCC_QGEMM_COLUMNS) * g.panel;
      megcc_qmatmul_pack(rhs + (c0 + c) * across, across, down, lanes, k, g.groups, panel);
      megcc_qmatmul_sums((const int8_t *)panel, g.groups, bias + c);
    }
    for (int32_t c = 0; c < cols; ++c) {
      const uint32_t centred = (uint32_t)bias[c] - (uint32_t)rhs_zero * (uint32_t)k;
      const uint32_t given = BIAS ? (uint32_t)((const int32_t *)ptr[2])[c0 + c] : 0;
      bias[c] = (int32_t)(given - (uint32_t)lhs_zero * centred);
    }
    if (OUT && SCALES) g.rescale.scale = rescale.scale + c0;
    if (OFFSET) g.rescale.offset = rescale.offset + c0;
    for (int32_t first = 0; first < m; first += MEGCC_QGEMM_BLOCK) {
      const int32_t left = m - first;
      const int32_t count = left < MEGCC_QGEMM_BLOCK ? left : MEGCC_QGEMM_BLOCK;
      megcc_runs_fill(&lhs, table, count,
                      (ptrdiff_t)batch * attr[QMATMUL_LHS_STRIDE] + (ptrdiff_t)first * k, k);
      megcc_qgemm_terms(&g, count, (size_t)k, -rhs_zero, terms);
      g.dst = dst + ((ptrdiff_t)batch * m + first) * n + c0;
      megcc_qgemm_block(&g, count, 0, cols);
    }
  }
}

#endif  // MEGCC_QMATMUL_COMPUTED_H
