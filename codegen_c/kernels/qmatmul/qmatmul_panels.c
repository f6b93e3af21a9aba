// kernel: qmatmul_panels
// like: qmatmul_dot
// arch: portable
// isa: none
// rank: 5
// params: X=L Y=Y OUT=out ACT=act SCALES=channel_scales OFFSET=offset ZERO=zero_operand
//   TERMS=(rhs_zero != 0)
// pack: rhs=qmatmul_panels(nr=MEGCC_QGEMM_PANEL, kr=MEGCC_QGEMM_KR, chunk=MEGCC_QGEMM_CHUNK)
//   bias=qmatmul_bias(flip=MEGCC_QGEMM_FLIP)
//
// A constant rhs in panels of columns, in vectors of columns that compilers make of plain C:
// megcc_qmatmul_gemm.h.
#include "gemm/megcc_qgemm_c.h"

#include "gemm/megcc_qmatmul_gemm.h"

#ifndef MEGCC_SYMBOL
#define MEGCC_SYMBOL megcc_qmatmul_panels
#endif

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  megcc_qmatmul_packed(ptr, attr, workspace, begin, end);
}
