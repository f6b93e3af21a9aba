// kernel: qmatmul_dynamic_dot
// op: qmatmul
// dtype: lhs=i8,u8 rhs=i8,u8 bias=i32 scale=f32 zero=i8,u8 dst=i8,u8,i32,f32
// arch: arm64
// isa: dotprod
// when: rhs_const == 0 and zero_operand == 0
// rank: 20
// tolerance: 1e-6 if out == MEGCC_QUANT_REAL and act else 0
// params: X=L R=R Y=Y OUT=out ACT=act BIAS=bias SCALES=channel_scales OFFSET=offset
//   LIMITS=(high - low < 255) TRANS_B=trans_b
// workspace: (MEGCC_QGEMM_ENTRY + 4) * min(MEGCC_QGEMM_BLOCK, m) + 4 * MEGCC_QMATMUL_COLS + 2 * (k
//   + MEGCC_RUN_PIECE) + MEGCC_QMATMUL_COLS * up(k, MEGCC_QGEMM_KR)
// work: b * ceil(n, MEGCC_QMATMUL_COLS)
// cost: (m + 8) * min(MEGCC_QMATMUL_COLS, n) * k // 4
//
// Any rhs: 24 columns at a time go into panels in the workspace, then all rows of the batch run
// over them, by sdot: megcc_qmatmul_dynamic.h.
#include "gemm/megcc_qgemm_dot.h"

#include "gemm/megcc_qmatmul_dynamic.h"

#ifndef MEGCC_SYMBOL
#define MEGCC_SYMBOL megcc_qmatmul_dynamic_dot
#endif

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  megcc_qmatmul_dynamic(ptr, attr, workspace, begin, end);
}
