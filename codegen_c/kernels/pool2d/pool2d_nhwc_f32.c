// kernel: pool2d_nhwc_f32 FUNC=POOL2D_MAX
// op: pool2d
// dtype: f32
// arch: portable
// isa: none
// rank: 0
// tolerance: 2e-6
// params: FUNC=func
// overlap: sizeof(T) * c * ow * min(n * oh, pt // sh + 1)
//   if pl + pr <= dw * (kw - 1) and pt + pb <= dh * (kh - 1) else -1
// work: n * oh
// cost: 4 * ow * c * kh * kw
//
// The reference: the output pixel is the accumulator, one pass per tap over the channels.
#include "math/megcc_int.h"
#include "megcc_kernel.h"
#include "megcc_window.h"
#include "op/pool2d.h"

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  (void)workspace;
  const float *x = ptr[0];
  float *y = ptr[1];
  const int32_t height = attr[POOL2D_H], width = attr[POOL2D_W], channels = attr[POOL2D_C];
  const int32_t oh = attr[POOL2D_OH], ow = attr[POOL2D_OW];
  const int32_t dh = attr[POOL2D_DH], dw = attr[POOL2D_DW];
  for (int32_t row = begin; row < end; ++row) {
    const float *image = x + (size_t)(row / oh) * (size_t)height * (size_t)width * (size_t)channels;
    const megcc_window_t v = megcc_window(row % oh, attr[POOL2D_KH], attr[POOL2D_SH], dh, height,
                                          attr[POOL2D_PT], attr[POOL2D_PB]);
    for (int32_t col = 0; col < ow; ++col) {
      const megcc_window_t u = megcc_window(col, attr[POOL2D_KW], attr[POOL2D_SW], dw, width,
                                            attr[POOL2D_PL], attr[POOL2D_PR]);
      float *dst = y + ((size_t)row * (size_t)ow + (size_t)col) * (size_t)channels;
      for (int32_t c = 0; c < channels; ++c) dst[c] = FUNC == POOL2D_MAX ? -MEGCC_INFINITY : 0.0f;
      for (int32_t i = v.begin; i < v.end; ++i) {
        for (int32_t j = u.begin; j < u.end; ++j) {
          const float *src =
              image + ((size_t)(v.origin + i * dh) * (size_t)width + (size_t)(u.origin + j * dw)) *
                          (size_t)channels;
#if FUNC == POOL2D_MAX
          for (int32_t c = 0; c < channels; ++c) dst[c] = megcc_nanmax_f32(dst[c], src[c]);
#else
          for (int32_t c = 0; c < channels; ++c) dst[c] += src[c];
#endif
        }
      }
#if FUNC == POOL2D_AVG
      const int32_t count = attr[POOL2D_COUNT_INCLUDE_PAD] ? v.padded * u.padded
                                                           : (v.end - v.begin) * (u.end - u.begin);
      for (int32_t c = 0; c < channels; ++c) dst[c] /= (float)count;
#endif
    }
  }
}
