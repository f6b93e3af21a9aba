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
  CONCAT_COUNT,
  CONCAT_OUTER,
  CONCAT_B0,
  CONCAT_B1,
  CONCAT_B2,
  CONCAT_B3,
  CONCAT_B4,
  CONCAT_B5,
  CONCAT_B6,
  CONCAT_B7,
  CONCAT_B8,
  CONCAT_B9,
  CONCAT_B10,
  CONCAT_B11,
  CONCAT_B12,
  CONCAT_B13,
  CONCAT_B14,
  CONCAT_B15,
  CONCAT_ATTRS
};
#endif  // MEGCC_OP_CONCAT_H
