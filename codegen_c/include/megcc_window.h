// The part of a window that lies in the image, along one axis.
#ifndef MEGCC_WINDOW_H
#define MEGCC_WINDOW_H

#include "megcc_kernel.h"

typedef struct {
  int32_t origin;  // coordinate of tap 0, may be negative
  int32_t begin;   // first tap inside the image
  int32_t end;     // one past the last tap inside the image
  int32_t padded;  // taps inside the padded image
} megcc_window_t;

// Window number `o` of `taps` taps, over `size` elements padded by `before` and `after`.
MEGCC_INLINE megcc_window_t megcc_window(int32_t o, int32_t taps, int32_t stride, int32_t dilation,
                                         int32_t size, int32_t before, int32_t after) {
  megcc_window_t w;
  w.origin = o * stride - before;
  if (w.origin >= 0 && w.origin + (taps - 1) * dilation < size) {  // most are, and need no division
    w.begin = 0;
    w.end = w.padded = taps;
    return w;
  }
  w.begin = w.origin < 0 ? (-w.origin + dilation - 1) / dilation : 0;
  const int32_t inside = (size - w.origin + dilation - 1) / dilation;
  const int32_t padded = (size + after - w.origin + dilation - 1) / dilation;
  w.end = inside < taps ? inside : taps;
  w.padded = padded < taps ? padded : taps;
  return w;
}

#endif  // MEGCC_WINDOW_H
