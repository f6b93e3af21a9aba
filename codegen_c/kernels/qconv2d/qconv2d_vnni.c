// kernel: qconv2d_vnni
// like: qconv2d_dot
// arch: x86
// isa: avx512vnni
// rank: 40
// params: X=X Y=Y OUT=out ACT=act SCALES=channel_scales OFFSET=offset ZERO=zero_operand
//   TERMS=(w_zero != 0)
// pack: w=qgemm_panels(nr=MEGCC_QGEMM_PANEL, kr=MEGCC_QGEMM_KR, chunk=MEGCC_QGEMM_CHUNK,
//   few=MEGCC_CONV_FEW) bias=qgemm_bias(flip=MEGCC_QGEMM_FLIP)
//
// Implicit matrix product over output pixels, by vpdpbusd of AVX512-VNNI: megcc_qconv2d_gemm.h.
#include "gemm/megcc_qgemm_vnni.h"

#include "gemm/megcc_qconv2d_gemm.h"

#ifndef MEGCC_SYMBOL
#define MEGCC_SYMBOL megcc_qconv2d_vnni
#endif

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  megcc_qconv2d_gemm(ptr, attr, workspace, begin, end);
}
