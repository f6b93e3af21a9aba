// kernel: resize2d_nearest NCHW=0 ESIZE=4
// op: resize2d
// dtype: f32, f16, i8, u8
// arch: portable
// isa: none
// when: mode == RESIZE2D_NEAREST
// rank: 0
// params: NCHW=nchw ESIZE=sizeof(T)
// workspace: 4 * ow
// work: n * oh * (c if nchw else 1)
// cost: ow * (8 if nchw else 8 + sizeof(T) * c // 4)
//
// Elements of any type. The source columns are computed once per call, then rows are gathered.
#include "megcc_kernel.h"
#include "megcc_move.h"
#include "megcc_resize.h"

typedef MEGCC_BYTES(ESIZE) elem_t;

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  int32_t *column = workspace;
  const int32_t oh = attr[RESIZE2D_OH], ow = attr[RESIZE2D_OW], round = attr[RESIZE2D_ROUND];
  const int32_t channels = NCHW ? 1 : attr[RESIZE2D_C];
  const megcc_resize_axis_t rows =
      megcc_resize_axis(attr[RESIZE2D_H], oh, attr[RESIZE2D_SCALE_H], attr[RESIZE2D_COORD]);
  const megcc_resize_axis_t cols =
      megcc_resize_axis(attr[RESIZE2D_W], ow, attr[RESIZE2D_SCALE_W], attr[RESIZE2D_COORD]);
  if (begin >= end) return;
  for (int32_t i = 0; i < ow; ++i) column[i] = megcc_resize_nearest(&cols, i, round);
  for (int32_t row = begin; row < end; ++row) {
    const size_t source =
        (size_t)(row / oh) * (size_t)rows.in + (size_t)megcc_resize_nearest(&rows, row % oh, round);
    const elem_t *x = (const elem_t *)ptr[0] + source * (size_t)cols.in * (size_t)channels;
    elem_t *y = (elem_t *)ptr[1] + (size_t)row * (size_t)ow * (size_t)channels;
    for (int32_t i = 0; i < ow; ++i) {
#if NCHW
      y[i] = x[column[i]];
#else
      megcc_copy_apart(y + (size_t)i * (size_t)channels, x + (size_t)column[i] * (size_t)channels,
                       (size_t)channels * ESIZE);
#endif
    }
  }
}
