// op: conv2d
// isa: simd
// when: (g == 1 or oc // g >= 4) and ic > 0
// params: ACT=act RESIDUAL=residual
// tune: MEGCC_GEMM_BLOCK=24,48,192 MEGCC_CONV_FEW=1,64
// pack: w=gemm_panels(nr=NR)
// inplace: residual
// let pixels = n * oh * ow
// let block = min(MEGCC_GEMM_BLOCK, pixels)
// let depth = kh * kw * (ic // g)
// let values = g * up(oc // g, NR) * depth
// let few = g * dw == 1 and kw > 1 and ic <= MEGCC_CONV_FEW
// let border = ((MEGCC_GEMM_BLOCK - 2) // max(1, ow) + 2) * (ceil(pl, sw) + ceil(pr, sw))
// let panels = 0
// let copied = 0
// let tile = 8
// let more = 0
// workspace: 4 * NR * panels * depth + copied * sizeof(X) * block * ic
//   + (MEGCC_GEMM_ENTRY * kh * block + sizeof(X) * kw * ic * (1 + kh * min(block, border)) if few
//   else MEGCC_GEMM_ENTRY * kh * kw * block + sizeof(X) * ic)
// overlap: sizeof(Y) * oc * min(pixels, MEGCC_GEMM_BLOCK - 1
//   + (ow * (pt // sh + 1) if kh * kw * sh * sw > 1 else 1))
//   if oc <= ic and pl + pr <= dw * (kw - 1) and pt + pb <= dh * (kh - 1) else -1
// work: ceil(pixels, MEGCC_GEMM_BLOCK) * g * ceil(oc // g, MEGCC_GEMM_UNIT)
// cost: (block + 8) * min(MEGCC_GEMM_UNIT, oc // g) * depth
// instructions: pixels * (18 * kh * (1 if few else kw) + g * up(oc // g, NR) * (depth // 4 + 1))
//   + ceil(pixels, tile) * g * up(oc // g, NR) * (depth // 4 + 8) + more
// weights: sizeof(W) * values
// kernel: conv2d_nhwc_f32_gemm arch=portable dtype=f32 rank=10 tolerance=2e-6 NR=8
// kernel: conv2d_nhwc_f32_gemm_x86 arch=x86 dtype=f32 rank=20 tolerance=2e-6 NR=16
// kernel: conv2d_nhwc_f32_gemm_few_x86 arch=x86 dtype=f32 rank=20 tolerance=2e-6 NR=8
//   when="(g == 1 or oc // g >= 4) and ic > 0 and oc // g <= 8" MEGCC_GEMM_TALL=1
// kernel: conv2d_nhwc_f32_packed_rows_armv7 arch=armv7 dtype=f32 rank=10 tolerance=2e-6 NR=8
//   when="g == kh == kw == 1 and pt == pl == pb == pr == 0 and ic > 0 and ic % 8 == 0"
//   optimize="speed balanced" MEGCC_GEMM_PACKED_ROWS=1 copied=1 tile=64 more="pixels * (ic // 4)"
// kernel: conv2d_nhwc_f16_gemm arch=portable dtype=f16 rank=10 tolerance=1e-3 NR=8 MEGCC_F16=1
//   more="values * pixels // 8"
// kernel: conv2d_nhwc_f16_gemm_x86 arch=x86 dtype=f16 rank=20 tolerance=1e-3 NR=16 MEGCC_F16=1
// kernel: conv2d_nhwc_f16_gemm_fp16 arch=arm64 isa=fp16 dtype=f16 rank=20 NR=16 MEGCC_F16=2
//   tolerance="5e-3 if depth < 64 else 2e-2"
// kernel: conv2d_nhwc_f16_panels arch=portable dtype=f16 rank=10 tolerance=1e-3 NR=8 MEGCC_F16=1
//   MEGCC_GEMM_PANELS=1 panels=MEGCC_GEMM_PANELS
//   more="values * pixels // 16 + values * ceil(pixels, MEGCC_GEMM_BLOCK) * 3 // 4"
// kernel: conv2d_nhwc_f16_panels_arm64 arch=arm64 dtype=f16 rank=10 tolerance=1e-3 NR=8 MEGCC_F16=1
//   MEGCC_GEMM_PANELS=3 panels=MEGCC_GEMM_PANELS
//   more="values * pixels // 48 + values * ceil(pixels, MEGCC_GEMM_BLOCK) * 3 // 4"
// kernel: conv2d_nhwc_wbf16_gemm arch=portable dtype="x=f32 w=bf16 bias=f32 y=f32" rank=10
//   tolerance=2e-6 NR=8 MEGCC_GEMM_BF16=1 MEGCC_GEMM_PANELS=1 panels=MEGCC_GEMM_PANELS
// kernel: conv2d_nhwc_wbf16_gemm_arm64 arch=arm64 dtype="x=f32 w=bf16 bias=f32 y=f32" rank=11
//   tolerance=2e-6 NR=8 MEGCC_GEMM_BF16=1 MEGCC_GEMM_PANELS=3 panels=MEGCC_GEMM_PANELS
//
// Implicit matrix product over output pixels: megcc_conv2d_gemm.h. Any size, stride, dilation,
// padding and grouping. Panels of 8 channels suit NEON and 4-lane vectors, of 16 AVX2, AVX-512
// (whose conversions of f16 cost little) and sums of f16.
// * f16_gemm widens f16 as it is loaded, gemm_fp16 adds f16.
// * panels: weights in f16 or bf16, of which a panel at a time becomes floats; on Arm64 as many as
//   its widest tile reads.
// * few_x86: 16 lanes would be half empty.
// * packed_rows: a convolution of one tap whose pixels are copied to where one load reads four k of
//   four of them. It pays where pixels are read for several panels of channels. `instructions` is
//   beside those of the other kernels, which say what they take on Arm64: counted, Strassen's
//   products with tiles that do not read packed rows save less than these.
// `panels`, `copied`, `tile`, `more`: panels of weights that become floats, whether pixels are
// copied, pixels of a tile, instructions for widening or copying.
#include "gemm/megcc_conv2d_gemm.h"

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  megcc_conv2d_gemm(ptr, attr, workspace, begin, end);
}
