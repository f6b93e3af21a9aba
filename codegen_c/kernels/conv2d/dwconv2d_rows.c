// op: conv2d
// isa: simd
// when: g == ic == oc and oc > 1 and kh == kw == DW_K
//   and (sh == sw == 1 or sh == sw == 2 and dw == 1)
//   and pl <= (kw - sw) * dw and pr <= (kw - 1) * dw
// params: ACT=act RESIDUAL=residual STRIDE=sw
// pack: w=dw_taps
// inplace: residual
// overlap: sizeof(Y) * oc * ow * min(n * oh, pt // sh + 4 * dh)
//   if pl + pr <= dw * (kw - 1) and pt + pb <= dh * (kh - 1) else -1
// work: n * oh
// cost: 4 * ow * oc * kh * kw
// kernel: dwconv2d_nhwc_f32_3x3 arch=portable dtype=f32 rank=30 tolerance=2e-6 DW_K=3
// kernel: dwconv2d_nhwc_f32_5x5 arch=portable dtype=f32 rank=30 tolerance=2e-6 DW_K=5
// kernel: dwconv2d_nhwc_f16_3x3 arch=portable dtype=f16 rank=30 tolerance=1e-3 DW_K=3 MEGCC_F16=1
// kernel: dwconv2d_nhwc_f16_5x5 arch=portable dtype=f16 rank=30 tolerance=1e-3 DW_K=5 MEGCC_F16=1
// kernel: dwconv2d_nhwc_f16_3x3_fp16 arch=arm64 isa=fp16 dtype=f16 rank=35 tolerance=5e-3
//   DW_K=3 MEGCC_F16=2
// kernel: dwconv2d_nhwc_f16_5x5_fp16 arch=arm64 isa=fp16 dtype=f16 rank=35 tolerance=5e-3
//   DW_K=5 MEGCC_F16=2
// kernel: dwconv2d_nhwc_wbf16_3x3 arch=portable dtype="x=f32 w=bf16 bias=f32 y=f32" rank=30
//   tolerance=2e-6 DW_K=3 include=megcc_dw_bf16.h workspace="4 * kh * kw * oc"
// kernel: dwconv2d_nhwc_wbf16_5x5 arch=portable dtype="x=f32 w=bf16 bias=f32 y=f32" rank=30
//   tolerance=2e-6 DW_K=5 include=megcc_dw_bf16.h workspace="4 * kh * kw * oc"
//
// Depthwise 3x3 and 5x5, several rows at a time: megcc_dwconv.h. f16 is widened as it is loaded, or
// its sums are of f16; weights in bf16 become floats first, in the workspace.
#include "megcc_dwconv.h"

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
#ifdef MEGCC_DW_BF16_H
  void *wide[MEGCC_DW_OPERANDS];
  megcc_dw_widen(ptr, attr, workspace, wide);
  megcc_dwconv(wide, attr, begin, end);
#else
  (void)workspace;
  megcc_dwconv(ptr, attr, begin, end);
#endif
}
