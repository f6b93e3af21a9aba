// kernel: conv2d_nhwc_f32_strassen
// op: conv2d
// dtype: f32
// arch: portable
// isa: simd
// when: g == kh == kw == sh == sw == 1 and pt == pl == pb == pr == 0 and ic > 0
//   and ic % (4 * NR) == oc % (4 * NR) == 0
// rank: 10
// tolerance: 1e-5
// params: ACT=act RESIDUAL=residual
// pack: w=strassen_panels(nr=NR)
// inplace: residual
// let pixels = n * oh * ow
// let half = min(MEGCC_STRASSEN_BLOCK // 2, ceil(pixels, 2))
// workspace: 3 * MEGCC_GEMM_ENTRY * half + sizeof(X) * (max(ic, MEGCC_STRASSEN_COLS)
//   + half * (MEGCC_STRASSEN_SUMS * (ic // 2) + MEGCC_STRASSEN_PRODUCTS * MEGCC_STRASSEN_COLS))
// overlap: sizeof(Y) * oc * min(pixels, MEGCC_STRASSEN_BLOCK) if oc <= ic else -1
// work: ceil(pixels, MEGCC_STRASSEN_BLOCK) * ceil(oc // 2, MEGCC_STRASSEN_COLS)
// cost: MEGCC_STRASSEN_PRODUCTS * half * min(MEGCC_STRASSEN_COLS, oc // 2) * (ic // 2)
// instructions: ceil(pixels, 2) * (9 * (ic // 2) // 4 + 14 * (oc // 2) // 4
//   + MEGCC_STRASSEN_PRODUCTS * (oc // 2) * (ic // 2 // 4 + 1))
//   + ceil(pixels, 16) * MEGCC_STRASSEN_PRODUCTS * (oc // 2) * (ic // 2 // 4 + 3)
// weights: sizeof(W) * MEGCC_STRASSEN_PRODUCTS * (oc // 2) * (ic // 2)
// exact: no
// optimize: speed
//
// A convolution of one tap as a matrix product by one level of Strassen's: megcc_strassen.h.
#define MEGCC_STRASSEN_COLS 48
#define NR 8

#include "gemm/megcc_strassen_conv2d.h"

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  megcc_strassen_conv2d(ptr, attr, workspace, begin, end);
}
