// kernel: qconv2d_i8mm
// like: qconv2d_dot
// isa: i8mm
// rank: 30
//
// Implicit matrix product over output pixels by smmla: megcc_qconv2d_gemm.h.
#include "gemm/megcc_qgemm_mm.h"

#include "gemm/megcc_qconv2d_gemm.h"

#ifndef MEGCC_SYMBOL
#define MEGCC_SYMBOL megcc_qconv2d_i8mm
#endif

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  megcc_qconv2d_gemm(ptr, attr, workspace, begin, end);
}
