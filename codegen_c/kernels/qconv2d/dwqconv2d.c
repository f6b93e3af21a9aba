// kernel: dwqconv2d MULTIPLIER=1
// op: qconv2d
// dtype: x=i8,u8 w=i8 bias=i32 scale=f32 zero=i8,u8 y=i8,u8,i32,f32
// arch: portable
// isa: simd
// when: g == ic and oc % ic == 0
// rank: 15
// tolerance: 1e-6 if out == MEGCC_QUANT_REAL and act else 0
// params: X=X Y=Y OUT=out ACT=act SCALES=channel_scales OFFSET=offset ZERO=zero_operand
//   LIMITS=(high - low < 255) MULTIPLIER=(min(oc // ic, 2))
// pack: w=dw_taps
// overlap: sizeof(Y) * oc * ow * min(n * oh, pt // sh + 1)
//   if oc == ic and sizeof(X) == sizeof(Y) and pl + pr <= dw * (kw - 1)
//   and pt + pb <= dh * (kh - 1) else -1
// work: n * oh
// cost: ow * oc * kh * kw
//
// Depthwise, any kernel, stride, dilation and padding, pixel by pixel: megcc_qdw_pixel.h.
#include "megcc_qdw_pixel.h"

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  (void)workspace;
  megcc_qdw_by_pixels(ptr, attr, begin, end);
}
