// kernel: conv2d_planes_f32
// op: conv2d_planes
// dtype: f32
// arch: portable
// isa: simd
// when: dw == 1 and kw <= MEGCC_PLANES_WIDEST and sw <= 4 and ic > 0
// rank: 10
// tolerance: 2e-6
// params: ACT=act KW=kw SW=sw
// pack: w=planes_panels(nr=NR)
// workspace: ic * kh * (2 * MEGCC_PLANES_OFFSET
//   + sizeof(X) * ((MEGCC_PLANES_MOST - 1) * sw + kw))
// work: n * oh
// cost: (ow + 8) * oc * ic * kh * kw
// instructions: n * oh * ceil(ow, 8) * ceil(oc, NR) * (ic * kh * (2 * NR * kw + 4 * kw + 2 * sw)
//   + 12 * NR)
//
// Tiles of some pixels of a row by a panel of channels: megcc_conv2d_planes.h. Any size, stride of
// rows, dilation of rows and padding; panels of 8 channels suit NEON and 4-lane vectors.
#define NR 8

#include "megcc_conv2d_planes.h"

#ifndef MEGCC_SYMBOL
#define MEGCC_SYMBOL megcc_conv2d_planes_f32
#endif

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  megcc_conv2d_planes(ptr, attr, workspace, begin, end);
}
