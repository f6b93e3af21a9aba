// op qresize2d: linear sampling of an image of 8-bit integers on another grid, channels last.
//
//   in    x: X [n, h, w, c]
//   out   y: Y [n, oh, ow, c]
//   fact  coord: RESIZE2D_HALF_PIXEL RESIZE2D_ALIGN_CORNERS RESIZE2D_ASYMMETRIC
//   fact  coord: RESIZE2D_PYTORCH_HALF_PIXEL
//   fact  round: QRESIZE2D_EVEN QRESIZE2D_CUT
//   fact  sixteenths: 0 1
//
// Pixels and weights are those of op/resize2d.h with the scales OH / H and OW / W. With p and q the
// (x - X_ZERO) of two rows and u the weight of the lower one, a column's value is p + (q - p) * u;
// that of two columns, v, is mixed of theirs likewise. All of it is f32, every step rounded. EVEN:
// y is round(v * SCALE) + Y_ZERO within LOW..HIGH, halves to even. CUT: y is v without its
// fraction, as ONNX's Resize of integers has it; X and Y are alike, zero points 0, SCALE 1, the
// limits those of the type.
//
// `sixteenths` says that all weights are multiples of 1/16: then v * 256 is an integer of 17 bits,
// which f32 holds, and no step rounds.
#ifndef MEGCC_OP_QRESIZE2D_H
#define MEGCC_OP_QRESIZE2D_H

#include "op/resize2d.h"

#define QRESIZE2D_EVEN 0
#define QRESIZE2D_CUT 1
enum {
  QRESIZE2D_N,
  QRESIZE2D_C,
  QRESIZE2D_H,
  QRESIZE2D_W,
  QRESIZE2D_OH,
  QRESIZE2D_OW,
  QRESIZE2D_COORD,   // RESIZE2D_HALF_PIXEL, ...
  QRESIZE2D_X_ZERO,  // zero points, as numbers of their types
  QRESIZE2D_Y_ZERO,
  QRESIZE2D_LOW,  // limits of y, of its type
  QRESIZE2D_HIGH,
  QRESIZE2D_SCALE,  // float bits: of x over that of y
  QRESIZE2D_ATTRS
};
#endif  // MEGCC_OP_QRESIZE2D_H
