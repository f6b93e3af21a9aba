// op: qconv2d
// dtype: x=i8,u8 w=i8 bias=i32 scale=f32 zero=i8,u8 y=i8,u8,i32,f32
// isa: simd
// let window = g == ic == oc and kh == kw == DW_K and dh == dw == 1
//   and (sh == sw == 1 or sh == sw == 2) and pl <= kw - sw
// when: window and oc >= 16
// tolerance: 1e-6 if out == MEGCC_QUANT_REAL and act else 0
// params: X=X Y=Y OUT=out ACT=act SCALES=channel_scales OFFSET=offset ZERO=zero_operand
//   LIMITS=(high - low < 255) STRIDE=sw
// pack: w=dw_taps
// overlap: sizeof(Y) * oc * ow * min(n * oh, pt // sh + 2)
//   if sizeof(X) == sizeof(Y) and pl + pr <= kw - 1 and pt + pb <= kh - 1 else -1
// work: n * oh
// cost: ow * oc * kh * kw
// kernel: dwqconv2d_3x3 arch=portable rank=30 DW_K=3
// kernel: dwqconv2d_5x5 arch=portable rank=30 DW_K=5
// kernel: dwqconv2d_3x3_dot arch=arm64 isa=dotprod when="window and w_zero == 0 and oc >= 8"
//   rank=40 pack="w=dw_columns(lanes=8) bias=qgemm_bias(flip=1)" DW_K=3 MEGCC_QDW_DOT=1
//
// Depthwise 3x3 and 5x5, along one or two rows at a time: megcc_qdw.h; 3x3 by dot products, too.
#ifndef STRIDE
#define STRIDE 1
#endif
#define MULTIPLIER 1

#include "megcc_qdw.h"

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  (void)workspace;
  megcc_qdw(ptr, attr, begin, end);
}
