// op softmax: y = exp(x - max) / sum(exp(x - max)) along the middle axis, or its logarithm.
//
//   in    x: T [outer, axis, inner]
//   out   y: T [outer, axis, inner]
//   fact  log: 0 1
//
// `log` 1 is log_softmax. y may be the memory of x.
#ifndef MEGCC_OP_SOFTMAX_H
#define MEGCC_OP_SOFTMAX_H
enum {
  SOFTMAX_OUTER,  // product of the axes before
  SOFTMAX_AXIS,
  SOFTMAX_INNER,  // product of the axes behind
  SOFTMAX_ATTRS
};
#endif  // MEGCC_OP_SOFTMAX_H
