// Depthwise convolution of 8-bit integers with a 3x3 or 5x5 kernel, stride 1 or 2.
//
// One vector of channels after another runs along one or two output rows (megcc_qdw_rows.h) with
// the columns that the kernel covers in registers, in the form of megcc_qdw_widened.h, or where
// MEGCC_QDW_DOT is defined of megcc_qdw_dot.h. Input rows in the padding are one vector of zero
// points that is read again and again. The last channels that fill no vector are those of a whole
// one that ends with them.
//
// The including kernel defines DW_K (3 or 5), STRIDE (1 or 2) and what megcc_q8.h wants, and
// accepts only calls that have a vector of channels, and left padding of at most DW_K - STRIDE
// columns.
#ifndef MEGCC_QDW_H
#define MEGCC_QDW_H

#include "megcc_qdw_pixel.h"

#if MEGCC_FEW_REGISTERS  // which hold neither a row of taps nor their columns
#define megcc_qdw megcc_qdw_by_pixels
#else

// Output rows at once: two where their columns and all taps fit into registers.
#if DW_K == 3 && (defined(__aarch64__) || defined(__AVX512F__))
#define MEGCC_QDW_MOST 2
#else
#define MEGCC_QDW_MOST 1
#endif
#define MEGCC_QDW_MOST_IN ((MEGCC_QDW_MOST - 1) * STRIDE + DW_K)

typedef struct {
  const MEGCC_CTYPE(X) *
      at[MEGCC_QDW_MOST_IN];          // first column of each row; zero points in the padding
  ptrdiff_t step[MEGCC_QDW_MOST_IN];  // from column to column; 0 in the padding
  const int8_t *w;
  const int32_t *bias;
  MEGCC_CTYPE(Y) * dst;
  const megcc_rescale *rescale;
  ptrdiff_t channels, out_row;  // elements from an output row to the next
  int32_t pads, width, outs;    // columns of the left padding, of the image, of the output
  int32_t zero, w_zero;
} megcc_qdw_t;

#ifdef MEGCC_QDW_DOT
#include "megcc_qdw_dot.h"
#else
#include "megcc_qdw_widened.h"
#endif

#define MEGCC_QDW_NAME_(tall) megcc_qdw_rows_##tall
#define MEGCC_QDW_NAME(tall) MEGCC_QDW_NAME_(tall)
#define MEGCC_QDW_TALL 1
#include "megcc_qdw_rows.h"
#if MEGCC_QDW_MOST == 2
#define MEGCC_QDW_TALL 2
#include "megcc_qdw_rows.h"
#endif

// Output rows [begin, end) of n * oh.
MEGCC_INLINE void megcc_qdw(void *const *ptr, const int32_t *attr, int32_t begin, int32_t end) {
  const megcc_qdw_pixel_t all = megcc_qdw_pixel_setup(ptr, attr);
  const int32_t h = attr[QCONV2D_H], oh = attr[QCONV2D_OH];
  MEGCC_CTYPE(X) zeros[MEGCC_Q8_LANES];
  megcc_qdw_t d;
  for (int l = 0; l < MEGCC_Q8_LANES; ++l) zeros[l] = (MEGCC_CTYPE(X))all.zero;
  d.w = all.w;
  d.bias = all.bias;
  d.rescale = &all.rescale;
  d.channels = all.channels;
  d.zero = all.zero;
  d.w_zero = all.w_zero;
  d.pads = attr[QCONV2D_PL];
  d.width = attr[QCONV2D_W];
  d.outs = attr[QCONV2D_OW];
  d.out_row = d.outs * d.channels;
  for (int32_t row = begin; row < end;) {
    const MEGCC_CTYPE(X) *image =
        (const MEGCC_CTYPE(X) *)ptr[0] + (ptrdiff_t)(row / oh) * h * d.width * d.channels;
    const int32_t below = oh - row % oh, left = below < end - row ? below : end - row;
    const int32_t tall = left < MEGCC_QDW_MOST ? left : MEGCC_QDW_MOST;
    const int32_t top = row % oh * STRIDE - attr[QCONV2D_PT];
    for (int32_t i = 0; i < (tall - 1) * STRIDE + DW_K; ++i) {
      const int inside = top + i >= 0 && top + i < h;
      d.at[i] = inside ? image + (ptrdiff_t)(top + i) * d.width * d.channels : zeros;
      d.step[i] = inside ? d.channels : 0;
    }
    d.dst = (MEGCC_CTYPE(Y) *)MEGCC_QUANT_DST(ptr, 3) + row * d.out_row;
#if MEGCC_QDW_MOST == 2
    if (tall == 2) megcc_qdw_rows_2(&d);
#endif
    if (tall == 1) megcc_qdw_rows_1(&d);
    row += tall;
  }
}

#endif
#endif  // MEGCC_QDW_H
