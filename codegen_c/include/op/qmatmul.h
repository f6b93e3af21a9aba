// op qmatmul: dst[b] = lhs[b] x rhs[b] of 8-bit integers with i32 sums, rescaled, row-major.
//
//   in    lhs: L [b if lhs_stride else 1, m, k]
//   in    rhs: R [b if rhs_stride else 1, k, n]
//   in    bias: B [n] if bias
//   in    scale: F [n if channel_scales else 1] if out != 0
//   in    offset: F [n] if offset
//   in    zero: Z [1] if zero_operand
//   out   dst: Y [b, m, n]
//   fact  act: MEGCC_ACT_*
//   fact  out: MEGCC_QUANT_*
//   fact  bias: 0 1
//   fact  channel_scales: 0 1
//   fact  offset: 0 1
//   fact  zero_operand: 0 1
//   fact  narrow: 0 1
//   fact  rhs_const: 0 1
//   fact  trans_b: 0 1
//
// An element's sum is bias[n] plus, over k, (lhs - LHS_ZERO) * (rhs - RHS_ZERO). `trans_b`: rhs is
// [N, K]. `rhs_const`: rhs is a constant, comes as the kernel packs it, and there is a bias;
// RHS_ZERO is then what W_ZERO is in op/qconv2d.h, which describes the other facts, too. `zero`
// is the zero point of lhs where it is known at run time only; only calls with a constant rhs have
// it. `narrow` is 1 for a constant rhs only.
#ifndef MEGCC_OP_QMATMUL_H
#define MEGCC_OP_QMATMUL_H

#include "megcc_act_codes.h"
#include "megcc_quant_codes.h"

enum {
  QMATMUL_B,
  QMATMUL_M,
  QMATMUL_N,
  QMATMUL_K,
  QMATMUL_LHS_STRIDE,  // elements from one batch of lhs to the next, 0 to broadcast
  QMATMUL_RHS_STRIDE,  // the same for rhs (0 when rhs is constant)
  QMATMUL_LHS_ZERO,    // zero points, as numbers of their types
  QMATMUL_RHS_ZERO,
  QMATMUL_DST_ZERO,
  QMATMUL_LOW,  // limits of dst, of its type: where dst is MEGCC_QUANT_STORED
  QMATMUL_HIGH,
  QMATMUL_ACT_A,
  QMATMUL_ACT_B,
  QMATMUL_ATTRS
};
#endif  // MEGCC_OP_QMATMUL_H
