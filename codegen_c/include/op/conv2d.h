// op conv2d: 2-D convolution with fused bias, residual add and activation, channels last.
//
//   in    x: X [n, h, w, ic]
//   in    w: W [oc, kh, kw, ic // g]
//   in    bias: B [oc]
//   in    residual: Y [n, oh, ow, oc] if residual
//   out   y: Y [n, oh, ow, oc]
//   fact  act: MEGCC_ACT_*
//   fact  residual: 0 1 2
//
// `w` and `bias` are constants and come as the kernel packs them. `residual`: 0 none, 1 added
// before the activation, 2 after it.
#ifndef MEGCC_OP_CONV2D_H
#define MEGCC_OP_CONV2D_H

#include "megcc_act_codes.h"

enum {
  CONV2D_N,
  CONV2D_H,
  CONV2D_W,
  CONV2D_IC,
  CONV2D_OH,
  CONV2D_OW,
  CONV2D_OC,
  CONV2D_KH,
  CONV2D_KW,
  CONV2D_SH,
  CONV2D_SW,
  CONV2D_DH,
  CONV2D_DW,
  CONV2D_PT,
  CONV2D_PL,
  CONV2D_PB,
  CONV2D_PR,
  CONV2D_G,
  CONV2D_ACT_A,  // float bits: first parameter of the activation
  CONV2D_ACT_B,  // float bits: second parameter of the activation
  CONV2D_ATTRS
};
#endif  // MEGCC_OP_CONV2D_H
