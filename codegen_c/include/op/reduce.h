// op reduce: one number per line along the middle axis.
//
//   in    x: T [outer, axis, inner]
//   out   y: T [outer, inner]
//   fact  func: REDUCE_*
//
// Integers have SUM, MAX, MIN and PROD, which wrap.
//
// An empty axis gives 0 for sums, 1 for PROD, the infinity (or the integer) that loses for MAX and
// MIN, NaN for MEAN.
#ifndef MEGCC_OP_REDUCE_H
#define MEGCC_OP_REDUCE_H
#define REDUCE_SUM 0
#define REDUCE_MEAN 1
#define REDUCE_MAX 2
#define REDUCE_MIN 3
#define REDUCE_PROD 4
enum {
  REDUCE_OUTER,  // product of the axes before
  REDUCE_AXIS,
  REDUCE_INNER,  // product of the axes behind
  REDUCE_ATTRS
};
#endif  // MEGCC_OP_REDUCE_H
