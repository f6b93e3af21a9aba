// kernel: conv2d_nhwc_f32_winograd6_x86
// like: conv2d_nhwc_f32_winograd6
// arch: x86
// rank: 20
//
// Winograd's F(6 x 6, 3 x 3): megcc_winograd.h. Panels of 16 channels suit AVX2 and AVX-512.
#define MEGCC_WINOGRAD_M 6
#ifndef MEGCC_WINOGRAD_TILES
#define MEGCC_WINOGRAD_TILES 24
#endif
#ifndef MEGCC_WINOGRAD_COLS
#define MEGCC_WINOGRAD_COLS 48
#endif
#define STEPS 12  // instructions of both passes of a transform, for each value
#define NR 16

#include "megcc_winograd.h"

#ifndef MEGCC_SYMBOL
#define MEGCC_SYMBOL megcc_conv2d_nhwc_f32_winograd6_x86
#endif

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  megcc_winograd(ptr, attr, workspace, begin, end);
}
