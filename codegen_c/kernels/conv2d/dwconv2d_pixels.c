// op: conv2d
// isa: simd
// when: g == ic == oc and oc > 1
// params: ACT=act RESIDUAL=residual
// pack: w=dw_taps
// inplace: residual
// overlap: sizeof(Y) * oc * ow * min(n * oh, pt // sh + 1)
//   if pl + pr <= dw * (kw - 1) and pt + pb <= dh * (kh - 1) else -1
// work: n * oh
// cost: 4 * ow * oc * kh * kw
// kernel: dwconv2d_nhwc_f32 arch=portable dtype=f32 rank=15 tolerance=2e-6
// kernel: dwconv2d_nhwc_f16 arch=portable dtype=f16 rank=15 tolerance=1e-3 MEGCC_F16=1
// kernel: dwconv2d_nhwc_f16_fp16 arch=arm64 isa=fp16 dtype=f16 rank=20 tolerance=5e-3 MEGCC_F16=2
// kernel: dwconv2d_nhwc_wbf16 arch=portable dtype="x=f32 w=bf16 bias=f32 y=f32" rank=15
//   tolerance=2e-6 include=megcc_dw_bf16.h workspace="4 * kh * kw * oc"
//
// Depthwise, any kernel, stride, dilation and padding, by tiles of pixels: megcc_dw_tile.h. f16 is
// widened as it is loaded, or its sums are of f16; weights in bf16 become floats first, in the
// workspace.
#include "megcc_dw_tile.h"

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
#ifdef MEGCC_DW_BF16_H
  void *wide[MEGCC_DW_OPERANDS];
  megcc_dw_widen(ptr, attr, workspace, wide);
  megcc_dw_by_tiles(wide, attr, begin, end);
#else
  (void)workspace;
  megcc_dw_by_tiles(ptr, attr, begin, end);
#endif
}
