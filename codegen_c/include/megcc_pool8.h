// The windows of pooling over bytes: the body of the kernels of 8-bit pool2d and of qpool2d.
//
// A kernel defines MEGCC_POOL(name), its operator's attribute, before it includes this header, and
// gives a function for one pixel of y.
#ifndef MEGCC_POOL8_H
#define MEGCC_POOL8_H

#include "megcc_window.h"

// The elements of one window that are in the image: rows of `cols` pixels of `channels` bytes.
typedef struct {
  const uint8_t *src;
  int32_t rows, cols, channels;
  ptrdiff_t row_step, col_step;  // bytes
  int32_t count;                 // elements by which an average divides
  ptrdiff_t
      left;  // bytes from `src` to the end of x, and from the pixel of y to the end of its row
  ptrdiff_t room;
} megcc_pool8_t;

typedef void (*megcc_pool8_pixel_fn)(const void *how, const megcc_pool8_t *t, uint8_t *dst);

// Rows begin..end of y; `how` goes to `pixel`.
MEGCC_INLINE void megcc_pool8(void *const *ptr, const int32_t *attr, int32_t begin, int32_t end,
                              megcc_pool8_pixel_fn pixel, const void *how) {
  const uint8_t *x = ptr[0];
  uint8_t *y = ptr[1];
  const int32_t height = attr[MEGCC_POOL(H)], width = attr[MEGCC_POOL(W)];
  const int32_t oh = attr[MEGCC_POOL(OH)], ow = attr[MEGCC_POOL(OW)], c = attr[MEGCC_POOL(C)];
  const int32_t dh = attr[MEGCC_POOL(DH)], dw = attr[MEGCC_POOL(DW)];
  const ptrdiff_t size = (ptrdiff_t)attr[MEGCC_POOL(N)] * height * width * c;
  megcc_pool8_t t;
  t.channels = c;
  t.row_step = (ptrdiff_t)dh * width * c, t.col_step = (ptrdiff_t)dw * c;
  for (int32_t row = begin; row < end; ++row) {
    const megcc_window_t v = megcc_window(row % oh, attr[MEGCC_POOL(KH)], attr[MEGCC_POOL(SH)], dh,
                                          height, attr[MEGCC_POOL(PT)], attr[MEGCC_POOL(PB)]);
    const ptrdiff_t from = ((ptrdiff_t)(row / oh) * height + v.origin + v.begin * dh) * width;
    uint8_t *dst = y + (ptrdiff_t)row * ow * c;
    t.rows = v.end - v.begin;
    t.room = (ptrdiff_t)ow * c;
    for (int32_t col = 0; col < ow; ++col, dst += c, t.room -= c) {
      const megcc_window_t u = megcc_window(col, attr[MEGCC_POOL(KW)], attr[MEGCC_POOL(SW)], dw,
                                            width, attr[MEGCC_POOL(PL)], attr[MEGCC_POOL(PR)]);
      const ptrdiff_t at = (from + u.origin + u.begin * dw) * c;
      t.src = x + at;
      t.left = size - at;
      t.cols = u.end - u.begin;
      t.count = attr[MEGCC_POOL(COUNT_INCLUDE_PAD)] ? v.padded * u.padded : t.rows * t.cols;
      pixel(how, &t, dst);
    }
  }
}

#endif  // MEGCC_POOL8_H
