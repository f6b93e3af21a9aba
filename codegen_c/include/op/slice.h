// op slice: y[i] = x[B + i * S] along every axis, up to 8 axes.
//
//   in    x: T [d0..d7]
//   out   y: T [o0..o7]
//
// A shorter shape is padded in front with ones (B 0, S 1, O 1). SIZE elements of y.
//
// Si may be negative; Bi and Bi + (Oi - 1) * Si are inside [0, Di).
#ifndef MEGCC_OP_SLICE_H
#define MEGCC_OP_SLICE_H
enum {
  SLICE_SIZE,
  SLICE_D0,
  SLICE_D7 = SLICE_D0 + 7,
  SLICE_B0,
  SLICE_B7 = SLICE_B0 + 7,
  SLICE_S0,
  SLICE_S7 = SLICE_S0 + 7,
  SLICE_O0,
  SLICE_O7 = SLICE_O0 + 7,
  SLICE_ATTRS
};
#endif  // MEGCC_OP_SLICE_H
