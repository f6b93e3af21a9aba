// op lut: y[i] = table[byte of x[i]]: any function of 8 bits that gives 8 bits.
//
//   in    x: X [size]
//   in    table: Y [256]
//   out   y: Y [size]
//
// The table is in the order of the bytes: that of an i8 of -1 is the last one. y may be the memory
// of x.
#ifndef MEGCC_OP_LUT_H
#define MEGCC_OP_LUT_H

enum {
  LUT_SIZE,  // elements
  LUT_ATTRS
};

#endif  // MEGCC_OP_LUT_H
