// op cast: y[i] = x[i] as another type of float.
//
//   in    x: X [size]
//   out   y: Y [size]
//   fact  saturate: 0 1
//
// `saturate`: a finite number past the largest of Y becomes that; else it becomes infinity.
#ifndef MEGCC_OP_CAST_H
#define MEGCC_OP_CAST_H
enum {
  CAST_SIZE,  // elements
  CAST_ATTRS
};
#endif  // MEGCC_OP_CAST_H
