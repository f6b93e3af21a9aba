// kernel: qconv2d_neon
// like: qconv2d_dot
// isa: none
// rank: 16
// params: X=X Y=Y OUT=out ACT=act SCALES=channel_scales OFFSET=offset ZERO=zero_operand
//   LIMITS=(high - low < 255) TERMS=(w_zero != 0) NARROW=narrow
//
// Implicit matrix product over output pixels by smull and smlal, which every Arm64 has:
// megcc_qconv2d_gemm.h.
#include "gemm/megcc_qgemm_neon.h"

#include "gemm/megcc_qconv2d_gemm.h"

#ifndef MEGCC_SYMBOL
#define MEGCC_SYMBOL megcc_qconv2d_neon
#endif

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  megcc_qconv2d_gemm(ptr, attr, workspace, begin, end);
}
