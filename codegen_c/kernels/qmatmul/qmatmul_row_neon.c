// kernel: qmatmul_row_neon
// like: qmatmul_dot
// isa: none
// when: rhs_const == 1 and b * m == 1
// rank: 18
// tune:
// params: X=L Y=Y OUT=out ACT=act SCALES=channel_scales OFFSET=offset ZERO=zero_operand
//   LIMITS=(high - low < 255) TERMS=(rhs_zero != 0) NARROW=narrow
//
// One row by a constant rhs, by smull and smlal: megcc_qmatmul_gemm.h with tiles of one row only,
// so little code.
#define MEGCC_QGEMM_ONE_ROW

#include "gemm/megcc_qgemm_neon.h"

#include "gemm/megcc_qmatmul_gemm.h"

#ifndef MEGCC_SYMBOL
#define MEGCC_SYMBOL megcc_qmatmul_row_neon
#endif

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  megcc_qmatmul_packed(ptr, attr, workspace, begin, end);
}
