// op matmul_wq: dst = act(lhs x w + bias + residual) of weights w that are quantised, lhs in float.
//
//   in    lhs: L [m, k]
//   in    rhs: i8 [n, k]
//   in    scale: S [n * ((k + block - 1) // block) if channel_scales else 1]
//   in    zero: i8 [n * ((k + block - 1) // block) if channel_scales else 1] if zero
//   in    bias: L [n] if bias
//   in    residual: L [m, n] if residual
//   out   dst: L [m, n]
//   fact  act: MEGCC_ACT_*
//   fact  bias: 0 1
//   fact  residual: 0 1 2
//   fact  bits: 4 8
//   fact  zero: 0 1
//   fact  channel_scales: 0 1
//   fact  int8: 0 1
//
// w[i][j] = (rhs[j][i] - zero[j][i / block]) * scale[j][i / block]. rhs, scale and zero are
// constants and come as the kernel packs them. `int8`: each row of lhs is rounded to int8 by the
// blocks of k, lhs = x * s with s = max |lhs| / 127 of the block and x = lhs * (127 / max |lhs|) in
// f32, to nearest, ties to even; sums of x * (rhs - zero) are exact. A block is then a multiple of
// 16, or k, and at most 65536. `bits` 4: no number of rhs or zero is outside -8
// .. 7. `channel_scales` 0: one scale and zero point for all, and `block` is k. `residual`: 0 none,
// 1 added before the activation, 2 after it.
#ifndef MEGCC_OP_MATMUL_WQ_H
#define MEGCC_OP_MATMUL_WQ_H

#include "megcc_act_codes.h"

enum {
  MATMUL_WQ_M,
  MATMUL_WQ_N,
  MATMUL_WQ_K,
  MATMUL_WQ_BLOCK,  // weights of a column that share a scale; the last block may be shorter
  MATMUL_WQ_ACT_A,
  MATMUL_WQ_ACT_B,
  MATMUL_WQ_ATTRS
};
#endif  // MEGCC_OP_MATMUL_WQ_H
