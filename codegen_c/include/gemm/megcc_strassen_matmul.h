// matmul of a constant rhs by megcc_strassen.h: rows of all batches.
#ifndef MEGCC_STRASSEN_MATMUL_H
#define MEGCC_STRASSEN_MATMUL_H

#include "gemm/megcc_strassen.h"
#include "op/matmul.h"

MEGCC_INLINE void megcc_strassen_matmul(void *const *ptr, const int32_t *attr, void *workspace,
                                        int32_t begin, int32_t end) {
  megcc_strassen_t s;
  s.x = ptr[0];
  s.batch = attr[MATMUL_M];
  s.rows = attr[MATMUL_B] * s.batch;
  s.stride = attr[MATMUL_LHS_STRIDE];
  s.k = attr[MATMUL_K];
  s.n = attr[MATMUL_N];
  s.weights = ptr[1];
  s.bias = BIAS ? ptr[2] : NULL;
  s.residual = MEGCC_RESIDUAL(ptr, 2 + BIAS);
  s.y = MEGCC_OUTPUT(ptr, 2 + BIAS);
  s.act_a = megcc_attr_f32(attr[MATMUL_ACT_A]);
  s.act_b = megcc_attr_f32(attr[MATMUL_ACT_B]);
  megcc_strassen(&s, workspace, begin, end);
}

#endif  // MEGCC_STRASSEN_MATMUL_H
