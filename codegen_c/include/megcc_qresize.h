// Rows of qresize2d's kernels: each output row with its two input rows.
//
// The including kernel defines SIXTEENTHS.
#ifndef MEGCC_QRESIZE_H
#define MEGCC_QRESIZE_H

#include "megcc_resize.h"
#include "megcc_soft_floats.h"
#include "op/qresize2d.h"

#define MEGCC_QRESIZE_INTEGER (SIXTEENTHS && MEGCC_SOFT_FLOATS)

#if MEGCC_QRESIZE_INTEGER

typedef int32_t megcc_qresize_weight_t;  // in sixteenths
typedef struct {
  int32_t lo, hi;
  megcc_qresize_weight_t weight;
} megcc_qresize_tap_t;
typedef struct {
  int32_t in, coord;
  int32_t up, down;  // by which the grid is finer and coarser, one of them 1; 0, 0: of one pixel
} megcc_qresize_axis_t;

MEGCC_INLINE megcc_qresize_axis_t megcc_qresize_axis(int32_t in, int32_t out, int32_t coord) {
  const int is_aligned = coord == RESIZE2D_ALIGN_CORNERS;
  const int is_one = out == 1 && (is_aligned || coord == RESIZE2D_PYTORCH_HALF_PIXEL);
  const int32_t from = is_aligned ? in - 1 : in, to = is_aligned ? out - 1 : out;
  megcc_qresize_axis_t a = {in, coord, 0, 0};
  if (is_one || from == 0 || to == 0) return a;
  a.up = to > from ? to / from : 1, a.down = from > to ? from / to : 1;
  return a;
}

// As megcc_resize_tap, in sixteenths, which no step of f32 rounds.
MEGCC_INLINE megcc_qresize_tap_t megcc_qresize_tap(const megcc_qresize_axis_t *a, int32_t o) {
  const int is_centred = a->coord == RESIZE2D_HALF_PIXEL || a->coord == RESIZE2D_PYTORCH_HALF_PIXEL;
  int32_t s = 0;
  if (a->up > 0) {
    s = (is_centred ? 16 * o + 8 : 16 * o) * a->down / a->up - (is_centred ? 8 : 0);
  }
  s = s > 0 ? s : 0;
  s = s < 16 * (a->in - 1) ? s : 16 * (a->in - 1);
  const megcc_qresize_tap_t t = {s / 16, s / 16 + (s % 16 > 0), s % 16};
  return t;
}

#else

typedef float megcc_qresize_weight_t;
typedef megcc_resize_tap_t megcc_qresize_tap_t;
typedef megcc_resize_axis_t megcc_qresize_axis_t;

MEGCC_INLINE megcc_qresize_axis_t megcc_qresize_axis(int32_t in, int32_t out, int32_t coord) {
  return megcc_resize_axis(in, out, 0, coord);
}

#define megcc_qresize_tap megcc_resize_tap

#endif

// The inputs of one output row.
typedef struct {
  const uint8_t *upper, *lower;     // rows of `width` pixels
  megcc_qresize_weight_t weight;    // of the lower one
  const megcc_qresize_tap_t *taps;  // of each of `out` pixels
  int32_t width, out, channels;
  void *mixed;  // workspace for the two rows, mixed
} megcc_qresize_row_t;

typedef void (*megcc_qresize_fn)(const void *how, const megcc_qresize_row_t *row, uint8_t *y);

// The rows `begin` to `end` of all images' rows; the columns' taps are computed once.
MEGCC_INLINE void megcc_qresize(void *const *ptr, const int32_t *attr, void *workspace,
                                int32_t begin, int32_t end, megcc_qresize_fn run, const void *how) {
  const int32_t oh = attr[QRESIZE2D_OH], ow = attr[QRESIZE2D_OW], c = attr[QRESIZE2D_C];
  const int32_t coord = attr[QRESIZE2D_COORD];
  const megcc_qresize_axis_t rows = megcc_qresize_axis(attr[QRESIZE2D_H], oh, coord);
  const megcc_qresize_axis_t cols = megcc_qresize_axis(attr[QRESIZE2D_W], ow, coord);
  const ptrdiff_t line = (ptrdiff_t)cols.in * c;
  megcc_qresize_tap_t *taps = workspace;
  if (begin >= end) return;
  for (int32_t i = 0; i < ow; ++i) taps[i] = megcc_qresize_tap(&cols, i);
  for (; begin < end; ++begin) {
    const megcc_qresize_tap_t t = megcc_qresize_tap(&rows, begin % oh);
    const uint8_t *image = (const uint8_t *)ptr[0] + (ptrdiff_t)(begin / oh) * rows.in * line;
    const megcc_qresize_row_t row = {
        image + t.lo * line, image + t.hi * line, t.weight, taps, cols.in, ow, c, taps + ow};
    run(how, &row, (uint8_t *)ptr[1] + (ptrdiff_t)begin * ow * c);
  }
}

#endif  // MEGCC_QRESIZE_H
