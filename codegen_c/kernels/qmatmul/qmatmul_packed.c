// op: qmatmul
// dtype: lhs=i8,u8 rhs=i8 bias=i32 scale=f32 zero=i8,u8 dst=i8,u8,i32,f32
// when: rhs_const == 1
// tolerance: 1e-6 if out == MEGCC_QUANT_REAL and act else 0
// params: X=L Y=Y OUT=out ACT=act SCALES=channel_scales OFFSET=offset ZERO=zero_operand
//   LIMITS=(high - low < 255) TERMS=(rhs_zero != 0) NARROW=narrow
// tune: MEGCC_QGEMM_BLOCK=24,48,192
// pack: rhs=qmatmul_panels(nr=MEGCC_QGEMM_PANEL, kr=MEGCC_QGEMM_KR, chunk=MEGCC_QGEMM_CHUNK)
//   bias=qmatmul_bias(flip=MEGCC_QGEMM_FLIP)
// let rows = b * m
// let block = min(MEGCC_QGEMM_BLOCK, rows)
// workspace: MEGCC_QGEMM_ENTRY * block + 2 * (k + MEGCC_RUN_PIECE)
//   + (sizeof(B) * n if zero_operand else 0) + (sizeof(B) * block if rhs_zero != 0 else 0)
// work: ceil(rows, MEGCC_QGEMM_BLOCK) * ceil(n, MEGCC_QGEMM_UNIT)
// cost: (block + 8) * min(MEGCC_QGEMM_UNIT, n) * k // 4
// kernel: qmatmul_dot arch=arm64 isa=dotprod rank=20 without=NARROW include=gemm/megcc_qgemm_dot.h
// kernel: qmatmul_i8mm arch=arm64 isa=i8mm rank=30 without=NARROW include=gemm/megcc_qgemm_mm.h
// kernel: qmatmul_neon arch=arm64 isa=none rank=10 include=gemm/megcc_qgemm_neon.h
// kernel: qmatmul_row_dot arch=arm64 isa=dotprod when="rhs_const == 1 and b * m == 1" rank=22
//   tune="" without=NARROW MEGCC_QGEMM_ONE_ROW=1 include=gemm/megcc_qgemm_dot.h
// kernel: qmatmul_row_i8mm arch=arm64 isa=i8mm when="rhs_const == 1 and b * m == 1" rank=32 tune=""
//   without=NARROW MEGCC_QGEMM_ONE_ROW=1 include=gemm/megcc_qgemm_mm.h
// kernel: qmatmul_row_neon arch=arm64 isa=none when="rhs_const == 1 and b * m == 1" rank=18 tune=""
//   MEGCC_QGEMM_ONE_ROW=1 include=gemm/megcc_qgemm_neon.h
// kernel: qmatmul_armv7 arch=armv7 isa=none rank=20 without="LIMITS NARROW"
//   include=gemm/megcc_qgemm_armv7.h
// kernel: qmatmul_x86 arch=x86 isa=avx2 rank=20 without="LIMITS NARROW"
//   include=gemm/megcc_qgemm_x86.h
// kernel: qmatmul_avxvnni arch=x86 isa=avxvnni rank=30 without="LIMITS NARROW"
//   include=gemm/megcc_qgemm_vnni.h
// kernel: qmatmul_vnni arch=x86 isa=avx512vnni rank=40 without="LIMITS NARROW"
//   include=gemm/megcc_qgemm_vnni.h
// kernel: qmatmul_panels arch=portable isa=none rank=5 without="LIMITS NARROW"
//   include=gemm/megcc_qgemm_c.h
//
// A constant rhs in panels of columns: megcc_qmatmul_gemm.h. By sdot, smmla, or smull and smlal,
// which every Arm64 has, and vmlal, pmaddwd (AVX2 or wider), vpdpbusd of AVX-VNNI and AVX512-VNNI,
// or in vectors of columns that compilers make of plain C. The rows kernels have tiles of one row
// only, so little code.
#include "gemm/megcc_qmatmul_gemm.h"

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  megcc_qmatmul_packed(ptr, attr, workspace, begin, end);
}
