// op: matmul_wq
// when: int8 == 1
// params: ACT=act RESIDUAL=residual BIAS=bias BITS=bits ZERO=zero CHANNELS=channel_scales
//   SCALE16=(sizeof(S) == 2) STEPS=(2 if block == 32 and up(k, MEGCC_WQ8_STEP) % 32 == 0 else 0)
// tune: MEGCC_WQ8_ROWS=24,48
// pack: rhs=wq_dots(kr=MEGCC_WQ8_KR, flip=MEGCC_WQ8_FLIP) scale=wq_blocks(nr=MEGCC_WQ_COLS)
//   zero=wq_blocks(nr=MEGCC_WQ_COLS)
// let depth = up(k, MEGCC_WQ8_STEP)
// let blocks = ceil(k, block)
// let rows = min(MEGCC_WQ8_ROWS, up(m, 4))
// let flips = max(zero, MEGCC_WQ8_FLIP)
// let scales = 64 * (1 + MEGCC_WQ8_MM) * (1 + flips)
// workspace: rows * (depth + 8 * blocks)
//   + (16 * depth * (1 + MEGCC_WQ8_WIDE) + blocks * scales if MEGCC_WQ8_TILE else 0)
// inplace: residual
// work: ceil(n, MEGCC_WQ_COLS)
// cost: (m + 1) * MEGCC_WQ_COLS * k * 3 // 8
// kernel: matmul_wq_int8_dot arch=arm64 isa=dotprod dtype=f32 rank=30 tolerance=2e-6
//   without=SCALE16 MEGCC_WQ8_KR=4 MEGCC_WQ8_MM=0 include=gemm/megcc_wq_int8_dot.h
// kernel: matmul_wq_int8_f16_dot arch=arm64 isa=dotprod dtype="lhs=f16 scale=f16,f32" rank=30
//   tolerance=1e-3 MEGCC_F16=1 MEGCC_WQ8_KR=4 MEGCC_WQ8_MM=0
//   include=gemm/megcc_wq_int8_dot.h
// kernel: matmul_wq_int8_i8mm arch=arm64 isa=i8mm dtype=f32 rank=40 tolerance=2e-6
//   without=SCALE16 MEGCC_WQ8_KR=8 MEGCC_WQ8_MM=1 include=gemm/megcc_wq_int8_dot.h
// kernel: matmul_wq_int8_f16_i8mm arch=arm64 isa=i8mm dtype="lhs=f16 scale=f16,f32" rank=40
//   tolerance=1e-3 MEGCC_F16=1 MEGCC_WQ8_KR=8 MEGCC_WQ8_MM=1 include=gemm/megcc_wq_int8_dot.h
// kernel: matmul_wq_int8_dot_i8mm arch=arm64 isa="dotprod i8mm" dtype=f32 rank=50 tolerance=2e-6
//   without=SCALE16 MEGCC_WQ8_KR=4 MEGCC_WQ8_MM=1 include=gemm/megcc_wq_int8_dot.h
// kernel: matmul_wq_int8_f16_dot_i8mm arch=arm64 isa="dotprod i8mm" dtype="lhs=f16 scale=f16,f32"
//   rank=50 tolerance=1e-3 MEGCC_F16=1 MEGCC_WQ8_KR=4 MEGCC_WQ8_MM=1
//   include=gemm/megcc_wq_int8_dot.h
// kernel: matmul_wq_int8_neon arch=arm64,armv7 isa=none dtype=f32 rank=20 tolerance=2e-6
//   without=SCALE16 include=gemm/megcc_wq_int8_neon.h
// kernel: matmul_wq_int8_f16_neon arch=arm64,armv7 isa=none dtype="lhs=f16 scale=f16,f32" rank=20
//   tolerance=1e-3 MEGCC_F16=1 include=gemm/megcc_wq_int8_neon.h
// kernel: matmul_wq_int8_avx2 arch=x86 isa=avx2 dtype=f32 rank=30 tolerance=2e-6
//   without=SCALE16 include=gemm/megcc_wq_int8_x86.h
// kernel: matmul_wq_int8_f16_avx2 arch=x86 isa=avx2 dtype="lhs=f16 scale=f16,f32" rank=30
//   tolerance=1e-3 MEGCC_F16=1 include=gemm/megcc_wq_int8_x86.h
// kernel: matmul_wq_int8_avxvnni arch=x86 isa=avxvnni dtype=f32 rank=40 tolerance=2e-6
//   without=SCALE16 include=gemm/megcc_wq_int8_x86.h
// kernel: matmul_wq_int8_f16_avxvnni arch=x86 isa=avxvnni dtype="lhs=f16 scale=f16,f32" rank=40
//   tolerance=1e-3 MEGCC_F16=1 include=gemm/megcc_wq_int8_x86.h
// kernel: matmul_wq_int8_vnni arch=x86 isa=avx512vnni dtype=f32 rank=50 tolerance=2e-6
//   without=SCALE16 include=gemm/megcc_wq_int8_x86.h
// kernel: matmul_wq_int8_f16_vnni arch=x86 isa=avx512vnni dtype="lhs=f16 scale=f16,f32" rank=50
//   tolerance=1e-3 MEGCC_F16=1 include=gemm/megcc_wq_int8_x86.h
// kernel: matmul_wq_int8_c arch=portable isa=simd dtype=f32 rank=10 tolerance=2e-6
//   without=SCALE16 include=gemm/megcc_wq_int8_c.h
// kernel: matmul_wq_int8_f16_c arch=portable isa=simd dtype="lhs=f16 scale=f16,f32" rank=10
//   tolerance=1e-3 MEGCC_F16=1 include=gemm/megcc_wq_int8_c.h
//
// Rows that become int8 by the blocks of k: megcc_matmul_wq_int8.h. By sdot, or smmla, or smull; by
// vpmaddubsw, or vpdpbusd; or in vectors of columns that compilers make of plain C. Sums of a block
// are exact, so all agree but for the rounding of floats.
#include "gemm/megcc_matmul_wq_int8.h"

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  megcc_matmul_wq_int8(ptr, attr, workspace, begin, end);
}
