// kernel: qmatmul_dot
// op: qmatmul
// dtype: lhs=i8,u8 rhs=i8 bias=i32 scale=f32 zero=i8,u8 dst=i8,u8,i32,f32
// arch: arm64
// isa: dotprod
// when: rhs_const == 1
// rank: 20
// tolerance: 1e-6 if out == MEGCC_QUANT_REAL and act else 0
// params: X=L Y=Y OUT=out ACT=act SCALES=channel_scales OFFSET=offset ZERO=zero_operand
//   LIMITS=(high - low < 255) TERMS=(rhs_zero != 0)
// tune: MEGCC_QGEMM_BLOCK=24,48,192
// pack: rhs=qmatmul_panels(nr=NR, kr=MEGCC_QGEMM_KR, chunk=MEGCC_QGEMM_CHUNK)
//   bias=qmatmul_bias(flip=MEGCC_QGEMM_FLIP)
// workspace: MEGCC_QGEMM_ENTRY * min(MEGCC_QGEMM_BLOCK, b * m) + 2 * (k + MEGCC_RUN_PIECE)
//   + (sizeof(B) * n if zero_operand else 0)
//   + (sizeof(B) * min(MEGCC_QGEMM_BLOCK, b * m) if rhs_zero != 0 else 0)
// work: ceil(b * m, MEGCC_QGEMM_BLOCK) * ceil(n, MEGCC_QGEMM_UNIT)
// cost: (min(MEGCC_QGEMM_BLOCK, b * m) + 8) * min(MEGCC_QGEMM_UNIT, n) * k // 4
//
// A constant rhs in panels of 8 columns, by sdot: megcc_qmatmul_gemm.h.
#include "gemm/megcc_qgemm_dot.h"

#include "gemm/megcc_qmatmul_gemm.h"

#ifndef MEGCC_SYMBOL
#define MEGCC_SYMBOL megcc_qmatmul_dot
#endif

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  megcc_qmatmul_packed(ptr, attr, workspace, begin, end);
}
