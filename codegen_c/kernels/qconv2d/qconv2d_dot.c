// kernel: qconv2d_dot
// op: qconv2d
// dtype: x=i8,u8 w=i8 bias=i32 scale=f32 zero=i8,u8 y=i8,u8,i32,f32
// arch: arm64
// isa: dotprod
// when: (g == 1 or oc // g >= 4) and ic > 0 and kh * kw > 0
// rank: 20
// tolerance: 1e-6 if out == MEGCC_QUANT_REAL and act else 0
// params: X=X Y=Y OUT=out ACT=act SCALES=channel_scales OFFSET=offset ZERO=zero_operand
//   LIMITS=(high - low < 255) TERMS=(w_zero != 0)
// tune: MEGCC_QGEMM_BLOCK=24,48,192
// pack: w=qgemm_panels(nr=NR, kr=MEGCC_QGEMM_KR, chunk=MEGCC_QGEMM_CHUNK, few=MEGCC_CONV_FEW)
//   bias=qgemm_bias(flip=MEGCC_QGEMM_FLIP)
// workspace: MEGCC_QGEMM_ENTRY * kh * min(MEGCC_QGEMM_BLOCK, n * oh * ow) * (1 if g * dw == 1
//   and kw > 1 and ic <= MEGCC_CONV_FEW else kw) + (sizeof(B) * oc if zero_operand else 0)
//   + (sizeof(B) * min(MEGCC_QGEMM_BLOCK, n * oh * ow) if w_zero != 0 else 0) + ((kw * ic
//   + MEGCC_RUN_PIECE) * (3 + kh * min(MEGCC_QGEMM_BLOCK, n * oh * ow, ((MEGCC_QGEMM_BLOCK - 2)
//   // max(1, ow) + 2) * (ceil(pl, sw) + ceil(pr, sw)))) if g * dw == 1 and kw > 1 and ic <=
//   MEGCC_CONV_FEW else 3 * (ic + MEGCC_RUN_PIECE))
// overlap: sizeof(Y) * oc * min(n * oh * ow, MEGCC_QGEMM_BLOCK - 1
//   + (ow * (pt // sh + 1) if kh * kw * sh * sw > 1 else 1))
//   if sizeof(X) == sizeof(Y) and oc <= ic and pl + pr <= dw * (kw - 1)
//   and pt + pb <= dh * (kh - 1) else -1
// work: ceil(n * oh * ow, MEGCC_QGEMM_BLOCK) * g * ceil(oc // g, MEGCC_QGEMM_UNIT)
// cost: (min(MEGCC_QGEMM_BLOCK, n * oh * ow) + 8) * min(MEGCC_QGEMM_UNIT, oc // g) * kh * kw
//   * (ic // g) // 4
//
// Implicit matrix product over output pixels by sdot: megcc_qconv2d_gemm.h. Any size, stride,
// dilation, padding and grouping.
#include "gemm/megcc_qgemm_dot.h"

#include "gemm/megcc_qconv2d_gemm.h"

#ifndef MEGCC_SYMBOL
#define MEGCC_SYMBOL megcc_qconv2d_dot
#endif

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  megcc_qconv2d_gemm(ptr, attr, workspace, begin, end);
}
