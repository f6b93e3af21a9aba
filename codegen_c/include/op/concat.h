// op concat: inputs side by side along one axis, for any element type.
//
//   in    x0..x15: T [outer, b# // sizeof(T)] if # < count
//   out   y: T
//
// xi is OUTER rows of Bi bytes (the axes from the concatenated one on), y OUTER rows of B0 + ... +
// B(COUNT - 1); Bi is 0 from i = COUNT on. With OUTER 1 an input may already lie in its place in y.
#ifndef MEGCC_OP_CONCAT_H
#define MEGCC_OP_CONCAT_H
enum {
  CONCAT_COUNT,  // inputs
  CONCAT_OUTER,
  CONCAT_B0,
  CONCAT_B15 = CONCAT_B0 + 15,
  CONCAT_ATTRS
};
#endif  // MEGCC_OP_CONCAT_H
