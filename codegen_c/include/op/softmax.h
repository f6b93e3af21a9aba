// op softmax: y = exp(x - max) / sum(exp(x - max)) along the middle axis, or its logarithm.
//
//   inputs   x[OUTER, AXIS, INNER]
//   outputs  y[OUTER, AXIS, INNER]; may be the memory of x
//   facts    dtype, every attribute below in lower case, log (1: log_softmax)
#ifndef MEGCC_OP_SOFTMAX_H
#define MEGCC_OP_SOFTMAX_H
enum {
  SOFTMAX_OUTER,  // product of the axes before
  SOFTMAX_AXIS,
  SOFTMAX_INNER,  // product of the axes behind
  SOFTMAX_ATTRS
};
#endif  // MEGCC_OP_SOFTMAX_H
