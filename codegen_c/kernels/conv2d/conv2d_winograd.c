// op: conv2d
// isa: simd
// when: kh == kw == 3 and sh == sw == dh == dw == 1 and ic > 0 and (g == 1 or oc // g >= 4)
// params: ACT=act RESIDUAL=residual
// tune: MEGCC_WINOGRAD_TILES=/2,*2 MEGCC_WINOGRAD_COLS=8,16,24,48
// pack: w=winograd_panels(m=MEGCC_WINOGRAD_M, nr=NR)
// inplace: residual
// exact: no
// let tiles = n * ceil(oh, MEGCC_WINOGRAD_M) * ceil(ow, MEGCC_WINOGRAD_M)
// let products = (MEGCC_WINOGRAD_M + 2) * (MEGCC_WINOGRAD_M + 2)
// let packed = g * up(oc // g, NR)
// let steps = 0
// let inner = sizeof(X)
// workspace: min(MEGCC_WINOGRAD_TILES, tiles)
//   * (MEGCC_GEMM_ENTRY + inner * products * (up(ic, NR) + MEGCC_WINOGRAD_COLS))
// overlap: sizeof(Y) * oc * ow * min(n * oh, pt + MEGCC_WINOGRAD_M
//   * (2 + (MEGCC_WINOGRAD_TILES - 2) // max(1, ceil(ow, MEGCC_WINOGRAD_M))))
//   if oc <= ic and pl + pr <= 2 and pt + pb <= 2 else -1
// work: ceil(tiles, MEGCC_WINOGRAD_TILES) * g * ceil(oc // g, MEGCC_WINOGRAD_COLS)
// cost: MEGCC_WINOGRAD_TILES * products * (ic // g) * min(MEGCC_WINOGRAD_COLS, oc // g)
// instructions: n * (oh + 2 * ceil(oh, MEGCC_WINOGRAD_M)) * (ow + 2 * ceil(ow, MEGCC_WINOGRAD_M))
//   * (16 + steps * (ceil(ic, 4) + ceil(oc, 4)) + packed * (ic // g) // 4)
//   + ceil(tiles, 8) * products * packed * (ic // g // 4 + 8)
// weights: sizeof(W) * products * packed * (ic // g)
// kernel: conv2d_nhwc_f32_winograd2 arch=portable dtype=f32 rank=10 tolerance=2e-6 steps=6
//   MEGCC_WINOGRAD_M=2 MEGCC_WINOGRAD_TILES=32 MEGCC_WINOGRAD_COLS=24 NR=8
// kernel: conv2d_nhwc_f32_winograd4 arch=portable dtype=f32 rank=10 tolerance=2e-5 steps=11
//   MEGCC_WINOGRAD_M=4 MEGCC_WINOGRAD_TILES=16 MEGCC_WINOGRAD_COLS=24 NR=8
// kernel: conv2d_nhwc_f32_winograd6 arch=portable dtype=f32 rank=10 tolerance=3e-5 steps=12
//   MEGCC_WINOGRAD_M=6 MEGCC_WINOGRAD_TILES=24 MEGCC_WINOGRAD_COLS=24 NR=8
// kernel: conv2d_nhwc_f32_winograd2_x86 arch=x86 dtype=f32 rank=20 tolerance=2e-6 steps=6
//   MEGCC_WINOGRAD_M=2 MEGCC_WINOGRAD_TILES=32 MEGCC_WINOGRAD_COLS=48 NR=16
//   tune="MEGCC_WINOGRAD_TILES=/2,*2 MEGCC_WINOGRAD_COLS=16"
// kernel: conv2d_nhwc_f32_winograd4_x86 arch=x86 dtype=f32 rank=20 tolerance=2e-5 steps=11
//   MEGCC_WINOGRAD_M=4 MEGCC_WINOGRAD_TILES=16 MEGCC_WINOGRAD_COLS=48 NR=16
//   tune="MEGCC_WINOGRAD_TILES=/2,*2 MEGCC_WINOGRAD_COLS=16"
// kernel: conv2d_nhwc_f32_winograd6_x86 arch=x86 dtype=f32 rank=20 tolerance=3e-5 steps=12
//   MEGCC_WINOGRAD_M=6 MEGCC_WINOGRAD_TILES=24 MEGCC_WINOGRAD_COLS=48 NR=16
//   tune="MEGCC_WINOGRAD_TILES=/2,*2 MEGCC_WINOGRAD_COLS=16"
// kernel: conv2d_nhwc_f16_winograd2_x86 arch=x86 dtype=f16 rank=20 tolerance=2e-3 steps=6 inner=4
//   MEGCC_WINOGRAD_M=2 MEGCC_WINOGRAD_TILES=32 MEGCC_WINOGRAD_COLS=48 NR=16 MEGCC_GEMM_F16=1
//   tune="MEGCC_WINOGRAD_TILES=/2,*2 MEGCC_WINOGRAD_COLS=16"
// kernel: conv2d_nhwc_f16_winograd2_fp16 arch=arm64 isa=fp16 dtype=f16 rank=20 tolerance=2e-2
//   steps=6 MEGCC_WINOGRAD_M=2 MEGCC_WINOGRAD_TILES=32 MEGCC_WINOGRAD_COLS=48 NR=16 MEGCC_F16=2
//   tune="MEGCC_WINOGRAD_TILES=/2,*2 MEGCC_WINOGRAD_COLS=16"
// kernel: conv2d_nhwc_f16_winograd4_fp16 arch=arm64 isa=fp16 dtype=f16 rank=20 tolerance=1e-1
//   steps=11 MEGCC_WINOGRAD_M=4 MEGCC_WINOGRAD_TILES=16 MEGCC_WINOGRAD_COLS=48 NR=16 MEGCC_F16=2
//   tune="MEGCC_WINOGRAD_TILES=/2,*2 MEGCC_WINOGRAD_COLS=16" optimize=speed
//
// Winograd's F(m x m, 3 x 3): megcc_winograd.h. Panels of 16 channels suit AVX2, AVX-512 and sums
// of f16. The error of F(4 x 4) in f16 is three times that of F(2 x 2), so speed has to be asked
// for. f16_winograd2_x86 computes in float; its weights are rounded to f16 at the points, and a
// tile of 4 would take those of small weights below what f16 holds in full. `steps` are
// instructions of both passes of a transform, for each value, `inner` the bytes of a value that is
// computed.
#include "megcc_winograd.h"

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  megcc_winograd(ptr, attr, workspace, begin, end);
}
