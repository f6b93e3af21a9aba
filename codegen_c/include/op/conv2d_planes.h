// op conv2d_planes: 2-D convolution of planes, one per channel, with fused bias and activation.
//
//   in    x: X [n, ic, h, w]
//   in    w: W [oc, kh, kw, ic]
//   in    bias: B [oc]
//   in    pad: P [ic]
//   out   y: Y [n, oh, ow, oc]
//   fact  act: MEGCC_ACT_*
//
// Models are given images as planes; the result is channels last. `w`, `bias` and `pad` are
// constants; `w` comes as the kernel packs it. `pad` is the value of each channel outside of the
// image: where x + shift is what the weights are for, -shift. With LINES 1 the planes of a row are
// together: x is [n, h, ic, w].
#ifndef MEGCC_OP_CONV2D_PLANES_H
#define MEGCC_OP_CONV2D_PLANES_H

#include "megcc_act_codes.h"

enum {
  CONV2D_PLANES_N,
  CONV2D_PLANES_H,
  CONV2D_PLANES_W,
  CONV2D_PLANES_IC,
  CONV2D_PLANES_OH,
  CONV2D_PLANES_OW,
  CONV2D_PLANES_OC,
  CONV2D_PLANES_KH,
  CONV2D_PLANES_KW,
  CONV2D_PLANES_SH,
  CONV2D_PLANES_SW,
  CONV2D_PLANES_DH,
  CONV2D_PLANES_DW,
  CONV2D_PLANES_PT,
  CONV2D_PLANES_PL,
  CONV2D_PLANES_PB,
  CONV2D_PLANES_PR,
  CONV2D_PLANES_ACT_A,  // float bits: first parameter of the activation
  CONV2D_PLANES_ACT_B,  // float bits: second parameter of the activation
  CONV2D_PLANES_LINES,  // 0, or 1: by rows, in each the lines of all planes
  CONV2D_PLANES_ATTRS
};
#endif  // MEGCC_OP_CONV2D_PLANES_H
