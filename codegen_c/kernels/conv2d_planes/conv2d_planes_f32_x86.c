// kernel: conv2d_planes_f32_x86
// like: conv2d_planes_f32
// arch: x86
// rank: 20
//
// Tiles of some pixels of a row by a panel of channels: megcc_conv2d_planes.h. Panels of 16
// channels suit AVX2 and AVX-512.
#define NR 16

#include "megcc_conv2d_planes.h"

#ifndef MEGCC_SYMBOL
#define MEGCC_SYMBOL megcc_conv2d_planes_f32_x86
#endif

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  megcc_conv2d_planes(ptr, attr, workspace, begin, end);
}
