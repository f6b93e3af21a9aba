// kernel: conv2d_nhwc_wbf16_gemm
// like: conv2d_nhwc_f32_gemm
// dtype: x=f32 w=bf16 bias=f32 y=f32
// workspace: sizeof(X) * NR * MEGCC_GEMM_PANELS * kh * kw * (ic // g) + MEGCC_GEMM_ENTRY * kh
//   * min(MEGCC_GEMM_BLOCK, n * oh * ow) + sizeof(X) * kw * ic * (1 + kh * min(MEGCC_GEMM_BLOCK, n
//   * oh * ow, ((MEGCC_GEMM_BLOCK - 2) // max(1, ow) + 2) * (ceil(pl, sw) + ceil(pr, sw)))) if g
//   * dw == 1 and kw > 1 and ic <= MEGCC_CONV_FEW else sizeof(X) * NR * MEGCC_GEMM_PANELS * kh * kw
//   * (ic // g) + MEGCC_GEMM_ENTRY * kh * kw * min(MEGCC_GEMM_BLOCK, n * oh * ow) + sizeof(X) * ic
//
// Implicit matrix product over output pixels: megcc_conv2d_gemm.h. Any size, stride, dilation,
// padding and grouping. Weights in bf16, of which a panel at a time becomes floats.
#define MEGCC_GEMM_BF16
#define MEGCC_GEMM_PANELS 1
#define NR 8

#include "gemm/megcc_conv2d_gemm.h"

#ifndef MEGCC_SYMBOL
#define MEGCC_SYMBOL megcc_conv2d_nhwc_wbf16_gemm
#endif

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  megcc_conv2d_gemm(ptr, attr, workspace, begin, end);
}
