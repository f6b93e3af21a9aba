// kernel: conv2d_nhwc_f32_winograd6
// op: conv2d
// dtype: f32
// arch: portable
// isa: simd
// when: kh == kw == 3 and sh == sw == dh == dw == 1 and ic > 0 and (g == 1 or oc // g >= 4)
// rank: 10
// tolerance: 3e-5
// params: ACT=act RESIDUAL=residual
// tune: MEGCC_WINOGRAD_TILES=12,48 MEGCC_WINOGRAD_COLS=8,16,24,48
// pack: w=winograd_panels(m=MEGCC_WINOGRAD_M, nr=NR)
// workspace: min(MEGCC_WINOGRAD_TILES, n * ceil(oh, MEGCC_WINOGRAD_M) * ceil(ow, MEGCC_WINOGRAD_M))
//   * (MEGCC_GEMM_ENTRY + sizeof(X) * (MEGCC_WINOGRAD_M + 2) * (MEGCC_WINOGRAD_M + 2) * (up(ic, NR)
//   + MEGCC_WINOGRAD_COLS))
// inplace: residual
// overlap: sizeof(Y) * oc * ow * min(n * oh, pt + MEGCC_WINOGRAD_M * (2 + (MEGCC_WINOGRAD_TILES
//   - 2) // max(1, ceil(ow, MEGCC_WINOGRAD_M)))) if oc <= ic and pl + pr <= 2 and pt + pb <= 2
//   else -1
// work: ceil(n * ceil(oh, MEGCC_WINOGRAD_M) * ceil(ow, MEGCC_WINOGRAD_M), MEGCC_WINOGRAD_TILES) * g
//   * ceil(oc // g, MEGCC_WINOGRAD_COLS)
// cost: MEGCC_WINOGRAD_TILES * (MEGCC_WINOGRAD_M + 2) * (MEGCC_WINOGRAD_M + 2) * (ic // g)
//   * min(MEGCC_WINOGRAD_COLS, oc // g)
// instructions: (n * (oh + 2 * ceil(oh, MEGCC_WINOGRAD_M)) * (ow + 2 * ceil(ow, MEGCC_WINOGRAD_M))
//   * (16 + STEPS * (ceil(ic, 4) + ceil(oc, 4)) + g * up(oc // g, NR) * (ic // g) // 4) + ceil(n
//   * ceil(oh, MEGCC_WINOGRAD_M) * ceil(ow, MEGCC_WINOGRAD_M), 8) * (MEGCC_WINOGRAD_M + 2)
//   * (MEGCC_WINOGRAD_M + 2) * g * up(oc // g, NR) * (ic // g // 4 + 8))
// weights: sizeof(W) * (MEGCC_WINOGRAD_M + 2) * (MEGCC_WINOGRAD_M + 2) * g * up(oc // g, NR) * (ic
//   // g)
// exact: no
//
// Winograd's F(6 x 6, 3 x 3): megcc_winograd.h.
#define MEGCC_WINOGRAD_M 6
#ifndef MEGCC_WINOGRAD_TILES
#define MEGCC_WINOGRAD_TILES 24
#endif
#ifndef MEGCC_WINOGRAD_COLS
#define MEGCC_WINOGRAD_COLS 24
#endif
#define STEPS 12  // instructions of both passes of a transform, for each value
#define NR 8

#include "megcc_winograd.h"

#ifndef MEGCC_SYMBOL
#define MEGCC_SYMBOL megcc_conv2d_nhwc_f32_winograd6
#endif

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  megcc_winograd(ptr, attr, workspace, begin, end);
}
