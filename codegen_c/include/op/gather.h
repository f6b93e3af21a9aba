// op gather: y[o, k, i] = x[o, index[k], i].
//
//   inputs   x[OUTER, AXIS, ROW_BYTES], index[COUNT]
//   outputs  y[OUTER, COUNT, ROW_BYTES]
//   facts    dtype (of x and y), every attribute below in lower case, index ("i32" or "i64")
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
