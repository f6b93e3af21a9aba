// matmul through megcc_gemm.h: one run of K floats per row of lhs, so lhs is not transposed.
//
// Workspace: a pointer per row of a block of at most 96 rows (8 bytes each, whatever the machine);
// before them the panels that are widened (MEGCC_GEMM_PANELS), if any.
#ifndef MEGCC_MATMUL_GEMM_H
#define MEGCC_MATMUL_GEMM_H

#if defined(MEGCC_GEMM_PANELS) && defined(MEGCC_F16)
#define MEGCC_GEMM_STORED
#endif
#define MEGCC_STORED_ROWS 3  // rows that cost no more with f16 that is widened as it is loaded
#include "gemm/megcc_gemm.h"
#include "op/matmul.h"

MEGCC_INLINE megcc_gemm_t megcc_matmul_setup(void *const *ptr, const int32_t *attr,
                                             const megcc_elem_t *const *rows) {
  megcc_gemm_t g;
  const size_t k = (size_t)attr[MATMUL_K];
  g.a = rows;
  g.a_stride = g.a_skip = 0;
  g.segments = 1;
  g.length = k;
  g.panel = k * NR;
  g.b = ptr[1];
  g.bias = BIAS ? ptr[2] : NULL;
  g.residual = MEGCC_RESIDUAL(ptr, 2 + BIAS);
  g.dst = MEGCC_OUTPUT(ptr, 2 + BIAS);
  g.ld = (size_t)attr[MATMUL_N];
  g.act_a = megcc_attr_f32(attr[MATMUL_ACT_A]);
  g.act_b = megcc_attr_f32(attr[MATMUL_ACT_B]);
  return g;
}

// Units [begin, end) of MEGCC_GEMM_UNIT columns of the only row; a constant rhs in panels.
MEGCC_INLINE void megcc_matmul_row(void *const *ptr, const int32_t *attr, int32_t begin,
                                   int32_t end) {
  const megcc_elem_t *row = ptr[0];
  const int32_t n = attr[MATMUL_N], last = (n + MEGCC_GEMM_UNIT - 1) / MEGCC_GEMM_UNIT;
  const megcc_gemm_t g = megcc_matmul_setup(ptr, attr, &row);
  if (begin < end) {
    megcc_gemm_block(&g, 1, begin * MEGCC_GEMM_UNIT, end < last ? end * MEGCC_GEMM_UNIT : n);
  }
}

// Units [begin, end) of blocks of rows, of all batches, by MEGCC_GEMM_UNIT columns; a constant rhs
// in panels.
MEGCC_INLINE void megcc_matmul_packed(void *const *ptr, const int32_t *attr, void *workspace,
                                      int32_t begin, int32_t end) {
  const int32_t m = attr[MATMUL_M], n = attr[MATMUL_N], rows = attr[MATMUL_B] * m;
  const int32_t units = (n + MEGCC_GEMM_UNIT - 1) / MEGCC_GEMM_UNIT;
  megcc_gemm_t g = megcc_matmul_setup(ptr, attr, NULL);
  const megcc_elem_t **table = megcc_gemm_take_panels(&g, workspace, g.length);
  const megcc_elem_t *residual = g.residual;
  megcc_elem_t *dst = g.dst;
  int32_t block;
  if (begin >= end) return;
  g.a = table;
#ifdef MEGCC_GEMM_STORED
  if (rows <= MEGCC_STORED_ROWS) g.wide = NULL;
#endif
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
      table[r] = (const megcc_elem_t *)ptr[0] + (ptrdiff_t)(row / m) * attr[MATMUL_LHS_STRIDE] +
                 (size_t)(row % m) * g.length;
    }
    g.dst = dst + (size_t)first * (size_t)n;
    if (RESIDUAL) g.residual = residual + (size_t)first * (size_t)n;
    megcc_gemm_block(&g, count, unit * MEGCC_GEMM_UNIT, stop < units ? stop * MEGCC_GEMM_UNIT : n);
    begin += stop - unit;
  }
}

#endif  // MEGCC_MATMUL_GEMM_H
