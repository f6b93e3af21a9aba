// kernel: qmatmul_neon
// like: qmatmul_dot
// isa: none
// rank: 10
// params: X=L Y=Y OUT=out ACT=act SCALES=channel_scales OFFSET=offset ZERO=zero_operand
//   LIMITS=(high - low < 255) TERMS=(rhs_zero != 0) NARROW=narrow
//
// A constant rhs in panels of 8 columns by smull and smlal, which every Arm64 has:
// megcc_qmatmul_gemm.h.
#include "gemm/megcc_qgemm_neon.h"

#include "gemm/megcc_qmatmul_gemm.h"

#ifndef MEGCC_SYMBOL
#define MEGCC_SYMBOL megcc_qmatmul_neon
#endif

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  megcc_qmatmul_packed(ptr, attr, workspace, begin, end);
}
