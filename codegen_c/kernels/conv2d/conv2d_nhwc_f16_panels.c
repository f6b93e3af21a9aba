// kernel: conv2d_nhwc_f16_panels
// like: conv2d_nhwc_f32_gemm
// dtype: f16
// arch: portable
// isa: simd
// rank: 10
// tolerance: 1e-3
// workspace: 4 * NR * MEGCC_GEMM_PANELS * kh * kw * (ic // g) + MEGCC_GEMM_ENTRY * kh
//   * min(MEGCC_GEMM_BLOCK, n * oh * ow) + sizeof(X) * kw * ic * (1 + kh * min(MEGCC_GEMM_BLOCK, n
//   * oh * ow, ((MEGCC_GEMM_BLOCK - 2) // max(1, ow) + 2) * (ceil(pl, sw) + ceil(pr, sw)))) if g
//   * dw == 1 and kw > 1 and ic <= MEGCC_CONV_FEW else 4 * NR * MEGCC_GEMM_PANELS * kh * kw * (ic
//   // g) + MEGCC_GEMM_ENTRY * kh * kw * min(MEGCC_GEMM_BLOCK, n * oh * ow) + sizeof(X) * ic
// instructions: n * oh * ow * (18 * kh * (1 if g * dw == 1 and kw > 1 and ic <= MEGCC_CONV_FEW
//   else kw) + g * up(oc // g, NR) * (kh * kw * (ic // g) // 4 + 1)) + ceil(n * oh * ow, 8) * g
//   * up(oc // g, NR) * (kh * kw * (ic // g) // 4 + 8) + g * up(oc // g, NR) * kh * kw * (ic // g)
//   * (n * oh * ow) // 16 + g * up(oc // g, NR) * kh * kw * (ic // g) * ceil(n * oh * ow,
//   MEGCC_GEMM_BLOCK) * 3 // 4
//
// Implicit matrix product over output pixels: megcc_conv2d_gemm.h. Any size, stride, dilation,
// padding and grouping. Weights in f16, of which a panel at a time becomes floats.
#define MEGCC_F16 1
#define MEGCC_GEMM_PANELS 1
#define NR 8

#include "gemm/megcc_conv2d_gemm.h"

#ifndef MEGCC_SYMBOL
#define MEGCC_SYMBOL megcc_conv2d_nhwc_f16_panels
#endif

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  megcc_conv2d_gemm(ptr, attr, workspace, begin, end);
}
