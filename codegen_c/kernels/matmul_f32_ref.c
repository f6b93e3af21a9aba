// kernel: matmul_f32_ref
// op: matmul
// dtype: f32
// arch: portable
// isa: none
// rank: 0
// tolerance: 2e-6
// params: ACT=act RESIDUAL=residual BIAS=bias TRANS_B=trans_b
// inplace: residual
// work: b * m
// cost: 8 * n * k
//
// The reference: plain C99, either operand transposed, broadcast batches.
#include "megcc_epilogue.h"
#include "op/matmul.h"

#ifndef MEGCC_SYMBOL
#define MEGCC_SYMBOL megcc_matmul_f32_ref
#endif
#ifndef BIAS
#define BIAS 0
#endif
#ifndef TRANS_B
#define TRANS_B 0
#endif

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  const int32_t m = attr[MATMUL_M], n = attr[MATMUL_N], depth = attr[MATMUL_K];
  const float act_a = megcc_attr_f32(attr[MATMUL_ACT_A]);
  const float act_b = megcc_attr_f32(attr[MATMUL_ACT_B]);
  const float *residual = MEGCC_RESIDUAL(ptr, 2 + BIAS);
  float *dst = MEGCC_OUTPUT(ptr, 2 + BIAS);
  (void)workspace, (void)act_a, (void)act_b, (void)residual;
  for (int32_t row = begin; row < end; ++row) {
    const float *lhs = (const float *)ptr[0] + (ptrdiff_t)(row / m) * attr[MATMUL_LHS_STRIDE];
    const float *rhs = (const float *)ptr[1] + (ptrdiff_t)(row / m) * attr[MATMUL_RHS_STRIDE];
    for (int32_t j = 0; j < n; ++j) {
      const size_t at = (size_t)row * n + j;
      float sum = BIAS ? ((const float *)ptr[2])[j] : 0.0f;
      for (int32_t k = 0; k < depth; ++k) {
        const float a = lhs[(size_t)(row % m) * depth + k];
        const float b = TRANS_B ? rhs[(size_t)j * depth + k] : rhs[(size_t)k * n + j];
        sum += a * b;
      }
      MEGCC_EPILOGUE_F32(sum, residual[at], act_a, act_b);
      dst[at] = sum;
    }
  }
}
