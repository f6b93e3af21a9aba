// op transpose: axis i of the output is axis Pi of the input, up to 8 axes.
//
//   in    x: T [d0..d7]
//   out   y: T [size]
//
// y is [D(P0), ..., D(P7)]. A shorter shape is padded in front with ones, and its permutation with
// the same axes in place: [2, 0, 1] of three axes is [0, 1, 2, 3, 4, 7, 5, 6].
#ifndef MEGCC_OP_TRANSPOSE_H
#define MEGCC_OP_TRANSPOSE_H
enum {
  TRANSPOSE_SIZE,
  TRANSPOSE_D0,
  TRANSPOSE_D7 = TRANSPOSE_D0 + 7,
  TRANSPOSE_P0,
  TRANSPOSE_P7 = TRANSPOSE_P0 + 7,
  TRANSPOSE_ATTRS
};
#endif  // MEGCC_OP_TRANSPOSE_H
