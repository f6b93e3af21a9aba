// op conv2d: 2-D convolution with fused bias, residual add and activation, channels last.
//
//   inputs   x[N, H, W, IC], w (OHWI [OC, KH, KW, IC/G], or as the kernel packs it),
//            bias[OC] (always there; padded as the kernel packs it),
//            residual[N, OH, OW, OC] only when fact `residual` != 0
//   outputs  y[N, OH, OW, OC]
//   facts    dtype, every attribute below in lower case, act (MEGCC_ACT_*, see megcc_act.h),
//            residual (0: none, 1: added before the activation, 2: added after it)
#ifndef MEGCC_OP_CONV2D_H
#define MEGCC_OP_CONV2D_H
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
