// kernel: qmatmul_dynamic_i8mm
// like: qmatmul_dynamic_dot
// isa: i8mm
// rank: 30
//
// Any rhs: 24 columns at a time go into panels in the workspace, then all rows of the batch run
// over them, by smmla: megcc_qmatmul_dynamic.h.
#include "gemm/megcc_qgemm_mm.h"

#include "gemm/megcc_qmatmul_dynamic.h"

#ifndef MEGCC_SYMBOL
#define MEGCC_SYMBOL megcc_qmatmul_dynamic_i8mm
#endif

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  megcc_qmatmul_dynamic(ptr, attr, workspace, begin, end);
}
