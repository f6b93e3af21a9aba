// op expand: broadcasting made real, up to 8 axes.
//
//   in    x: T [d0..d7]
//   out   y: T [o0..o7]
//
// Shorter shapes are padded in front with ones. SIZE elements of y; Oi is Di unless Di is 1.
#ifndef MEGCC_OP_EXPAND_H
#define MEGCC_OP_EXPAND_H
enum {
  EXPAND_SIZE,
  EXPAND_D0,
  EXPAND_D1,
  EXPAND_D2,
  EXPAND_D3,
  EXPAND_D4,
  EXPAND_D5,
  EXPAND_D6,
  EXPAND_D7,
  EXPAND_O0,
  EXPAND_O1,
  EXPAND_O2,
  EXPAND_O3,
  EXPAND_O4,
  EXPAND_O5,
  EXPAND_O6,
  EXPAND_O7,
  EXPAND_ATTRS
};
#endif  // MEGCC_OP_EXPAND_H
