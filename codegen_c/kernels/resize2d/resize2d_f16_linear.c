// kernel: resize2d_f16_linear
// like: resize2d_f32_linear
// dtype: f16
// arch: portable
// isa: simd
// rank: 0
// tolerance: 1e-3
//
// A row of the output at a time: megcc_resize_linear.h. f16 is widened as it is loaded.
#define MEGCC_F16 1

#include "megcc_resize_linear.h"

#ifndef MEGCC_SYMBOL
#define MEGCC_SYMBOL megcc_resize2d_f16_linear
#endif

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  megcc_resize_linear(ptr, attr, workspace, begin, end);
}
