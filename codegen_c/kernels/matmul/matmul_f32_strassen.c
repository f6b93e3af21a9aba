// kernel: matmul_f32_strassen
// op: matmul
// dtype: f32
// arch: portable
// isa: simd
// when: rhs_const == 1 and k > 0 and k % (4 * NR) == n % (4 * NR) == 0
// rank: 10
// tolerance: 1e-5
// params: ACT=act RESIDUAL=residual BIAS=bias
// pack: rhs=strassen_matmul_panels(nr=NR)
// inplace: residual
// let rows = b * m
// let half = min(MEGCC_STRASSEN_BLOCK // 2, ceil(rows, 2))
// workspace: 3 * MEGCC_GEMM_ENTRY * half + sizeof(L) * (max(k, MEGCC_STRASSEN_COLS)
//   + half * (MEGCC_STRASSEN_SUMS * (k // 2) + MEGCC_STRASSEN_PRODUCTS * MEGCC_STRASSEN_COLS))
// work: ceil(rows, MEGCC_STRASSEN_BLOCK) * ceil(n // 2, MEGCC_STRASSEN_COLS)
// cost: MEGCC_STRASSEN_PRODUCTS * half * min(MEGCC_STRASSEN_COLS, n // 2) * (k // 2)
// instructions: ceil(rows, 2) * (9 * (k // 2) // 4 + 14 * (n // 2) // 4
//   + MEGCC_STRASSEN_PRODUCTS * (n // 2) * (k // 2 // 4 + 1))
//   + ceil(rows, 16) * MEGCC_STRASSEN_PRODUCTS * (n // 2) * (k // 2 // 4 + 3)
// weights: sizeof(R) * MEGCC_STRASSEN_PRODUCTS * (n // 2) * (k // 2)
// exact: no
// optimize: speed
//
// A constant rhs by one level of Strassen's product: megcc_strassen.h.
#define MEGCC_STRASSEN_COLS 48
#define NR 8

#include "gemm/megcc_strassen_matmul.h"

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  megcc_strassen_matmul(ptr, attr, workspace, begin, end);
}
