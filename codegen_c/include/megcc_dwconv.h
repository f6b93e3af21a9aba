// Depthwise convolution with a 3x3 or 5x5 kernel: stride 1 with any dilation, or stride 2.
//
// One vector of channels after another runs along a block of output rows (megcc_dw_rows.h). Input
// rows in the padding are one vector of zeros that is read again and again; columns in the padding
// are left out. An output is summed column by column whatever its place in a block, so results do
// not depend on how rows are split. The last channels that fill no vector are those of a whole one
// that ends with them. Weights are [KH * KW][C] (packing.py, dw_taps).
//
// The including kernel defines DW_K (3 or 5), STRIDE (1 or 2), ACT and RESIDUAL, and accepts only
// calls whose padding is at most what the kernel reaches over (its `when`).
#ifndef MEGCC_DWCONV_H
#define MEGCC_DWCONV_H

#ifndef STRIDE
#define STRIDE 1
#endif

#include "megcc_dw_pixel.h"
#include "megcc_dw_steps.h"

// Rows at once: as many as have their sums in registers, beside inputs and (3x3) taps.
#if defined(MEGCC_SMALL)
#define MEGCC_DW_MOST 1
#elif !defined(__aarch64__) || (MEGCC_VL != 4 && !defined(MEGCC_SIMD_FP16_H))
#define MEGCC_DW_MOST 2
#elif DW_K == 3
#define MEGCC_DW_MOST 4
#else
#define MEGCC_DW_MOST 3
#endif
#define MEGCC_DW_MOST_IN ((MEGCC_DW_MOST - 1) * STRIDE + DW_K)

typedef struct {
  const megcc_elem_t *at;  // its first column; a vector of zeros in the padding
  ptrdiff_t step;          // bytes from column to column; 0 in the padding
} megcc_dw_row_t;

typedef struct {
  megcc_dw_row_t rows[MEGCC_DW_MOST_IN];
  const megcc_elem_t *w, *bias, *residual;
  megcc_elem_t *dst;
  ptrdiff_t channels, out_row;  // channels; floats from an output row to the next
  ptrdiff_t tap_step, step;     // bytes from tap to tap, from column to column
  ptrdiff_t in_run, out_run;    // floats that a row's pointer moves on by in one run
  ptrdiff_t pads, cols;         // columns in the left padding, and in the image after them
  ptrdiff_t steps, rest;        // output columns that steps complete, and those that remain
  int odd;                      // one more input column for those
  megcc_vf act_a, act_b;
} megcc_dw_t;

#define MEGCC_DW_NAME_(tall) megcc_dw_rows_##tall
#define MEGCC_DW_NAME(tall) MEGCC_DW_NAME_(tall)
#define MEGCC_DW_TALL 1
#include "megcc_dw_rows.h"
#if MEGCC_DW_MOST == 2
#define MEGCC_DW_TALL 2
#include "megcc_dw_rows.h"
#elif MEGCC_DW_MOST > 2
#define MEGCC_DW_TALL 3
#include "megcc_dw_rows.h"
#endif
#if MEGCC_DW_MOST == 4
#define MEGCC_DW_TALL 4
#include "megcc_dw_rows.h"
#endif

// Rows of the next block where `rows` are left.
MEGCC_INLINE int32_t megcc_dw_tall(int32_t rows) {
  if (MEGCC_DW_MOST == 4 && rows >= 4 && rows != 6 && rows != 9) return 4;
  if (MEGCC_DW_MOST == 2) return rows >= 2 ? 2 : 1;
  return MEGCC_DW_MOST >= 3 && rows >= 3 ? 3 : 1;
}

// 1 where the last channels, too few for a vector, are computed in a vector that ends with them.
// Where the residual may lie in the output's memory, no element may be computed twice.
#define MEGCC_DW_OVERLAPS(channels) \
  (!RESIDUAL && (channels) > MEGCC_VL && (channels) % MEGCC_VL != 0)

MEGCC_INLINE void megcc_dw_run(const megcc_dw_t *d, int32_t tall) {
#if MEGCC_DW_MOST == 4
  if (tall == 4) megcc_dw_rows_4(d);
#endif
#if MEGCC_DW_MOST == 2
  if (tall == 2) megcc_dw_rows_2(d);
#elif MEGCC_DW_MOST > 2
  if (tall == 3) megcc_dw_rows_3(d);
#endif
  if (tall == 1) megcc_dw_rows_1(d);
}

// A row of `cols` columns of the image after `pads` of the padding, and `outs` columns of output,
// `column` floats apart.
MEGCC_INLINE void megcc_dw_columns(megcc_dw_t *d, ptrdiff_t pads, ptrdiff_t cols, ptrdiff_t outs,
                                   ptrdiff_t column) {
  const ptrdiff_t after = pads + cols - MEGCC_DW_LEAD_COLS;  // columns for steps
  const ptrdiff_t leads = MEGCC_DW_LEAD_COLS - pads;         // columns before them
  d->pads = pads;
  d->cols = cols;
  d->steps = after > 0 ? after / STRIDE : 0;
  d->steps = d->steps < outs ? d->steps : outs;
  d->rest = outs - d->steps;
  d->odd = STRIDE == 2 && d->rest > 0 && after > d->steps * STRIDE;
  d->in_run = ((leads < cols ? leads : cols) + d->steps * STRIDE + d->odd) * column;
  d->out_run = outs * column;
}

// The output rows `row`, `row` + dilation, ... of n * oh: `tall` of them, all of one image.
MEGCC_COLD static void megcc_dw_block(void *const *ptr, const int32_t *attr, int32_t row,
                                      int32_t tall) {
  static const megcc_elem_t zeros[MEGCC_VL] = {0};
  const int32_t h = attr[CONV2D_H], oh = attr[CONV2D_OH], down = attr[CONV2D_DH];
  const ptrdiff_t width = attr[CONV2D_W], out_width = attr[CONV2D_OW], channels = attr[CONV2D_OC];
  const ptrdiff_t across = STRIDE == 1 ? attr[CONV2D_DW] : 1, tail = channels % MEGCC_VL;
  const megcc_elem_t *image =
      (const megcc_elem_t *)ptr[0] + (ptrdiff_t)(row / oh) * h * width * channels;
  const ptrdiff_t at = row * out_width * channels;
  const ptrdiff_t top = (ptrdiff_t)(row % oh) * STRIDE - attr[CONV2D_PT];
  megcc_dw_t d;
  d.w = ptr[1];
  d.bias = ptr[2];
  d.channels = MEGCC_DW_OVERLAPS(channels) ? channels : channels - tail;
  d.out_row = out_width * channels * down;
  d.tap_step = (ptrdiff_t)sizeof(megcc_elem_t) * channels;
  d.step = d.tap_step * across;
  d.act_a = megcc_vf_dup(megcc_attr_f32(attr[CONV2D_ACT_A]));
  d.act_b = megcc_vf_dup(megcc_attr_f32(attr[CONV2D_ACT_B]));
  // Columns that lie `across` apart know nothing of those between them.
  for (ptrdiff_t phase = 0; phase < across && phase < out_width && d.channels > 0; ++phase) {
    const ptrdiff_t left = attr[CONV2D_PL] - phase;
    const ptrdiff_t pads = left > 0 ? (left + across - 1) / across : 0;
    const ptrdiff_t first = pads * across - left;
    const ptrdiff_t cols = first < width ? (width - first + across - 1) / across : 0;
    for (int32_t i = 0; i < (tall - 1) * STRIDE + DW_K; ++i) {
      const ptrdiff_t y = top + (ptrdiff_t)i * down;
      const int inside = y >= 0 && y < h;
      d.rows[i].at = inside ? image + (y * width + first) * channels : zeros;
      d.rows[i].step = inside ? d.step : 0;
    }
    d.dst = MEGCC_OUTPUT(ptr, 3) + at + phase * channels;
    d.residual = RESIDUAL ? MEGCC_RESIDUAL(ptr, 3) + at + phase * channels : NULL;
    megcc_dw_columns(&d, pads, cols, (out_width - phase + across - 1) / across, across * channels);
    megcc_dw_run(&d, tall);
  }
  if (tail && !MEGCC_DW_OVERLAPS(channels)) {
    megcc_dw_pixel_t rest = megcc_dw_pixel_setup(ptr, attr);
    for (int32_t r = 0; r < tall; ++r) {
      megcc_dw_window(&rest, attr, row + r * down);
      megcc_dw_pixels(&rest, ptr, attr, row + r * down, 0, attr[CONV2D_OW], 0);
    }
  }
}

// Output rows [begin, end) of n * oh.
MEGCC_INLINE void megcc_dwconv(void *const *ptr, const int32_t *attr, int32_t begin, int32_t end) {
  const int32_t oh = attr[CONV2D_OH], down = attr[CONV2D_DH];
  for (int32_t row = begin; row < end;) {
    const int32_t below = oh - row % oh, left = below < end - row ? below : end - row;
    const int32_t most = megcc_dw_tall((left + down - 1) / down) * down;
    const int32_t rows = most < left ? most : left;
    for (int32_t first = 0; first < down && first < rows; ++first) {
      for (int32_t r = first; r < rows;) {
        const int32_t tall = megcc_dw_tall((rows - r + down - 1) / down);
        megcc_dw_block(ptr, attr, row + r, tall);
        r += tall * down;
      }
    }
    row += rows;
  }
}

#endif  // MEGCC_DWCONV_H
