// Depthwise convolution with a 3x3 or 5x5 kernel, one output row at a time.
//
// One vector of channels after another runs along the row, four outputs per step: a loaded input
// vector serves every output of the step that it touches, a loaded weight all of them. 3x3 weights
// stay in registers for the whole row. Steps that touch the border test every column (`edge`);
// kernel rows in the padding are left out. Weights are [KH * KW][C] (packing.py, dw_taps).
//
// The including kernel defines DW_K (3 or 5), SW (1 or 2: stride along the row), ACT and RESIDUAL.
#ifndef MEGCC_DWCONV_H
#define MEGCC_DWCONV_H

#include "megcc_act.h"
#include "op/conv2d.h"

#ifndef RESIDUAL
#define RESIDUAL 0
#endif

#define MEGCC_DW_TILE 4
#define MEGCC_DW_COLS ((MEGCC_DW_TILE - 1) * SW + DW_K)  // input columns of one step

typedef struct {
  const float *rows[DW_K];  // column 0 of the image row under each kernel row; NULL in the padding
  const float *w, *bias, *residual;
  float *dst;
  ptrdiff_t width, out_width, left;  // left: input column of output column 0, kernel column 0
  size_t channels;
  megcc_vf act_a, act_b;
} megcc_dw_t;

// `lanes` channels; a whole vector when `part` is 0.
MEGCC_INLINE megcc_vf megcc_dw_load(const float *p, int part, int32_t lanes) {
  return part ? megcc_vf_load_n(p, lanes) : megcc_vf_load(p);
}

MEGCC_INLINE void megcc_dw_store(const megcc_dw_t *d, size_t at, megcc_vf y, int part,
                                 int32_t lanes) {
  if (RESIDUAL == 1) y = megcc_vf_add(y, megcc_dw_load(d->residual + at, part, lanes));
  y = megcc_act_vf(y, d->act_a, d->act_b);
  if (RESIDUAL == 2) y = megcc_vf_add(y, megcc_dw_load(d->residual + at, part, lanes));
  if (part) {
    megcc_vf_store_n(d->dst + at, y, lanes);
  } else {
    megcc_vf_store(d->dst + at, y);
  }
}

// Input column k meets kernel column k - o * SW of output o. All conditions are constants.
#define MEGCC_DW_TAP(o, k)                  \
  if ((k) >= (o)*SW && (k) - (o)*SW < DW_K) \
    c##o = megcc_vf_fma(c##o, x, w[(k) >= (o)*SW && (k) - (o)*SW < DW_K ? (k) - (o)*SW : 0]);
#define MEGCC_DW_COL(k)                                                             \
  if ((k) < MEGCC_DW_COLS && (!edge || (col + (k) >= 0 && col + (k) < d->width))) { \
    const megcc_vf x = megcc_dw_load(p + (ptrdiff_t)(k)*step, part, lanes);         \
    MEGCC_DW_TAP(0, k) MEGCC_DW_TAP(1, k) MEGCC_DW_TAP(2, k) MEGCC_DW_TAP(3, k)     \
  }
#if DW_K == 3
#define MEGCC_DW_WEIGHTS(i) const megcc_vf *w = taps + (i)*3;
#else
#define MEGCC_DW_WEIGHT(i, j) megcc_dw_load(d->w + c + ((i)*5 + (j)) * d->channels, part, lanes)
#define MEGCC_DW_WEIGHTS(i)                                                                   \
  const megcc_vf w[5] = {MEGCC_DW_WEIGHT(i, 0), MEGCC_DW_WEIGHT(i, 1), MEGCC_DW_WEIGHT(i, 2), \
                         MEGCC_DW_WEIGHT(i, 3), MEGCC_DW_WEIGHT(i, 4)};
#endif
#define MEGCC_DW_ROW(i)                                                                  \
  if (d->rows[i]) {                                                                      \
    const float *p = d->rows[i] + col * step + (ptrdiff_t)c;                             \
    MEGCC_DW_WEIGHTS(i)                                                                  \
    MEGCC_DW_COL(0)                                                                      \
    MEGCC_DW_COL(1) MEGCC_DW_COL(2) MEGCC_DW_COL(3) MEGCC_DW_COL(4) MEGCC_DW_COL(5)      \
        MEGCC_DW_COL(6) MEGCC_DW_COL(7) MEGCC_DW_COL(8) MEGCC_DW_COL(9) MEGCC_DW_COL(10) \
  }

// Outputs [ox, ox + 4) of the row, channels from c.
MEGCC_INLINE void megcc_dw_step(const megcc_dw_t *d, size_t c, ptrdiff_t ox, const megcc_vf *taps,
                                megcc_vf bias, int edge, int part, int32_t lanes) {
  const ptrdiff_t step = (ptrdiff_t)d->channels, col = d->left + ox * SW;
  const size_t at = (size_t)ox * d->channels + c;
  megcc_vf c0 = bias, c1 = bias, c2 = bias, c3 = bias;
  (void)taps;
  MEGCC_DW_ROW(0)
  MEGCC_DW_ROW(1)
  MEGCC_DW_ROW(2)
#if DW_K == 5
  MEGCC_DW_ROW(3)
  MEGCC_DW_ROW(4)
#endif
  megcc_dw_store(d, at, c0, part, lanes);
  if (!edge || ox + 1 < d->out_width) megcc_dw_store(d, at + d->channels, c1, part, lanes);
  if (!edge || ox + 2 < d->out_width) megcc_dw_store(d, at + 2 * d->channels, c2, part, lanes);
  if (!edge || ox + 3 < d->out_width) megcc_dw_store(d, at + 3 * d->channels, c3, part, lanes);
}

// The whole row for one vector of channels.
MEGCC_INLINE void megcc_dw_channels(const megcc_dw_t *d, size_t c, int part, int32_t lanes) {
#if DW_K == 3
#define MEGCC_DW_LOAD_TAP(t) megcc_dw_load(d->w + c + (t)*d->channels, part, lanes)
  const megcc_vf taps[9] = {MEGCC_DW_LOAD_TAP(0), MEGCC_DW_LOAD_TAP(1), MEGCC_DW_LOAD_TAP(2),
                            MEGCC_DW_LOAD_TAP(3), MEGCC_DW_LOAD_TAP(4), MEGCC_DW_LOAD_TAP(5),
                            MEGCC_DW_LOAD_TAP(6), MEGCC_DW_LOAD_TAP(7), MEGCC_DW_LOAD_TAP(8)};
#else
  const megcc_vf *taps = NULL;
#endif
  const megcc_vf bias = megcc_dw_load(d->bias + c, part, lanes);
  for (ptrdiff_t ox = 0; ox < d->out_width; ox += MEGCC_DW_TILE) {
    const ptrdiff_t col = d->left + ox * SW;
    const int inside =
        col >= 0 && col + MEGCC_DW_COLS <= d->width && ox + MEGCC_DW_TILE <= d->out_width;
    if (inside && !part) {
      megcc_dw_step(d, c, ox, taps, bias, 0, 0, 0);
    } else {
      megcc_dw_step(d, c, ox, taps, bias, 1, part, lanes);
    }
  }
}

// Output rows [begin, end) of n * oh.
MEGCC_INLINE void megcc_dwconv(void *const *ptr, const int32_t *attr, int32_t begin, int32_t end) {
  const int32_t h = attr[CONV2D_H], oh = attr[CONV2D_OH];
  const size_t channels = (size_t)attr[CONV2D_OC];
  const size_t row_size = (size_t)attr[CONV2D_OW] * channels;
  float *y = ptr[RESIDUAL ? 4 : 3];
  megcc_dw_t d;
  d.w = ptr[1];
  d.bias = ptr[2];
  d.width = attr[CONV2D_W];
  d.out_width = attr[CONV2D_OW];
  d.left = -(ptrdiff_t)attr[CONV2D_PL];
  d.channels = channels;
  d.act_a = megcc_vf_dup(megcc_attr_f32(attr[CONV2D_ACT_A]));
  d.act_b = megcc_vf_dup(megcc_attr_f32(attr[CONV2D_ACT_B]));
  for (int32_t row = begin; row < end; ++row) {
    const float *image = (const float *)ptr[0] + (size_t)(row / oh) * h * d.width * channels;
    const int32_t top = row % oh * attr[CONV2D_SH] - attr[CONV2D_PT];
    size_t c = 0;
    for (int32_t i = 0; i < DW_K; ++i) {
      const int inside = top + i >= 0 && top + i < h;
      d.rows[i] = inside ? image + (size_t)(top + i) * d.width * channels : NULL;
    }
    d.dst = y + (size_t)row * row_size;
    d.residual = RESIDUAL ? (const float *)ptr[3] + (size_t)row * row_size : NULL;
    for (; channels - c >= MEGCC_VL; c += MEGCC_VL) megcc_dw_channels(&d, c, 0, MEGCC_VL);
    if (c < channels) megcc_dw_channels(&d, c, 1, (int32_t)(channels - c));
  }
}

#endif  // MEGCC_DWCONV_H
