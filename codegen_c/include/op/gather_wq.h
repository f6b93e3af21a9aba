// op gather_wq: y[k, i] = (x[r, i] - zero[r, b]) * scale[r, b] of r = index[k] and b = i / block.
//
//   in    x: i8 [axis, depth]
//   in    index: I [count]
//   in    scale: f32 [axis * ((depth + block - 1) // block)]
//   in    zero: i8 [axis * ((depth + block - 1) // block)] if zero
//   out   y: f32 [count, depth]
//   fact  bits: 4 8
//   fact  zero: 0 1
//
// x, scale and zero are constants, and stand as a product by them reads them (op matmul_wq), so
// that a package has them once: in panels of `nr` rows. `kr` 0: numbers as packing.py's wq_panels
// has them; else as wq_dots, with groups of `kr` numbers, and `flip`. Indices are those of op
// gather. `bits` 4: no number of x or zero is outside -8 .. 7.
#ifndef MEGCC_OP_GATHER_WQ_H
#define MEGCC_OP_GATHER_WQ_H
enum {
  GATHER_WQ_AXIS,   // rows of the table
  GATHER_WQ_DEPTH,  // numbers of a row
  GATHER_WQ_BLOCK,  // numbers that share a scale; the last block may be shorter
  GATHER_WQ_COUNT,
  GATHER_WQ_NR,
  GATHER_WQ_KR,
  GATHER_WQ_FLIP,
  GATHER_WQ_ATTRS
};
#endif  // MEGCC_OP_GATHER_WQ_H
