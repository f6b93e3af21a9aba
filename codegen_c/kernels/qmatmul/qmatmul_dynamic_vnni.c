// kernel: qmatmul_dynamic_vnni
// like: qmatmul_dynamic_dot
// arch: x86
// isa: avx512vnni
// rank: 40
// params: X=L R=R Y=Y OUT=out ACT=act BIAS=bias SCALES=channel_scales OFFSET=offset
//   TRANS_B=trans_b
//
// Any rhs: 32 columns at a time go into panels in the workspace, then all rows of the batch run
// over them, by vpdpbusd of AVX512-VNNI: megcc_qmatmul_dynamic_lanes.h.
#include "gemm/megcc_qgemm_vnni.h"

#include "gemm/megcc_qmatmul_dynamic_lanes.h"

#ifndef MEGCC_SYMBOL
#define MEGCC_SYMBOL megcc_qmatmul_dynamic_vnni
#endif

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  megcc_qmatmul_dynamic(ptr, attr, workspace, begin, end);
}
