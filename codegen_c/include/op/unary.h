// op unary: y[i] = func(x[i]).
//
//   in    x: T [size]
//   out   y: T [size]
//   fact  func: MEGCC_ACT_* UNARY_*
//
// An activation's parameters are ACT_A and ACT_B. y may be the memory of x.
//
// ROUND is to nearest, ties to even. SIGN of a NaN is the NaN, of a zero the zero.
#ifndef MEGCC_OP_UNARY_H
#define MEGCC_OP_UNARY_H

#include "megcc_act_codes.h"

#define UNARY_EXP 32
#define UNARY_LOG 33
#define UNARY_SQRT 34
#define UNARY_RSQRT 35
#define UNARY_NEG 36
#define UNARY_ABS 37
#define UNARY_FLOOR 38
#define UNARY_CEIL 39
#define UNARY_ROUND 40
#define UNARY_ERF 41
#define UNARY_SIN 42
#define UNARY_COS 43
#define UNARY_SIGN 46
#define UNARY_SQUARE 47
#define UNARY_TRUNC 48
enum {
  UNARY_SIZE,
  UNARY_ACT_A,  // float bits: first parameter of the activation
  UNARY_ACT_B,  // float bits: second parameter of the activation
  UNARY_ATTRS
};
#endif  // MEGCC_OP_UNARY_H
