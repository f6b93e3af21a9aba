// op matmul: dst[b] = act(lhs[b] x rhs[b] + bias + residual), row-major, broadcast batches.
//
//   inputs   lhs[B?, M, K], rhs[B?, K, N] ([N, K] when `trans_b`; packed
//            when it is constant and the kernel packs it), bias[N] only when fact `bias` == 1,
//            residual[B, M, N] only when fact `residual` != 0
//   outputs  dst[B, M, N]
//   facts    dtype, every attribute below in lower case, trans_b (0/1), rhs_const (0/1),
//            bias (0/1), act (MEGCC_ACT_*), residual (0, 1 before, 2 after the activation)
#ifndef MEGCC_OP_MATMUL_H
#define MEGCC_OP_MATMUL_H
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
