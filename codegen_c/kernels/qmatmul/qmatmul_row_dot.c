// kernel: qmatmul_row_dot
// like: qmatmul_dot
// when: rhs_const == 1 and b * m == 1
// rank: 22
// tune:
//
// One row by a constant rhs, by sdot: megcc_qmatmul_gemm.h with tiles of one row only, so
// little code.
#define MEGCC_QGEMM_ONE_ROW

#include "gemm/megcc_qgemm_dot.h"

#include "gemm/megcc_qmatmul_gemm.h"

#ifndef MEGCC_SYMBOL
#define MEGCC_SYMBOL megcc_qmatmul_row_dot
#endif

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  megcc_qmatmul_packed(ptr, attr, workspace, begin, end);
}
