// kernel: qmatmul_dsp
// op: qmatmul
// dtype: lhs=i8,u8 rhs=i8 bias=i32 scale=f32 zero=i8,u8 dst=i8,u8,i32,f32
// arch: cortexm
// isa: dsp
// when: rhs_const and rhs_zero == 0 and k > 0
// rank: 10
// tolerance: 1e-6 if out == MEGCC_QUANT_REAL and act else 0
// params: X=L Y=Y OUT=out ACT=act SCALES=channel_scales OFFSET=offset ZERO=zero_operand
// pack: rhs=qmatmul_panels(nr=NR, kr=MEGCC_Q8_GROUP, chunk=MEGCC_Q8_GROUP)
// workspace: 2 * min(b * m, 2) * up(k, MEGCC_Q8_GROUP)
// work: b * m
// cost: n * k
//
// Two rows at a time, widened into lines of 16 bits: megcc_qgemm_dsp.h.
#include "gemm/megcc_qgemm_dsp.h"
#include "op/qmatmul.h"

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  const int32_t m = attr[QMATMUL_M], n = attr[QMATMUL_N];
  const size_t k = (size_t)attr[QMATMUL_K], room = megcc_q8_room(k);
  const MEGCC_CTYPE(X) *lhs = ptr[0], *point = MEGCC_ZERO(ptr, 3);
  const uint32_t minus = megcc_dsp_minus(ZERO ? point[0] : attr[QMATMUL_LHS_ZERO]);
  const megcc_rescale rescale = megcc_rescale_of(ptr, 3, attr + QMATMUL_DST_ZERO);
  megcc_q8_product p;
  p.line = workspace;
  p.words = room / 2;
  p.panels = ptr[1];
  p.bias = ptr[2];
  p.columns = n;
  p.channel = 0;
  p.rescale = &rescale;
  p.ld = (size_t)n;
  for (int32_t row = begin; row < end; row += 2) {
    const int32_t rows = end - row < 2 ? 1 : 2;
    uint32_t *line = workspace;
    for (int32_t r = row; r < row + rows; ++r, line += 2) {
      const ptrdiff_t at =
          (ptrdiff_t)(r / m) * attr[QMATMUL_LHS_STRIDE] + (ptrdiff_t)(r % m) * (ptrdiff_t)k;
      megcc_q8_widen(line, 2 * (size_t)rows, lhs + at, 0, k, room, minus);
    }
    p.dst = (MEGCC_CTYPE(Y) *)MEGCC_QUANT_DST(ptr, 3) + (ptrdiff_t)row * n;
    if (rows == 2) {
      megcc_q8_two(&p);
    } else {
      megcc_q8_one(&p);
    }
  }
}
