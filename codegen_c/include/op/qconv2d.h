// op qconv2d: 2-D convolution of 8-bit integers with i32 sums, rescaled, channels last.
//
//   in    x: X [n, h, w, ic]
//   in    w: W [oc, kh, kw, ic // g]
//   in    bias: B [oc]
//   in    scale: F [oc if channel_scales else 1] if out != 0
//   in    offset: F [oc] if offset
//   in    zero: Z [1] if zero_operand
//   out   y: Y [n, oh, ow, oc]
//   fact  act: MEGCC_ACT_*
//   fact  out: MEGCC_QUANT_*
//   fact  channel_scales: 0 1
//   fact  offset: 0 1
//   fact  zero_operand: 0 1
//   fact  narrow: 0 1
//
// The sum of output channel o is bias[o] plus, over the taps, (x - zero point) * (w[o] - W_ZERO);
// outside of the image x is the zero point: X_ZERO, or the operand `zero` where that is known at
// run time only. `w` and `bias` are constants and come as the kernel packs them. W_ZERO is 0
// wherever the weights less their zero point fit into signed bytes: it is needed for unsigned
// weights with a zero point that is not 128. `narrow`: W_ZERO is 0 and no weight is -128, so that
// two products of them fit into 16 bits. `out` says what becomes of the sum, in f32, multiplication
// and addition each rounded (megcc_requant.h). `scale` is a constant wherever `channel_scales`
// is 1. LOW and HIGH hold an activation that is a limit; `act` is another one, and 0 where `out` is
// not MEGCC_QUANT_REAL.
#ifndef MEGCC_OP_QCONV2D_H
#define MEGCC_OP_QCONV2D_H

#include "megcc_act_codes.h"
#include "megcc_quant_codes.h"

enum {
  QCONV2D_N,
  QCONV2D_H,
  QCONV2D_W,
  QCONV2D_IC,
  QCONV2D_OH,
  QCONV2D_OW,
  QCONV2D_OC,
  QCONV2D_KH,
  QCONV2D_KW,
  QCONV2D_SH,
  QCONV2D_SW,
  QCONV2D_DH,
  QCONV2D_DW,
  QCONV2D_PT,
  QCONV2D_PL,
  QCONV2D_PB,
  QCONV2D_PR,
  QCONV2D_G,
  QCONV2D_X_ZERO,  // x's zero point, as a number of its type; 0 where it is an operand
  QCONV2D_W_ZERO,  // that of all weights
  QCONV2D_Y_ZERO,  // y's, 0 where y is not MEGCC_QUANT_STORED
  QCONV2D_LOW,     // limits of y, of its type: where y is MEGCC_QUANT_STORED
  QCONV2D_HIGH,
  QCONV2D_ACT_A,  // float bits: first parameter of the activation
  QCONV2D_ACT_B,  // float bits: second parameter of the activation
  QCONV2D_ATTRS
};
#endif  // MEGCC_OP_QCONV2D_H
