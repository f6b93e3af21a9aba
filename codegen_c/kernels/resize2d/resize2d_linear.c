// op: resize2d
// arch: portable
// isa: simd
// when: mode == RESIZE2D_LINEAR
// rank: 0
// params: NCHW=nchw
// workspace: 12 * ow + (4 * w if nchw else 0)
// work: n * oh * (c if nchw else 1)
// cost: 16 * ow * (1 if nchw else c)
// kernel: resize2d_f32_linear dtype=f32 tolerance=1e-6
// kernel: resize2d_f16_linear dtype=f16 tolerance=1e-3 MEGCC_F16=1
//
// A row of the output at a time: megcc_resize_linear.h. f16 is widened as it is loaded.
#include "megcc_resize_linear.h"

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  megcc_resize_linear(ptr, attr, workspace, begin, end);
}
