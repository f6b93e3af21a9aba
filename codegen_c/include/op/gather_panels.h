// op gather_panels: y[k, i] = x[index[k] / nr, i, index[k] % nr].
//
//   in    x: T [(axis + nr - 1) // nr, depth, nr]
//   in    index: I [count]
//   out   y: T [count, depth]
//
// Rows of a table that stands as a matrix product reads it, in panels of `nr` columns. Indices are
// those of op gather.
#ifndef MEGCC_OP_GATHER_PANELS_H
#define MEGCC_OP_GATHER_PANELS_H
enum {
  GATHER_PANELS_AXIS,   // rows of the table
  GATHER_PANELS_DEPTH,  // elements of a row
  GATHER_PANELS_NR,
  GATHER_PANELS_COUNT,
  GATHER_PANELS_ATTRS
};
#endif  // MEGCC_OP_GATHER_PANELS_H
