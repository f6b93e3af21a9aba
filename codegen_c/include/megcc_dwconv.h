// Depthwise convolution with a 3x3 or 5x5 kernel and equal strides of 1 or 2.
//
// One vector of channels after another runs along a pair of output rows, two times four outputs per
// step: a loaded input vector serves every output of the step that it touches, a loaded weight all
// of them. 3x3 weights stay in registers for the whole row. Steps that touch the left or right
// border test every column (`edge`); input rows in the padding are left out. An output is summed in
// the order of the kernel whatever its place in a pair, so results do not depend on how rows are
// split. Weights are [KH * KW][C] (packing.py, dw_taps).
//
// The including kernel defines DW_K (3 or 5), STRIDE (1 or 2), ACT and RESIDUAL.
#ifndef MEGCC_DWCONV_H
#define MEGCC_DWCONV_H

#include "megcc_dw_pixel.h"

#define MEGCC_DW_TILE 4
#define MEGCC_DW_COLS ((MEGCC_DW_TILE - 1) * STRIDE + DW_K)  // input columns of one step
#define MEGCC_DW_ROWS (STRIDE + DW_K)                        // input rows of a pair of outputs

typedef struct {
  const float *rows[MEGCC_DW_ROWS];  // column 0 of each input row; NULL in the padding
  const float *w, *bias, *residual;
  float *dst;
  ptrdiff_t width, out_width, left;  // left: input column of output column 0, kernel column 0
  ptrdiff_t channels, out_row;       // out_row: floats from an output row to the next
  int32_t pair;                      // 0: only the first output row exists
  megcc_vf act_a, act_b;
} megcc_dw_t;

MEGCC_INLINE void megcc_dw_store(const megcc_dw_t *d, ptrdiff_t at, megcc_vf y) {
  MEGCC_EPILOGUE_VF(y, megcc_vf_load(d->residual + at), d->act_a, d->act_b);
  megcc_vf_store(d->dst + at, y);
}

#if DW_K == 3
#define MEGCC_DW_WEIGHT(i, j) taps[(i)*3 + (j)]
#else
#define MEGCC_DW_WEIGHT(i, j) megcc_vf_load(d->w + c + ((ptrdiff_t)(i)*5 + (j)) * d->channels)
#endif

// Input row i, column k meets kernel row i - r * STRIDE, column k - o * STRIDE of output (r, o),
// when the kernel has such an element. All these conditions are constants.
#define MEGCC_DW_IN(i) ((i) >= 0 && (i) < DW_K)
#define MEGCC_DW_CUT(i) (MEGCC_DW_IN(i) ? (i) : 0)
#define MEGCC_DW_TAP(r, o, i, k)                                      \
  if (MEGCC_DW_IN((i) - (r)*STRIDE) && MEGCC_DW_IN((k) - (o)*STRIDE)) \
    c##r##o = megcc_vf_fma(                                           \
        c##r##o, x,                                                   \
        MEGCC_DW_WEIGHT(MEGCC_DW_CUT((i) - (r)*STRIDE), MEGCC_DW_CUT((k) - (o)*STRIDE)));
// clang-format off
#define MEGCC_DW_COL(i, k)                                                           \
  if ((k) < MEGCC_DW_COLS && (!edge || (col + (k) >= 0 && col + (k) < d->width))) {  \
    const megcc_vf x = megcc_vf_load(p + (k)*step);                                  \
    MEGCC_DW_TAP(0, 0, i, k) MEGCC_DW_TAP(0, 1, i, k)                                \
    MEGCC_DW_TAP(0, 2, i, k) MEGCC_DW_TAP(0, 3, i, k)                                \
    MEGCC_DW_TAP(1, 0, i, k) MEGCC_DW_TAP(1, 1, i, k)                                \
    MEGCC_DW_TAP(1, 2, i, k) MEGCC_DW_TAP(1, 3, i, k)                                \
  }
#define MEGCC_DW_ROW(i)                                                              \
  if ((i) < MEGCC_DW_ROWS && d->rows[(i) < MEGCC_DW_ROWS ? (i) : 0]) {               \
    const float *p = d->rows[(i) < MEGCC_DW_ROWS ? (i) : 0] + (col * step + c);      \
    MEGCC_DW_COL(i, 0) MEGCC_DW_COL(i, 1) MEGCC_DW_COL(i, 2) MEGCC_DW_COL(i, 3)      \
    MEGCC_DW_COL(i, 4) MEGCC_DW_COL(i, 5) MEGCC_DW_COL(i, 6) MEGCC_DW_COL(i, 7)      \
    MEGCC_DW_COL(i, 8) MEGCC_DW_COL(i, 9) MEGCC_DW_COL(i, 10)                        \
  }
// clang-format on
#define MEGCC_DW_PUT(o)                                                         \
  if (!edge || ox + (o) < d->out_width) {                                       \
    megcc_dw_store(d, at + (o)*step, c0##o);                                    \
    if (!edge || d->pair) megcc_dw_store(d, at + d->out_row + (o)*step, c1##o); \
  }

// Outputs [ox, ox + 4) of both rows, channels from c.
MEGCC_INLINE void megcc_dw_step(const megcc_dw_t *d, ptrdiff_t c, ptrdiff_t ox,
                                const megcc_vf *taps, megcc_vf bias, int edge) {
  const ptrdiff_t step = d->channels, col = d->left + ox * STRIDE, at = ox * step + c;
  megcc_vf c00 = bias, c01 = bias, c02 = bias, c03 = bias;
  megcc_vf c10 = bias, c11 = bias, c12 = bias, c13 = bias;
  (void)taps;
  MEGCC_DW_ROW(0)
  MEGCC_DW_ROW(1)
  MEGCC_DW_ROW(2)
  MEGCC_DW_ROW(3)
  MEGCC_DW_ROW(4)
  MEGCC_DW_ROW(5)
  MEGCC_DW_ROW(6)
  MEGCC_DW_PUT(0)
  MEGCC_DW_PUT(1)
  MEGCC_DW_PUT(2)
  MEGCC_DW_PUT(3)
}

MEGCC_INLINE int megcc_dw_inside(const megcc_dw_t *d, ptrdiff_t ox) {
  const ptrdiff_t col = d->left + ox * STRIDE;
  return d->pair && col >= 0 && col + MEGCC_DW_COLS <= d->width &&
         ox + MEGCC_DW_TILE <= d->out_width;
}

// Both rows for one vector of channels.
MEGCC_INLINE void megcc_dw_channels(const megcc_dw_t *d, ptrdiff_t c) {
#if DW_K == 3
#define MEGCC_DW_LOAD_TAP(t) megcc_vf_load(d->w + c + (t)*d->channels)
  const megcc_vf taps[9] = {MEGCC_DW_LOAD_TAP(0), MEGCC_DW_LOAD_TAP(1), MEGCC_DW_LOAD_TAP(2),
                            MEGCC_DW_LOAD_TAP(3), MEGCC_DW_LOAD_TAP(4), MEGCC_DW_LOAD_TAP(5),
                            MEGCC_DW_LOAD_TAP(6), MEGCC_DW_LOAD_TAP(7), MEGCC_DW_LOAD_TAP(8)};
#else
  const megcc_vf *taps = NULL;
#endif
  const megcc_vf bias = megcc_vf_load(d->bias + c);
  for (ptrdiff_t ox = 0; ox < d->out_width;) {
    for (; megcc_dw_inside(d, ox); ox += MEGCC_DW_TILE) {
      megcc_dw_step(d, c, ox, taps, bias, 0);
    }
    if (ox < d->out_width) megcc_dw_step(d, c, ox, taps, bias, 1);
    ox += MEGCC_DW_TILE;
  }
}

// Output rows [begin, end) of n * oh.
MEGCC_INLINE void megcc_dwconv(void *const *ptr, const int32_t *attr, int32_t begin, int32_t end) {
  const int32_t h = attr[CONV2D_H], oh = attr[CONV2D_OH];
  const megcc_dw_pixel_t rest = megcc_dw_pixel_setup(ptr, attr);
  megcc_dw_t d;
  d.w = ptr[1];
  d.bias = ptr[2];
  d.width = attr[CONV2D_W];
  d.out_width = attr[CONV2D_OW];
  d.left = -(ptrdiff_t)attr[CONV2D_PL];
  d.channels = attr[CONV2D_OC];
  d.out_row = d.out_width * d.channels;
  d.act_a = megcc_vf_dup(megcc_attr_f32(attr[CONV2D_ACT_A]));
  d.act_b = megcc_vf_dup(megcc_attr_f32(attr[CONV2D_ACT_B]));
  for (int32_t row = begin; row < end;) {
    const int32_t y = row % oh, top = y * STRIDE - attr[CONV2D_PT];
    const float *image = (const float *)ptr[0] + (ptrdiff_t)(row / oh) * h * d.width * d.channels;
    ptrdiff_t c = 0;
    d.pair = y + 1 < oh && row + 1 < end;
    for (int32_t i = 0; i < MEGCC_DW_ROWS; ++i) {
      const int inside = top + i >= 0 && top + i < h && (d.pair || i < DW_K);
      d.rows[i] = inside ? image + (ptrdiff_t)(top + i) * d.width * d.channels : NULL;
    }
    d.dst = MEGCC_OUTPUT(ptr, 3) + row * d.out_row;
    d.residual = RESIDUAL ? MEGCC_RESIDUAL(ptr, 3) + row * d.out_row : NULL;
    for (; d.channels - c >= MEGCC_VL; c += MEGCC_VL) megcc_dw_channels(&d, c);
    if (c < d.channels) {
      megcc_dw_pixels(rest, ptr, attr, row, (size_t)c);
      if (d.pair) megcc_dw_pixels(rest, ptr, attr, row + 1, (size_t)c);
    }
    row += 1 + d.pair;
  }
}

#endif  // MEGCC_DWCONV_H
