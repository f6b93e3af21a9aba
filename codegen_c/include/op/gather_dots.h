// op gather_dots: y[k] = row index[k] of the weights that matmul_wq multiplies with rows in int8.
//
//   in    x: i8 [(axis + 15) // 16, (depth + 15) // 16 * 32 * bits]
//   in    index: I [count]
//   out   y: i8 [count, (depth * bits + 7) // 8]
//   fact  bits: 4 8
//   fact  kr: 1 2 4 8
//   fact  flip: 0 1
//
// Rows of a quantised table that stands as packing wq_dots makes it: steps of 16 numbers of 16
// rows, in each two halves of eight rows, in each half groups of `kr` numbers. `bits` 4: a byte of
// x holds a number of the lower eight of a step and one of the upper eight, a byte of y two
// neighbours, the first in its lower half; `flip`: 8 was added to each. Indices are those of op
// gather.
#ifndef MEGCC_OP_GATHER_DOTS_H
#define MEGCC_OP_GATHER_DOTS_H
enum {
  GATHER_DOTS_AXIS,   // rows of the table
  GATHER_DOTS_DEPTH,  // numbers of a row
  GATHER_DOTS_COUNT,
  GATHER_DOTS_ATTRS
};
#endif  // MEGCC_OP_GATHER_DOTS_H
