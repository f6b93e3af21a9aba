// kernel: conv2d_nhwc_f32_packed_rows_armv7
// like: conv2d_nhwc_f32_gemm
// arch: armv7
// isa: simd
// when: g == kh == kw == 1 and pt == pl == pb == pr == 0 and ic > 0 and ic % 8 == 0
// workspace: MEGCC_GEMM_ENTRY * min(MEGCC_GEMM_BLOCK, n * oh * ow) + sizeof(X) * ic
//   * (1 + min(MEGCC_GEMM_BLOCK, n * oh * ow))
// instructions: n * oh * ow * (18 + ic // 4 + up(oc, NR) * (ic // 4 + 1)) + ceil(n * oh * ow, 64)
//   * up(oc, NR) * (ic // 4 + 8)
// optimize: speed balanced
//
// A convolution of one tap whose pixels are copied to where one load reads four k of four of them:
// megcc_conv2d_gemm.h. It pays where pixels are read for several panels of channels. `instructions`
// is beside those of the other kernels, which say what they take on Arm64: counted, Strassen's
// products with tiles that do not read packed rows save less than these.
#define NR 8
#define MEGCC_GEMM_PACKED_ROWS

#include "gemm/megcc_conv2d_gemm.h"

#ifndef MEGCC_SYMBOL
#define MEGCC_SYMBOL megcc_conv2d_nhwc_f32_packed_rows_armv7
#endif

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  megcc_conv2d_gemm(ptr, attr, workspace, begin, end);
}
