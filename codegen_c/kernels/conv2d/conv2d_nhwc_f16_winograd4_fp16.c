// kernel: conv2d_nhwc_f16_winograd4_fp16
// like: conv2d_nhwc_f32_winograd4
// dtype: f16
// arch: arm64
// isa: fp16
// rank: 20
// tolerance: 1e-1
// optimize: speed
//
// Winograd's F(4 x 4, 3 x 3): megcc_winograd.h. Sums and transforms of f16, panels of 16 channels.
// Its error is three times that of F(2 x 2), so speed has to be asked for.
#define MEGCC_F16 2
#define MEGCC_WINOGRAD_M 4
#ifndef MEGCC_WINOGRAD_TILES
#define MEGCC_WINOGRAD_TILES 16
#endif
#ifndef MEGCC_WINOGRAD_COLS
#define MEGCC_WINOGRAD_COLS 48
#endif
#define STEPS 11  // instructions of both passes of a transform, for each value
#define NR 16

#include "megcc_winograd.h"

#ifndef MEGCC_SYMBOL
#define MEGCC_SYMBOL megcc_conv2d_nhwc_f16_winograd4_fp16
#endif

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  megcc_winograd(ptr, attr, workspace, begin, end);
}
