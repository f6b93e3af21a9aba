// kernel: resize2d_f32_linear
// op: resize2d
// dtype: f32
// arch: portable
// isa: simd
// when: mode == RESIZE2D_LINEAR
// rank: 0
// tolerance: 1e-6
// params: NCHW=nchw
// workspace: 12 * ow + (4 * w if nchw else 0)
// work: n * oh * (c if nchw else 1)
// cost: 16 * ow * (1 if nchw else c)
//
// A row of the output at a time: megcc_resize_linear.h.
#include "megcc_resize_linear.h"

#ifndef MEGCC_SYMBOL
#define MEGCC_SYMBOL megcc_resize2d_f32_linear
#endif

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  megcc_resize_linear(ptr, attr, workspace, begin, end);
}
