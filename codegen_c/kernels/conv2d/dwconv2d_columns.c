// op: conv2d
// isa: simd
// when: g == ic == oc and oc > 1 and kw == DW_K and sw == dw == 1
// params: ACT=act RESIDUAL=residual
// pack: w=dw_taps
// inplace: residual
// overlap: sizeof(Y) * oc * ow * min(n * oh, pt // sh + 1)
//   if pl + pr <= dw * (kw - 1) and pt + pb <= dh * (kh - 1) else -1
// work: n * oh
// cost: 4 * ow * oc * kh * kw
// kernel: dwconv2d_nhwc_f32_w7 arch=portable dtype=f32 rank=20 tolerance=2e-6 DW_K=7
// kernel: dwconv2d_nhwc_f16_w7 arch=portable dtype=f16 rank=20 tolerance=1e-3 DW_K=7 MEGCC_F16=1
// kernel: dwconv2d_nhwc_f16_w7_fp16 arch=arm64 isa=fp16 dtype=f16 rank=25 tolerance=5e-3 DW_K=7
//   MEGCC_F16=2
//
// Depthwise, 7 taps wide and of any height, by tiles of pixels whose columns are loaded once:
// megcc_dw_tile.h. f16 is widened as it is loaded, or its sums are of f16.
#include "megcc_dw_tile.h"

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  (void)workspace;
  megcc_dw_by_tiles(ptr, attr, begin, end);
}
