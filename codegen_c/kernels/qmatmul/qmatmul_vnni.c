// kernel: qmatmul_vnni
// like: qmatmul_dot
// arch: x86
// isa: avx512vnni
// rank: 40
// params: X=L Y=Y OUT=out ACT=act SCALES=channel_scales OFFSET=offset ZERO=zero_operand
//   TERMS=(rhs_zero != 0)
// pack: rhs=qmatmul_panels(nr=MEGCC_QGEMM_PANEL, kr=MEGCC_QGEMM_KR, chunk=MEGCC_QGEMM_CHUNK)
//   bias=qmatmul_bias(flip=MEGCC_QGEMM_FLIP)
//
// A constant rhs in panels of columns, by vpdpbusd of AVX512-VNNI: megcc_qmatmul_gemm.h.
#include "gemm/megcc_qgemm_vnni.h"

#include "gemm/megcc_qmatmul_gemm.h"

#ifndef MEGCC_SYMBOL
#define MEGCC_SYMBOL megcc_qmatmul_vnni
#endif

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  megcc_qmatmul_packed(ptr, attr, workspace, begin, end);
}
