// op where: y = condition ? x : otherwise, with NumPy broadcasting, up to 8 axes.
//
//   in    condition: bool [c0..c7]
//   in    x: T [x0..x7]
//   in    otherwise: T [y0..y7]
//   out   y: T [size]
//
// Shorter shapes are padded in front with ones.
#ifndef MEGCC_OP_WHERE_H
#define MEGCC_OP_WHERE_H
enum {
  WHERE_SIZE,
  WHERE_C0,
  WHERE_C1,
  WHERE_C2,
  WHERE_C3,
  WHERE_C4,
  WHERE_C5,
  WHERE_C6,
  WHERE_C7,
  WHERE_X0,
  WHERE_X1,
  WHERE_X2,
  WHERE_X3,
  WHERE_X4,
  WHERE_X5,
  WHERE_X6,
  WHERE_X7,
  WHERE_Y0,
  WHERE_Y1,
  WHERE_Y2,
  WHERE_Y3,
  WHERE_Y4,
  WHERE_Y5,
  WHERE_Y6,
  WHERE_Y7,
  WHERE_ATTRS
};
#endif  // MEGCC_OP_WHERE_H
