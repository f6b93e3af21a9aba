// op qsoftmax: softmax of 8-bit integers along an axis, as 8-bit integers.
//
//   in    x: X [outer, axis, inner]
//   in    table: T [256]
//   out   y: Y [outer, axis, inner]
//
// table[d] is exp(-d * scale of x), for every d that the largest element along the axis is
// more than another one: it is all that a softmax knows of x. With e[i] the entries of the elements
// along it and S their sum, one after the other from the first on, y[i] is round(e[i] * (1 / (S *
// Y_SCALE))) + Y_ZERO within LOW..HIGH: all of it is f32, every step rounded, halves to even. y may
// be the memory of x.
//
// A table of i32 has round(2^30 * exp(-d * scale of x)). Then all of it is integers: S is exact,
// and with R the reciprocal of S * Y_SCALE, cut off after 31 or 32 significant bits, y[i] is e[i] *
// R in whole steps, halves up, plus Y_ZERO within LOW..HIGH. Y_SCALE is at least 2^-20. A result
// differs from that of the table of f32 by at most 1, along axes of up to 32,768 elements.
#ifndef MEGCC_OP_QSOFTMAX_H
#define MEGCC_OP_QSOFTMAX_H
enum {
  QSOFTMAX_OUTER,
  QSOFTMAX_AXIS,
  QSOFTMAX_INNER,
  QSOFTMAX_Y_SCALE,  // float bits
  QSOFTMAX_Y_ZERO,
  QSOFTMAX_LOW,  // limits of y, of its type
  QSOFTMAX_HIGH,
  QSOFTMAX_ATTRS
};
#endif  // MEGCC_OP_QSOFTMAX_H
