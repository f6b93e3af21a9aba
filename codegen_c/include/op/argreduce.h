// op argreduce: where the extreme value of each line along the middle axis is.
//
//   inputs   x[OUTER, AXIS, INNER]; AXIS is at least 1
//   outputs  y[OUTER, INNER], i64
//   facts    dtype (of x), every attribute below in lower case, func (ARGREDUCE_*), last (of equal
//            values 1: the last one, 0: the first)
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
