// kernel: qmatmul_dynamic_neon
// like: qmatmul_dynamic_dot
// isa: none
// rank: 16
//
// Any rhs: 24 columns at a time go into panels in the workspace, then all rows of the batch run
// over them, by smull: megcc_qmatmul_dynamic.h. A computed rhs may hold -128.
#define NARROW 0
#include "gemm/megcc_qgemm_neon.h"

#include "gemm/megcc_qmatmul_dynamic.h"

#ifndef MEGCC_SYMBOL
#define MEGCC_SYMBOL megcc_qmatmul_dynamic_neon
#endif

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  megcc_qmatmul_dynamic(ptr, attr, workspace, begin, end);
}
