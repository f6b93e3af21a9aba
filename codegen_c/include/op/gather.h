// op gather: y[o, k, i] = x[o, index[k], i].
//
//   in    x: T [outer, axis, row_bytes // sizeof(T)]
//   in    index: I [count]
//   out   y: T [outer, count, row_bytes // sizeof(T)]
//
// A negative index counts from the end. An index outside [-AXIS, AXIS), which ONNX forbids, takes
// the nearest element, so that nothing outside x is read.
#ifndef MEGCC_OP_GATHER_H
#define MEGCC_OP_GATHER_H
enum {
  GATHER_OUTER,  // product of the axes before
  GATHER_AXIS,
  GATHER_ROW_BYTES,  // bytes of the axes behind
  GATHER_COUNT,
  GATHER_ATTRS
};
#endif  // MEGCC_OP_GATHER_H
