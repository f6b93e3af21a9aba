// op quantize: real numbers as 8-bit integers, as ONNX's QuantizeLinear makes them.
//
//   in    x: F [size]
//   out   y: Y [size]
//
// y is round(x / SCALE) + ZERO, halves to even, within the limits of its type; a NaN is the lower
// one. SCALE is more than 0.
#ifndef MEGCC_OP_QUANTIZE_H
#define MEGCC_OP_QUANTIZE_H
enum {
  QUANTIZE_SIZE,
  QUANTIZE_SCALE,  // float bits
  QUANTIZE_ZERO,   // zero point, as a number of its type
  QUANTIZE_ATTRS
};
#endif  // MEGCC_OP_QUANTIZE_H
