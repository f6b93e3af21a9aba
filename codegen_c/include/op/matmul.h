// op matmul: dst[b] = act(lhs[b] x rhs[b] + bias + residual), row-major, broadcast batches.
//
//   in    lhs: L [b if lhs_stride else 1, m, k]
//   in    rhs: R [b if rhs_stride else 1, k, n]
//   in    bias: B [n] if bias
//   in    residual: Y [b, m, n] if residual
//   out   dst: Y [b, m, n]
//   fact  act: MEGCC_ACT_*
//   fact  bias: 0 1
//   fact  residual: 0 1 2
//   fact  rhs_const: 0 1
//   fact  trans_b: 0 1
//
// `trans_b`: rhs is [N, K]. `rhs_const`: rhs is a constant and comes as the kernel packs it.
// `residual`: 0 none, 1 added before the activation, 2 after it.
#ifndef MEGCC_OP_MATMUL_H
#define MEGCC_OP_MATMUL_H

#include "megcc_act_codes.h"

enum {
  MATMUL_B,
  MATMUL_M,
  MATMUL_N,
  MATMUL_K,
  MATMUL_LHS_STRIDE,  // elements from one batch of lhs to the next, 0 to broadcast
  MATMUL_RHS_STRIDE,  // the same for rhs (0 when rhs is constant)
  MATMUL_ACT_A,
  MATMUL_ACT_B,
  MATMUL_ATTRS
};
#endif  // MEGCC_OP_MATMUL_H
