// op qpool2d: averages over windows of 8-bit integers, channels last.
//
//   in    x: X [n, h, w, c]
//   out   y: Y [n, oh, ow, c]
//   fact  func: QPOOL2D_*
//   fact  count_include_pad: 0 1
//
// A window's sum is that of (x - X_ZERO) over its elements inside the image, as i32. QPOOL2D_AVG
// divides it by the number of elements that op/pool2d.h counts; QPOOL2D_SUM does not. With v the
// result, y is round(v * SCALE + OFFSET) + Y_ZERO within LOW..HIGH: all of it is f32, every step
// rounded, halves to even. So the average of a tensor whose scale is the result's rounds to where
// the exact quotient does, a tie included. OFFSET is a zero point that is added before rounding, as
// ONNX Runtime's QLinearAveragePool does. Windows are those of op/pool2d.h.
#ifndef MEGCC_OP_QPOOL2D_H
#define MEGCC_OP_QPOOL2D_H
#define QPOOL2D_AVG 0
#define QPOOL2D_SUM 1
enum {
  QPOOL2D_N,
  QPOOL2D_H,
  QPOOL2D_W,
  QPOOL2D_C,
  QPOOL2D_OH,
  QPOOL2D_OW,
  QPOOL2D_KH,
  QPOOL2D_KW,
  QPOOL2D_SH,
  QPOOL2D_SW,
  QPOOL2D_DH,
  QPOOL2D_DW,
  QPOOL2D_PT,
  QPOOL2D_PL,
  QPOOL2D_PB,
  QPOOL2D_PR,
  QPOOL2D_COUNT_INCLUDE_PAD,
  QPOOL2D_X_ZERO,  // zero points, as numbers of their types
  QPOOL2D_Y_ZERO,
  QPOOL2D_LOW,  // limits of y, of its type
  QPOOL2D_HIGH,
  QPOOL2D_SCALE,   // float bits: of x over that of y
  QPOOL2D_OFFSET,  // float bits
  QPOOL2D_ATTRS
};
#endif  // MEGCC_OP_QPOOL2D_H
