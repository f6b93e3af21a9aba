// op qbinary: two tensors of 8 bits added or multiplied as the real numbers that they stand for.
//
//   in    a: A [size]
//   in    b: B [size // inner]
//   out   y: Y [size]
//   fact  func: QBINARY_*
//
// An element of `a` stands for (a - A_ZERO) * A_SCALE, one of `b` likewise. With v their sum or
// product, y is round(v / Y_SCALE + OFFSET) + Y_ZERO within LOW..HIGH. All of it is f32, every step
// rounded, halves to even: what ONNX's QuantizeLinear makes of two DequantizeLinear. OFFSET is a
// zero point that is added before rounding, as ONNX Runtime's QLinearAdd does. LOW and HIGH hold an
// activation that is a limit. y may be the memory of a, and of b where that has as many elements.
//
// `a` is [outer, INNER, PERIOD], `b` broadcasts as [outer, 1, PERIOD]: PERIOD is 1 for a scalar,
// the channels for one number each, SIZE where `b` has all elements.
#ifndef MEGCC_OP_QBINARY_H
#define MEGCC_OP_QBINARY_H

#define QBINARY_ADD 0
#define QBINARY_MUL 1

enum {
  QBINARY_SIZE,
  QBINARY_A_ZERO,  // zero points, as numbers of their types
  QBINARY_B_ZERO,
  QBINARY_A_SCALE,  // float bits
  QBINARY_B_SCALE,
  QBINARY_Y_SCALE,
  QBINARY_Y_ZERO,
  QBINARY_LOW,  // limits of y, of its type
  QBINARY_HIGH,
  QBINARY_OFFSET,  // float bits
  QBINARY_INNER,
  QBINARY_PERIOD,
  QBINARY_ATTRS
};
#endif  // MEGCC_OP_QBINARY_H
