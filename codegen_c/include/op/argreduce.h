// op argreduce: where the extreme value of each line along the middle axis is.
//
//   in    x: T [outer, axis, inner]
//   out   y: i64 [outer, inner]
//   fact  func: ARGREDUCE_*
//   fact  last: 0 1
//
// AXIS is at least 1. `last`: of equal values 1 the last one, 0 the first.
#ifndef MEGCC_OP_ARGREDUCE_H
#define MEGCC_OP_ARGREDUCE_H
#define ARGREDUCE_MAX 0
#define ARGREDUCE_MIN 1
enum {
  ARGREDUCE_OUTER,  // product of the axes before
  ARGREDUCE_AXIS,
  ARGREDUCE_INNER,  // product of the axes behind
  ARGREDUCE_ATTRS
};
#endif  // MEGCC_OP_ARGREDUCE_H
