// op: pool2d
// isa: simd
// params: FUNC=func COLS=(kw if kw in (2, 3) else 0)
// overlap: sizeof(T) * c * ow * min(n * oh, pt // sh + 1)
//   if pl + pr <= dw * (kw - 1) and pt + pb <= dh * (kh - 1) else -1
// work: n * oh
// cost: 4 * ow * c * kh * kw
// kernel: pool2d_nhwc_f32_simd dtype=f32 arch="arm64, armv7, x86" rank=10 tolerance=2e-6
// kernel: pool2d_nhwc_f32_mve dtype=f32 arch=cortexm isa=mve.fp rank=10 tolerance=2e-6
// kernel: pool2d_nhwc_f16 dtype=f16 arch=portable rank=0 tolerance=1e-3 MEGCC_F16=1
// kernel: pool2d_nhwc_f16_fp16 dtype=f16 arch=arm64 isa=fp16 when="func == POOL2D_MAX" rank=10
//   MEGCC_F16=2
//
// Four vectors of channels at a time stay in registers over all taps, then two, one, and the tail:
// megcc_pool2d.h. f16 is widened as it is loaded and added up in f32; maxima need no more than
// vectors of eight f16.
#include "megcc_pool2d.h"

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  (void)workspace;
  megcc_pool2d(ptr, attr, begin, end);
}
