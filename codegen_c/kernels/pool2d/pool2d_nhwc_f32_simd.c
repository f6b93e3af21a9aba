// kernel: pool2d_nhwc_f32_simd
// op: pool2d
// dtype: f32
// arch: arm64, armv7, x86
// isa: simd
// rank: 10
// tolerance: 2e-6
// params: FUNC=func COLS=(kw if kw in (2, 3) else 0)
// overlap: sizeof(T) * c * ow * min(n * oh, pt // sh + 1)
//   if pl + pr <= dw * (kw - 1) and pt + pb <= dh * (kh - 1) else -1
// work: n * oh
// cost: 4 * ow * c * kh * kw
//
// Four vectors of channels at a time stay in registers over all taps, then two, one, and the tail.
#include "megcc_pool2d.h"

#ifndef MEGCC_SYMBOL
#define MEGCC_SYMBOL megcc_pool2d_nhwc_f32_simd
#endif

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  (void)workspace;
  megcc_pool2d(ptr, attr, begin, end);
}
