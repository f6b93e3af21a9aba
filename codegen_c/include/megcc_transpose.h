// The body of the transpose kernels. The including file defines elem_t and
//   void plane(const elem_t *x, ptrdiff_t x_step, elem_t *y, ptrdiff_t y_step, rows, cols)
// which sets y[r * y_step + c] = x[c * x_step + r].
#ifndef MEGCC_TRANSPOSE_H
#define MEGCC_TRANSPOSE_H

#include "megcc_nd.h"
#include "op/transpose.h"

MEGCC_INLINE megcc_nd_t megcc_transpose_loops(const int32_t *attr) {
  ptrdiff_t stride[MEGCC_ND_RANK], step = 1;
  megcc_nd_t nd;
  MEGCC_ROLLED
  for (int i = MEGCC_ND_RANK - 1; i >= 0; --i) {
    stride[i] = step;
    step *= attr[TRANSPOSE_D0 + i];
  }
  nd.rank = MEGCC_ND_RANK;
  MEGCC_ROLLED
  for (int i = 0; i < MEGCC_ND_RANK; ++i) {
    nd.dim[i] = attr[TRANSPOSE_D0 + attr[TRANSPOSE_P0 + i]];
    nd.stride[0][i] = stride[attr[TRANSPOSE_P0 + i]];
  }
  megcc_nd_collapse(&nd);
  return nd;
}

// Elements [begin, end) of the output: whole rows of a plane whose other axis is contiguous in the
// input go through `plane`, all else is copied run by run.
MEGCC_INLINE void megcc_transpose_run(const elem_t *x, elem_t *y, const int32_t *attr,
                                      int32_t begin, int32_t end) {
  if (begin >= end) return;
  const megcc_nd_t nd = megcc_transpose_loops(attr);
  const int32_t last = nd.rank - 1, cols = nd.dim[last];
  const ptrdiff_t step = nd.stride[0][last];
  const int is_plane = nd.rank >= 2 && step != 1 && nd.stride[0][last - 1] == 1;
  megcc_nd_at_t at = megcc_nd_seek(&nd, begin);
  for (int32_t i = begin, count; i < end; i += count) {
    const elem_t *src = x + at.offset[0];
    if (is_plane && at.index[last] == 0 && end - i >= cols) {
      const int32_t left = nd.dim[last - 1] - at.index[last - 1], fit = (end - i) / cols;
      const int32_t rows = left < fit ? left : fit;
      plane(src, step, y + i, cols, rows, cols);
      count = rows * cols;
      at.index[last - 1] += rows - 1;  // on to the last of these rows, which advance() ends
      at.offset[0] += rows - 1;
      megcc_nd_advance(&nd, &at, cols);
      continue;
    }
    count = megcc_nd_run(&nd, &at, end - i);
    if (step == 1)
      for (int32_t k = 0; k < count; ++k) y[i + k] = src[k];
    else
      for (int32_t k = 0; k < count; ++k) y[i + k] = src[k * step];
    megcc_nd_advance(&nd, &at, count);
  }
}

#endif  // MEGCC_TRANSPOSE_H
