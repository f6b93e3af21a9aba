// op dequantize: 8-bit integers as real numbers, as ONNX's DequantizeLinear makes them.
//
//   in    x: X [size]
//   out   y: F [size]
//
// y is (x - ZERO) * SCALE.
#ifndef MEGCC_OP_DEQUANTIZE_H
#define MEGCC_OP_DEQUANTIZE_H
enum {
  DEQUANTIZE_SIZE,
  DEQUANTIZE_SCALE,  // float bits
  DEQUANTIZE_ZERO,   // zero point, as a number of its type
  DEQUANTIZE_ATTRS
};
#endif  // MEGCC_OP_DEQUANTIZE_H
