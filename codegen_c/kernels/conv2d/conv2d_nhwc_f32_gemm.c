// kernel: conv2d_nhwc_f32_gemm
// op: conv2d
// dtype: f32
// arch: portable
// isa: simd
// when: (g == 1 or oc // g >= 4) and ic > 0
// rank: 10
// tolerance: 2e-6
// params: ACT=act RESIDUAL=residual
// tune: MEGCC_GEMM_BLOCK=24,48,192 MEGCC_CONV_FEW=1,64
// pack: w=gemm_panels(nr=NR)
// workspace: MEGCC_GEMM_ENTRY * kh * min(MEGCC_GEMM_BLOCK, n * oh * ow) + sizeof(X) * kw * ic * (1
//   + kh * min(MEGCC_GEMM_BLOCK, n * oh * ow, ((MEGCC_GEMM_BLOCK - 2) // max(1, ow) + 2)
//   * (ceil(pl, sw) + ceil(pr, sw)))) if g * dw == 1 and kw > 1 and ic <= MEGCC_CONV_FEW
//   else MEGCC_GEMM_ENTRY * kh * kw * min(MEGCC_GEMM_BLOCK, n * oh * ow) + sizeof(X) * ic
// inplace: residual
// overlap: sizeof(Y) * oc * min(n * oh * ow, MEGCC_GEMM_BLOCK - 1
//   + (ow * (pt // sh + 1) if kh * kw * sh * sw > 1 else 1))
//   if oc <= ic and pl + pr <= dw * (kw - 1) and pt + pb <= dh * (kh - 1) else -1
// work: ceil(n * oh * ow, MEGCC_GEMM_BLOCK) * g * ceil(oc // g, MEGCC_GEMM_UNIT)
// cost: (min(MEGCC_GEMM_BLOCK, n * oh * ow) + 8) * min(MEGCC_GEMM_UNIT, oc // g) * kh * kw
//   * (ic // g)
// instructions: n * oh * ow * (18 * kh * (1 if g * dw == 1 and kw > 1 and ic <= MEGCC_CONV_FEW
//   else kw) + g * up(oc // g, NR) * (kh * kw * (ic // g) // 4 + 1)) + ceil(n * oh * ow, 8) * g
//   * up(oc // g, NR) * (kh * kw * (ic // g) // 4 + 8)
// weights: sizeof(W) * g * up(oc // g, NR) * kh * kw * (ic // g)
//
// Implicit matrix product over output pixels: megcc_conv2d_gemm.h. Any size, stride, dilation,
// padding and grouping; panels of 8 channels suit NEON and 4-lane vectors.
#define NR 8

#include "gemm/megcc_conv2d_gemm.h"

#ifndef MEGCC_SYMBOL
#define MEGCC_SYMBOL megcc_conv2d_nhwc_f32_gemm
#endif

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  megcc_conv2d_gemm(ptr, attr, workspace, begin, end);
}
