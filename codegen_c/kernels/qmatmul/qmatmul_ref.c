// kernel: qmatmul_ref
// op: qmatmul
// dtype: lhs=i8,u8 rhs=i8,u8 bias=i32 scale=f32 zero=i8,u8 dst=i8,u8,i32,f32
// arch: portable
// isa: none
// rank: 0
// tolerance: 1e-6 if out == MEGCC_QUANT_REAL and act else 0
// params: L=L R=R Y=Y OUT=out ACT=act BIAS=bias SCALES=channel_scales OFFSET=offset
//   ZERO=zero_operand TRANS_B=trans_b
// work: b * m
// cost: 4 * n * k
//
// The reference: plain C99, constant and computed right-hand sides, which stay as they are.
#include "megcc_requant.h"
#include "op/qmatmul.h"

#ifndef MEGCC_SYMBOL
#define MEGCC_SYMBOL megcc_qmatmul_ref
#endif
#ifndef L
#define L i8
#endif
#ifndef R
#define R i8
#endif
#ifndef BIAS
#define BIAS 1
#endif
#ifndef TRANS_B
#define TRANS_B 0
#endif

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  const int32_t m = attr[QMATMUL_M], n = attr[QMATMUL_N], k = attr[QMATMUL_K];
  const int32_t *bias = BIAS ? ptr[2] : NULL;
  const MEGCC_CTYPE(L) *point = MEGCC_ZERO(ptr, 2 + BIAS);
  MEGCC_CTYPE(Y) *dst = MEGCC_QUANT_DST(ptr, 2 + BIAS);
  const int32_t lhs_zero = ZERO ? point[0] : attr[QMATMUL_LHS_ZERO];
  const int32_t rhs_zero = attr[QMATMUL_RHS_ZERO];
  const ptrdiff_t across = TRANS_B ? k : 1, down = TRANS_B ? 1 : n;
  const megcc_rescale rescale = megcc_rescale_of(ptr, 2 + BIAS, attr + QMATMUL_DST_ZERO);
  (void)workspace;
  for (int32_t row = begin; row < end; ++row) {
    const int32_t batch = row / m;
    const MEGCC_CTYPE(L) *lhs = (const MEGCC_CTYPE(L) *)ptr[0] +
                                (ptrdiff_t)batch * attr[QMATMUL_LHS_STRIDE] +
                                (ptrdiff_t)(row % m) * k;
    const MEGCC_CTYPE(R) *rhs =
        (const MEGCC_CTYPE(R) *)ptr[1] + (ptrdiff_t)batch * attr[QMATMUL_RHS_STRIDE];
    for (int32_t j = 0; j < n; ++j) {
      const MEGCC_CTYPE(R) *column = rhs + j * across;
      uint32_t sum = BIAS ? (uint32_t)bias[j] : 0;
      for (int32_t i = 0; i < k; ++i) {
        sum += (uint32_t)((lhs[i] - lhs_zero) * (column[i * down] - rhs_zero));
      }
      dst[(ptrdiff_t)row * n + j] = megcc_rescaled(&rescale, (int32_t)sum, j);
    }
  }
}
