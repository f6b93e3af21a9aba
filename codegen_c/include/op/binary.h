// op binary: y = act(func(lhs, rhs)) with NumPy broadcasting, up to 8 axes.
//
//   inputs   lhs[L0, ..., L7], rhs[R0, ..., R7]; shorter shapes are padded in front with ones
//   outputs  y, SIZE elements; may be the memory of an input of the same size
//   facts    dtype, every attribute below in lower case, func (BINARY_*), act (MEGCC_ACT_*, 0
//            unless f32)
//
// f32: ADD, SUB, MUL, DIV, MIN, MAX, POW, PRELU (lhs < 0 ? lhs * rhs : lhs; rhs is the slope). The
// minimum and maximum of a NaN are NaN. Integers: ADD to MAX; they wrap, DIV truncates, and x / 0
// is 0 as it is on Arm.
#ifndef MEGCC_OP_BINARY_H
#define MEGCC_OP_BINARY_H
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
  BINARY_L1,
  BINARY_L2,
  BINARY_L3,
  BINARY_L4,
  BINARY_L5,
  BINARY_L6,
  BINARY_L7,
  BINARY_R0,
  BINARY_R1,
  BINARY_R2,
  BINARY_R3,
  BINARY_R4,
  BINARY_R5,
  BINARY_R6,
  BINARY_R7,
  BINARY_ACT_A,  // float bits: first parameter of the activation
  BINARY_ACT_B,  // float bits: second parameter of the activation
  BINARY_ATTRS
};
#endif  // MEGCC_OP_BINARY_H
