// op conv2d_computed: conv2d whose weights are computed at run time.
//
//   in    x: X [n, h, w, ic]
//   in    w: W [oc, kh, kw, ic // g]
//   in    bias: B [oc]
//   in    residual: Y [n, oh, ow, oc] if residual
//   out   y: Y [n, oh, ow, oc]
//   fact  act: MEGCC_ACT_*
//   fact  residual: 0 1 2
//
// Attributes are in the order of op/conv2d.h, which kernels read them by. `residual` is as there.
#ifndef MEGCC_OP_CONV2D_COMPUTED_H
#define MEGCC_OP_CONV2D_COMPUTED_H

#include "megcc_act_codes.h"

enum {
  CONV2D_COMPUTED_N,
  CONV2D_COMPUTED_H,
  CONV2D_COMPUTED_W,
  CONV2D_COMPUTED_IC,
  CONV2D_COMPUTED_OH,
  CONV2D_COMPUTED_OW,
  CONV2D_COMPUTED_OC,
  CONV2D_COMPUTED_KH,
  CONV2D_COMPUTED_KW,
  CONV2D_COMPUTED_SH,
  CONV2D_COMPUTED_SW,
  CONV2D_COMPUTED_DH,
  CONV2D_COMPUTED_DW,
  CONV2D_COMPUTED_PT,
  CONV2D_COMPUTED_PL,
  CONV2D_COMPUTED_PB,
  CONV2D_COMPUTED_PR,
  CONV2D_COMPUTED_G,
  CONV2D_COMPUTED_ACT_A,  // float bits: first parameter of the activation
  CONV2D_COMPUTED_ACT_B,  // float bits: second parameter of the activation
  CONV2D_COMPUTED_ATTRS
};
#endif  // MEGCC_OP_CONV2D_COMPUTED_H
