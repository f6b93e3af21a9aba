// kernel: qmatmul_i8mm
// like: qmatmul_dot
// isa: i8mm
// rank: 30
//
// A constant rhs in panels of 8 columns by smmla: megcc_qmatmul_gemm.h.
#include "gemm/megcc_qgemm_mm.h"

#include "gemm/megcc_qmatmul_gemm.h"

#ifndef MEGCC_SYMBOL
#define MEGCC_SYMBOL megcc_qmatmul_i8mm
#endif

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  megcc_qmatmul_packed(ptr, attr, workspace, begin, end);
}
