// Tiles of output pixels of a depthwise convolution, side by side in a row: any kernel.
//
// The sums of MEGCC_DW_TILE pixels of one vector of channels stay in registers while the window's
// taps go by, row by row. Where the including kernel defines DW_K, the kernel's width, with steps
// and dilation of 1 along rows, the weights of a row of taps are in registers, too, and a column of
// the input is loaded once for all pixels that it touches:
//
//   registers    sums[0..T)  taps[0..K)  x         T + K + 1 of them: 16 for 8 pixels of 7 taps
//   column n     x -> sums[t] with taps[n - t], for all t and n - t that there are
//
// Else each tap is loaded for all pixels. A pixel is summed tap by tap as in megcc_dw_pixel.h,
// which has those whose window leaves the image, unless DW_K is defined: then the columns outside
// are left out.
#ifndef MEGCC_DW_TILE_H
#define MEGCC_DW_TILE_H

#include "megcc_dw_pixel.h"
#include "megcc_unroll.h"

#ifdef MEGCC_SMALL  // pixel by pixel is less code
#define megcc_dw_by_tiles megcc_dw_by_pixels
#else

#ifdef MEGCC_SIMD_MVE_H  // which has eight registers
#define MEGCC_DW_TILE 3
#else
#define MEGCC_DW_TILE 8
#endif

// The first `count` pixels of a tile, `step` elements apart.
MEGCC_INLINE void megcc_dw_store_tile(const megcc_dw_pixel_t *d, size_t c, megcc_vf *sums,
                                      int32_t count) {
  const ptrdiff_t step = (ptrdiff_t)d->channels;
  megcc_elem_t *out = d->dst + c;
  const megcc_elem_t *residual = RESIDUAL ? d->residual + c : NULL;
  (void)residual;
  MEGCC_UNROLL(8)
  for (int32_t t = 0; t < MEGCC_DW_TILE; ++t) {
    if (t >= count) break;
    MEGCC_EPILOGUE_VF(sums[t], megcc_vf_load(residual + t * step), d->act_a, d->act_b);
    megcc_vf_store(out + t * step, sums[t]);
  }
}

#ifdef DW_K

#define MEGCC_DW_COLUMNS (MEGCC_DW_TILE + DW_K - 1)

// One vector of channels of the tile of which column 0 of the input is number `left`; `cut`:
// columns may lie outside the image, which has `width` of them.
MEGCC_INLINE void megcc_dw_tile(const megcc_dw_pixel_t *d, size_t c, int32_t count, int cut,
                                int32_t left, int32_t width) {
  const ptrdiff_t step = (ptrdiff_t)(d->channels * sizeof *d->w);  // bytes
  megcc_vf sums[MEGCC_DW_TILE], taps[DW_K];
  MEGCC_UNROLL(8)
  for (int t = 0; t < MEGCC_DW_TILE; ++t) sums[t] = megcc_vf_load(d->bias + c);
  for (int32_t i = d->v.begin; i < d->v.end; ++i) {
    const megcc_elem_t *x = d->pixel + (i * d->row_step + (ptrdiff_t)c);
    const megcc_elem_t *w = d->w + (size_t)i * DW_K * d->channels + c;
    MEGCC_UNROLL(8)
    for (int j = 0; j < DW_K; ++j) taps[j] = megcc_vf_load_move(&w, step);
    MEGCC_UNROLL(16)
    for (int n = 0; n < MEGCC_DW_COLUMNS; ++n) {
      if (cut && (uint32_t)(left + n) >= (uint32_t)width) {
        x += d->channels;
        continue;
      }
      const megcc_vf column = megcc_vf_load_move(&x, step);
      MEGCC_UNROLL(8)
      for (int t = 0; t < MEGCC_DW_TILE; ++t) {
        if (n >= t && n < t + DW_K) sums[t] = megcc_vf_fma(sums[t], column, taps[n - t]);
      }
    }
  }
  megcc_dw_store_tile(d, c, sums, count);
}

#else

// One vector of channels of a tile whose windows lie in the image; `next`: bytes from pixel to
// pixel of the input.
MEGCC_INLINE void megcc_dw_tile(const megcc_dw_pixel_t *d, size_t c, ptrdiff_t next) {
  megcc_vf sums[MEGCC_DW_TILE];
  MEGCC_UNROLL(8)
  for (int t = 0; t < MEGCC_DW_TILE; ++t) sums[t] = megcc_vf_load(d->bias + c);
  for (int32_t i = d->v.begin; i < d->v.end; ++i) {
    const megcc_elem_t *x = d->pixel + (i * d->row_step + (ptrdiff_t)c);
    const megcc_elem_t *w = d->w + (size_t)i * (size_t)d->kw * d->channels + c;
    for (int32_t j = 0; j < d->kw; ++j) {
      const megcc_vf tap = megcc_vf_load(w);
      const megcc_elem_t *p = x;
      MEGCC_UNROLL(8)
      for (int t = 0; t < MEGCC_DW_TILE; ++t) {
        sums[t] = megcc_vf_fma(sums[t], megcc_vf_load_move(&p, next), tap);
      }
      x += d->col_step;
      w += d->channels;
    }
  }
  megcc_dw_store_tile(d, c, sums, MEGCC_DW_TILE);
}

#endif

// Output row `row` of n * oh, but for the last channels, which fill no vector.
MEGCC_INLINE void megcc_dw_row(megcc_dw_pixel_t *d, void *const *ptr, const int32_t *attr,
                               int32_t row) {
  const size_t whole = d->channels - d->channels % MEGCC_VL;
  const int32_t width = attr[CONV2D_W], ow = attr[CONV2D_OW], pads = attr[CONV2D_PL];
#ifdef DW_K
  for (int32_t col = 0; col < ow; col += MEGCC_DW_TILE) {
    // The last tile begins earlier, or has fewer pixels where no pixel may be computed twice.
    if (!RESIDUAL && col + MEGCC_DW_TILE > ow && ow > MEGCC_DW_TILE) col = ow - MEGCC_DW_TILE;
    const int32_t left = col - pads;
    const int cut = left < 0 || left + MEGCC_DW_COLUMNS > width;
    megcc_dw_place(d, ptr, attr, row, col);
    for (size_t c = 0; c < whole; c += MEGCC_VL) {
      if (cut) {
        megcc_dw_tile(d, c, ow - col, 1, left, width);
      } else {
        megcc_dw_tile(d, c, MEGCC_DW_TILE, 0, 0, 0);
      }
    }
  }
#else
  const int32_t stride = attr[CONV2D_SW], reach = (attr[CONV2D_KW] - 1) * attr[CONV2D_DW];
  const ptrdiff_t next = (ptrdiff_t)((size_t)stride * d->channels * sizeof *d->w);
  const int32_t last = width - 1 - reach + pads;  // where the last whole window begins
  int32_t end = last < 0 ? 0 : last / stride + 1, col = (pads + stride - 1) / stride;
  end = end < ow ? end : ow;
  if (end - col < MEGCC_DW_TILE) end = col = 0;
  megcc_dw_pixels(d, ptr, attr, row, 0, col, 1);
  for (; col < end; col += MEGCC_DW_TILE) {
    if (col + MEGCC_DW_TILE > end) {
      if (RESIDUAL) break;  // no pixel may be computed twice
      col = end - MEGCC_DW_TILE;
    }
    megcc_dw_place(d, ptr, attr, row, col);
    for (size_t c = 0; c < whole; c += MEGCC_VL) megcc_dw_tile(d, c, next);
  }
  megcc_dw_pixels(d, ptr, attr, row, col, ow, 1);
#endif
}

// Output rows [begin, end) of n * oh.
MEGCC_INLINE void megcc_dw_by_tiles(void *const *ptr, const int32_t *attr, int32_t begin,
                                    int32_t end) {
  megcc_dw_pixel_t d = megcc_dw_pixel_setup(ptr, attr);
  for (int32_t row = begin; row < end; ++row) {
    megcc_dw_window(&d, attr, row);
    megcc_dw_row(&d, ptr, attr, row);
    megcc_dw_pixels(&d, ptr, attr, row, 0, attr[CONV2D_OW], 0);
  }
}

#endif
#endif  // MEGCC_DW_TILE_H
