// op binary: y = act(func(lhs, rhs)) with NumPy broadcasting, up to 8 axes.
//
//   in    lhs: T [l0..l7]
//   in    rhs: T [r0..r7]
//   out   y: T [size]
//   fact  func: BINARY_*
//   fact  act: MEGCC_ACT_*
//
// Shorter shapes are padded in front with ones. y may be the memory of an input of the same size.
//
// f32: ADD, SUB, MUL, DIV, MIN, MAX, POW, PRELU (lhs < 0 ? lhs * rhs : lhs; rhs is the slope). The
// minimum and maximum of a NaN are NaN. Integers: ADD to MAX; they wrap, DIV truncates, and x / 0
// is 0, as on Arm.
#ifndef MEGCC_OP_BINARY_H
#define MEGCC_OP_BINARY_H

#include "megcc_act_codes.h"

#define BINARY_ADD 0
#define BINARY_SUB 1
#define BINARY_MUL 2
#define BINARY_DIV 3
#define BINARY_MIN 4
#define BINARY_MAX 5
#define BINARY_POW 6
#define BINARY_PRELU 7
enum {
  BINARY_SIZE,
  BINARY_L0,
  BINARY_L7 = BINARY_L0 + 7,
  BINARY_R0,
  BINARY_R7 = BINARY_R0 + 7,
  BINARY_ACT_A,  // float bits: first parameter of the activation
  BINARY_ACT_B,  // float bits: second parameter of the activation
  BINARY_ATTRS
};
#endif  // MEGCC_OP_BINARY_H
