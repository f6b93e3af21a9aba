// op: conv2d_planes
// dtype: f32
// isa: simd
// when: dw == 1 and kw <= MEGCC_PLANES_WIDEST and sw <= 4 and ic > 0
// tolerance: 2e-6
// params: ACT=act KW=kw SW=sw
// pack: w=planes_panels(nr=NR)
// workspace: ic * kh * (2 * MEGCC_PLANES_OFFSET + sizeof(X) * ((MEGCC_PLANES_MOST - 1) * sw + kw))
// work: n * oh
// cost: (ow + 8) * oc * ic * kh * kw
// instructions: n * oh * ceil(ow, 8) * ceil(oc, NR) * (ic * kh * (2 * NR * kw + 4 * kw + 2 * sw)
//   + 12 * NR)
// kernel: conv2d_planes_f32 arch=portable rank=10 NR=8
// kernel: conv2d_planes_f32_armv7 arch=armv7 rank=20
//   instructions="n * oh * ceil(ow, 4) * ceil(oc, NR) * (ic * kh * ((NR + 2) * kw + 12) + 9 * NR)"
//   NR=8
// kernel: conv2d_planes_f32_x86 arch=x86 rank=20 NR=16
//
// Tiles of some pixels of a row by a panel of channels: megcc_conv2d_planes.h. Any size, stride of
// rows, dilation of rows and padding. Panels of 8 channels suit NEON and 4-lane vectors, of 16 AVX2
// and AVX-512. With Armv7's 16 registers a tile has four pixels only, so that each row costs more
// beside its multiply-adds.
#include "megcc_conv2d_planes.h"

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  megcc_conv2d_planes(ptr, attr, workspace, begin, end);
}
