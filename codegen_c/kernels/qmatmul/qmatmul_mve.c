// kernel: qmatmul_mve COPIES=0
//   dtype="lhs=i8 rhs=i8 bias=i32 scale=f32 zero=i8 dst=i8,u8,i32,f32"
// kernel: qmatmul_mve_u8 COPIES=1
//   dtype="lhs=u8 rhs=i8 bias=i32 scale=f32 zero=u8 dst=i8,u8,i32,f32"
// op: qmatmul
// arch: cortexm
// isa: mve
// when: rhs_const and rhs_zero == 0 and k > 0
// rank: 30
// tolerance: 1e-6 if out == MEGCC_QUANT_REAL and act else 0
// params: X=L Y=Y OUT=out ACT=act SCALES=channel_scales OFFSET=offset ZERO=zero_operand
// pack: rhs=qmatmul_panels(nr=NR, kr=MEGCC_KR, chunk=MEGCC_KR)
//   bias=qmatmul_bias(flip=MEGCC_QGEMM_FLIP)
// let rows = min(b * m, 2)
// workspace: rows * 4 * up(n, NR) + (4 * n if zero_operand else 0) + COPIES * rows * k
// work: b * m
// cost: n * ceil(k, MEGCC_KR)
//
// Two rows at a time, which are copied if they are unsigned: megcc_qgemm_mve.h.
#include "gemm/megcc_qgemm_mve.h"
#include "op/qmatmul.h"

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  const int32_t m = attr[QMATMUL_M], n = attr[QMATMUL_N], k = attr[QMATMUL_K];
  const int32_t all = attr[QMATMUL_B] * m, most = all < 2 ? all : 2;
  const megcc_rescale rescale = megcc_rescale_of(ptr, 3, attr + QMATMUL_DST_ZERO);
  megcc_mve_product p;
  int32_t *own = (int32_t *)workspace + most * megcc_mve_room(n);
  int8_t *copies = (int8_t *)(own + (ZERO ? n : 0));
  p.panels = ptr[1];
  p.bias = megcc_mve_bias(ptr[2], n, MEGCC_ZERO(ptr, 3), own);
  p.k = k, p.columns = n, p.channel = 0;
  p.sums = workspace;
  p.rescale = &rescale;
  p.ld = (size_t)n;
  for (int32_t row = begin; row < end; row += 2) {
    const int32_t rows = end - row < 2 ? 1 : 2;
    const int8_t *line[2] = {NULL, NULL};
    for (int32_t r = 0; r < rows; ++r) {
      const ptrdiff_t at =
          (ptrdiff_t)((row + r) / m) * attr[QMATMUL_LHS_STRIDE] + (ptrdiff_t)((row + r) % m) * k;
      const MEGCC_CTYPE(X) *lhs = (const MEGCC_CTYPE(X) *)ptr[0] + at;
      line[r] = (const int8_t *)lhs;
      if (COPIES) {
        line[r] = copies + (ptrdiff_t)r * k;
        megcc_mve_copy(copies + (ptrdiff_t)r * k, lhs, k);
      }
    }
    megcc_mve_lines(&p, line[0], line[1],
                    (MEGCC_CTYPE(Y) *)MEGCC_QUANT_DST(ptr, 3) + (ptrdiff_t)row * n);
  }
}
