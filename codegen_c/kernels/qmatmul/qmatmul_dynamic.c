// op: qmatmul
// dtype: lhs=i8,u8 rhs=i8,u8 bias=i32 scale=f32 zero=i8,u8 dst=i8,u8,i32,f32
// when: rhs_const == 0 and zero_operand == 0
// tolerance: 1e-6 if out == MEGCC_QUANT_REAL and act else 0
// params: X=L R=R Y=Y OUT=out ACT=act BIAS=bias SCALES=channel_scales OFFSET=offset
//   LIMITS=(high - low < 255) TRANS_B=trans_b
// workspace: (MEGCC_QGEMM_ENTRY + 4) * min(MEGCC_QGEMM_BLOCK, m) + 4 * MEGCC_QMATMUL_COLS
//   + 2 * (k + MEGCC_RUN_PIECE) + MEGCC_QMATMUL_COLS * up(k, MEGCC_QGEMM_KR)
// work: b * ceil(n, MEGCC_QMATMUL_COLS)
// cost: (m + 8) * min(MEGCC_QMATMUL_COLS, n) * k // 4
// kernel: qmatmul_dynamic_dot arch=arm64 isa=dotprod rank=20
//   include="gemm/megcc_qgemm_dot.h gemm/megcc_qmatmul_dynamic.h"
// kernel: qmatmul_dynamic_i8mm arch=arm64 isa=i8mm rank=30
//   include="gemm/megcc_qgemm_mm.h gemm/megcc_qmatmul_dynamic.h"
// kernel: qmatmul_dynamic_neon arch=arm64 isa=none rank=16 NARROW=0
//   include="gemm/megcc_qgemm_neon.h gemm/megcc_qmatmul_dynamic.h"
// kernel: qmatmul_dynamic_armv7 arch=armv7 isa=none rank=20 without=LIMITS
//   include="gemm/megcc_qgemm_armv7.h gemm/megcc_qmatmul_dynamic_lanes.h"
// kernel: qmatmul_dynamic_x86 arch=x86 isa=avx2 rank=20 without=LIMITS
//   include="gemm/megcc_qgemm_x86.h gemm/megcc_qmatmul_dynamic_lanes.h"
// kernel: qmatmul_dynamic_avxvnni arch=x86 isa=avxvnni rank=30 without=LIMITS
//   include="gemm/megcc_qgemm_vnni.h gemm/megcc_qmatmul_dynamic_lanes.h"
// kernel: qmatmul_dynamic_vnni arch=x86 isa=avx512vnni rank=40 without=LIMITS
//   include="gemm/megcc_qgemm_vnni.h gemm/megcc_qmatmul_dynamic_lanes.h"
// kernel: qmatmul_dynamic_panels arch=portable isa=none rank=5 without=LIMITS
//   include="gemm/megcc_qgemm_c.h gemm/megcc_qmatmul_dynamic_lanes.h"
//
// Any rhs: 24 columns at a time on Arm64, else 32, go into panels in the workspace, then all rows
// of the batch run over them: megcc_qmatmul_dynamic.h and megcc_qmatmul_dynamic_lanes.h. By sdot,
// smmla, or smull, vmlal, pmaddwd (AVX2 or wider), vpdpbusd of AVX-VNNI and AVX512-VNNI, or in
// vectors of columns that compilers make of plain C. A computed rhs may hold -128.
void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  megcc_qmatmul_dynamic(ptr, attr, workspace, begin, end);
}
