// Rows of qresize2d's kernels: each output row with its two input rows.
#ifndef MEGCC_QRESIZE_H
#define MEGCC_QRESIZE_H

#include "megcc_resize.h"
#include "op/qresize2d.h"

// The inputs of one output row.
typedef struct {
  const uint8_t *upper, *lower;    // rows of `width` pixels
  float weight;                    // of the lower one
  const megcc_resize_tap_t *taps;  // of each of `out` pixels
  int32_t width, out, channels;
  void *mixed;  // workspace for the two rows, mixed
} megcc_qresize_row_t;

typedef void (*megcc_qresize_fn)(const void *how, const megcc_qresize_row_t *row, uint8_t *y);

// The rows `begin` to `end` of all images' rows; the columns' taps are computed once.
MEGCC_INLINE void megcc_qresize(void *const *ptr, const int32_t *attr, void *workspace,
                                int32_t begin, int32_t end, megcc_qresize_fn run, const void *how) {
  const int32_t oh = attr[QRESIZE2D_OH], ow = attr[QRESIZE2D_OW], c = attr[QRESIZE2D_C];
  const int32_t coord = attr[QRESIZE2D_COORD];
  const megcc_resize_axis_t rows = megcc_resize_axis(attr[QRESIZE2D_H], oh, 0, coord);
  const megcc_resize_axis_t cols = megcc_resize_axis(attr[QRESIZE2D_W], ow, 0, coord);
  const ptrdiff_t line = (ptrdiff_t)cols.in * c;
  megcc_resize_tap_t *taps = workspace;
  if (begin >= end) return;
  for (int32_t i = 0; i < ow; ++i) taps[i] = megcc_resize_tap(&cols, i);
  for (; begin < end; ++begin) {
    const megcc_resize_tap_t t = megcc_resize_tap(&rows, begin % oh);
    const uint8_t *image = (const uint8_t *)ptr[0] + (ptrdiff_t)(begin / oh) * rows.in * line;
    const megcc_qresize_row_t row = {
        image + t.lo * line, image + t.hi * line, t.weight, taps, cols.in, ow, c, taps + ow};
    run(how, &row, (uint8_t *)ptr[1] + (ptrdiff_t)begin * ow * c);
  }
}

#endif  // MEGCC_QRESIZE_H
