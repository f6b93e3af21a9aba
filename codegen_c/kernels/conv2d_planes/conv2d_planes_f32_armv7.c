// kernel: conv2d_planes_f32_armv7
// like: conv2d_planes_f32
// arch: armv7
// rank: 20
// instructions: n * oh * ceil(ow, 4) * ceil(oc, NR) * (ic * kh * ((NR + 2) * kw + 12) + 9 * NR)
//
// Tiles of some pixels of a row by a panel of channels: megcc_conv2d_planes.h. With 16 registers a
// tile has four pixels only, so that each row costs more beside its multiply-adds.
#define NR 8

#include "megcc_conv2d_planes.h"

#ifndef MEGCC_SYMBOL
#define MEGCC_SYMBOL megcc_conv2d_planes_f32_armv7
#endif

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  megcc_conv2d_planes(ptr, attr, workspace, begin, end);
}
