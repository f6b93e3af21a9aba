// op pool2d: max or average over windows, channels last.
//
//   in    x: T [n, h, w, c]
//   out   y: T [n, oh, ow, c]
//   fact  func: POOL2D_*
//   fact  count_include_pad: 0 1
//
// ceil_mode is a matter of OH and OW: windows that reach past H + PB or W + PR are cut there. An
// average divides by the window's elements inside the image, or, when COUNT_INCLUDE_PAD is 1, by
// those inside the padded image. Every window must touch the image.
#ifndef MEGCC_OP_POOL2D_H
#define MEGCC_OP_POOL2D_H
#define POOL2D_MAX 0
#define POOL2D_AVG 1
enum {
  POOL2D_N,
  POOL2D_H,
  POOL2D_W,
  POOL2D_C,
  POOL2D_OH,
  POOL2D_OW,
  POOL2D_KH,
  POOL2D_KW,
  POOL2D_SH,
  POOL2D_SW,
  POOL2D_DH,
  POOL2D_DW,
  POOL2D_PT,
  POOL2D_PL,
  POOL2D_PB,
  POOL2D_PR,
  POOL2D_COUNT_INCLUDE_PAD,
  POOL2D_ATTRS
};
#endif  // MEGCC_OP_POOL2D_H
