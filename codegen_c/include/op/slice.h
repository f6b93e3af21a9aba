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
  SLICE_D1,
  SLICE_D2,
  SLICE_D3,
  SLICE_D4,
  SLICE_D5,
  SLICE_D6,
  SLICE_D7,
  SLICE_B0,
  SLICE_B1,
  SLICE_B2,
  SLICE_B3,
  SLICE_B4,
  SLICE_B5,
  SLICE_B6,
  SLICE_B7,
  SLICE_S0,
  SLICE_S1,
  SLICE_S2,
  SLICE_S3,
  SLICE_S4,
  SLICE_S5,
  SLICE_S6,
  SLICE_S7,
  SLICE_O0,
  SLICE_O1,
  SLICE_O2,
  SLICE_O3,
  SLICE_O4,
  SLICE_O5,
  SLICE_O6,
  SLICE_O7,
  SLICE_ATTRS
};
#endif  // MEGCC_OP_SLICE_H
