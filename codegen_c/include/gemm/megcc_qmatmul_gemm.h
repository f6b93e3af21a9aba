// qmatmul with a constant rhs through megcc_qgemm.h: one run of K bytes per row of lhs, so lhs is
// not transposed.
//
// Workspace: a pointer per row of a block of at most 96 rows (8 bytes each, whatever the machine);
// where the zero point is an operand, a bias per column; where rhs has one, a term per row; and for
// the last rows of lhs, which are read past their end, 2 * (K + MEGCC_RUN_PIECE) bytes.
#ifndef MEGCC_QMATMUL_GEMM_H
#define MEGCC_QMATMUL_GEMM_H

#include "gemm/megcc_qgemm_call.h"
#include "gemm/megcc_run_table.h"
#include "op/qmatmul.h"

#ifndef BIAS
#define BIAS 1
#endif

// The call but for b, the bias and the place of the block.
MEGCC_INLINE megcc_qgemm_t megcc_qmatmul_setup(void *const *ptr, const int32_t *attr,
                                               const uint8_t *const *rows) {
  megcc_qgemm_t g;
  g.a = rows;
  g.a_stride = g.a_skip = 0;
  g.terms = g.bias = NULL;
  g.b = NULL;
  g.dst = NULL;
  g.segments = 1;
  g.groups = ((size_t)attr[QMATMUL_K] + MEGCC_QGEMM_KR - 1) / MEGCC_QGEMM_KR;
  g.panel = g.groups * MEGCC_QGEMM_KR * MEGCC_QGEMM_COLUMNS;
  g.ld = (size_t)attr[QMATMUL_N];
  g.rescale = megcc_rescale_of(ptr, 2 + BIAS, attr + QMATMUL_DST_ZERO);
  megcc_qgemm_prepare(&g);
  return g;
}

MEGCC_INLINE megcc_runs_t megcc_qmatmul_lhs(void *const *ptr, const int32_t *attr, uint8_t *tail) {
  const size_t k = (size_t)attr[QMATMUL_K], batch = (size_t)attr[QMATMUL_M] * k;
  const size_t others = (size_t)(attr[QMATMUL_B] - 1) * (size_t)attr[QMATMUL_LHS_STRIDE];
  return megcc_runs(ptr[0], attr[QMATMUL_B] > 0 ? batch + others : 0, k, megcc_run_room(k), tail);
}

// Units [begin, end) of blocks of rows, of all batches, by MEGCC_QGEMM_UNIT columns.
MEGCC_INLINE void megcc_qmatmul_packed(void *const *ptr, const int32_t *attr, void *workspace,
                                       int32_t begin, int32_t end) {
  const int32_t m = attr[QMATMUL_M], n = attr[QMATMUL_N], k = attr[QMATMUL_K];
  const int32_t rows = attr[QMATMUL_B] * m, block = megcc_qgemm_block_rows(rows);
  const int32_t units = (n + MEGCC_QGEMM_UNIT - 1) / MEGCC_QGEMM_UNIT;
  const uint8_t **const table = workspace;
  uint8_t *room = (uint8_t *)workspace + (size_t)(block < rows ? block : rows) * MEGCC_QGEMM_ENTRY;
  MEGCC_CTYPE(Y) *const dst = MEGCC_QUANT_DST(ptr, 2 + BIAS);
  megcc_qgemm_t g;
  megcc_runs_t lhs;
  if (begin >= end) return;
  g = megcc_qmatmul_setup(ptr, attr, table);
  g.b = ptr[1];
  g.bias = ptr[2];
#if ZERO
  g.bias = megcc_qgemm_bias(g.bias, n, *(const uint8_t *)MEGCC_ZERO(ptr, 2 + BIAS),
                            (int32_t *)(void *)room);
  room += (size_t)n * sizeof *g.bias;
#endif
#if TERMS
  int32_t *const terms = (int32_t *)(void *)room;
  g.terms = terms;
  room += (size_t)(block < rows ? block : rows) * sizeof *terms;
#endif
  lhs = megcc_qmatmul_lhs(ptr, attr, room);
  while (begin < end) {
    const int32_t first = begin / units * block, unit = begin % units;
    const int32_t count = rows - first < block ? rows - first : block;
    const int32_t stop = units - unit < end - begin ? units : unit + end - begin;
    for (int32_t r = 0; r < count;) {
      const int32_t row = first + r, batch = row / m, at = row % m;
      const int32_t here = m - at < count - r ? m - at : count - r;
      const ptrdiff_t place = (ptrdiff_t)batch * attr[QMATMUL_LHS_STRIDE] + (ptrdiff_t)at * k;
      megcc_runs_fill(&lhs, table + r, here, place, k);
      r += here;
    }
    g.dst = dst + (size_t)first * (size_t)n;
#if TERMS
    megcc_qgemm_terms(&g, count, (size_t)k, -attr[QMATMUL_RHS_ZERO], terms);
#endif
    megcc_qgemm_block(&g, count, unit * MEGCC_QGEMM_UNIT,
                      stop < units ? stop * MEGCC_QGEMM_UNIT : n);
    begin += stop - unit;
  }
}

#endif  // MEGCC_QMATMUL_GEMM_H
