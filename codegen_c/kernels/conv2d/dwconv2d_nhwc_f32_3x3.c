// kernel: dwconv2d_nhwc_f32_3x3
// op: conv2d
// dtype: f32
// arch: portable
// isa: simd
// when: g == ic == oc and oc > 1 and kh == kw == 3 and (sh == sw == 1 or sh == sw == 2 and dw == 1)
//   and pl <= (kw - sw) * dw and pr <= (kw - 1) * dw
// rank: 30
// tolerance: 2e-6
// params: ACT=act RESIDUAL=residual STRIDE=sw
// pack: w=dw_taps
// inplace: residual
// overlap: sizeof(Y) * oc * ow * min(n * oh, pt // sh + 4 * dh)
//   if pl + pr <= dw * (kw - 1) and pt + pb <= dh * (kh - 1) else -1
// work: n * oh
// cost: 4 * ow * oc * kh * kw
//
// Depthwise 3x3, several rows at a time: megcc_dwconv.h.
#define DW_K 3

#include "megcc_dwconv.h"

#ifndef MEGCC_SYMBOL
#define MEGCC_SYMBOL megcc_dwconv2d_nhwc_f32_3x3
#endif

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  (void)workspace;
  megcc_dwconv(ptr, attr, begin, end);
}
