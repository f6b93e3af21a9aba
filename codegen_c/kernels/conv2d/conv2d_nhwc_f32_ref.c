// kernel: conv2d_nhwc_f32_ref
// op: conv2d
// dtype: f32
// arch: portable
// isa: none
// rank: 0
// tolerance: 2e-6
// params: ACT=act RESIDUAL=residual
// inplace: residual
// work: n * oh
// cost: 8 * ow * oc * kh * kw * (ic // g)
//
// The reference: plain C99, any groups, strides, dilations and padding. Weights stay OHWI.
#include "megcc_epilogue.h"
#include "op/conv2d.h"

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  const float *x = ptr[0], *w = ptr[1], *bias = ptr[2];
  const float *residual = MEGCC_RESIDUAL(ptr, 3);
  float *y = MEGCC_OUTPUT(ptr, 3);
  const int32_t h = attr[CONV2D_H], width = attr[CONV2D_W], ic = attr[CONV2D_IC];
  const int32_t oh = attr[CONV2D_OH], ow = attr[CONV2D_OW], oc = attr[CONV2D_OC];
  const int32_t kh = attr[CONV2D_KH], kw = attr[CONV2D_KW];
  const int32_t icg = ic / attr[CONV2D_G], ocg = oc / attr[CONV2D_G];
  const float act_a = megcc_attr_f32(attr[CONV2D_ACT_A]);
  const float act_b = megcc_attr_f32(attr[CONV2D_ACT_B]);
  (void)workspace, (void)act_a, (void)act_b, (void)residual;
  for (int32_t row = begin; row < end; ++row) {
    const float *image = x + (size_t)(row / oh) * (size_t)h * (size_t)width * (size_t)ic;
    const int32_t top = row % oh * attr[CONV2D_SH] - attr[CONV2D_PT];
    for (int32_t col = 0; col < ow; ++col) {
      const int32_t left = col * attr[CONV2D_SW] - attr[CONV2D_PL];
      const size_t at = ((size_t)row * (size_t)ow + (size_t)col) * (size_t)oc;
      for (int32_t o = 0; o < oc; ++o) {
        const float *tap = w + (size_t)o * (size_t)kh * (size_t)kw * (size_t)icg;
        float sum = bias[o];
        for (int32_t i = 0; i < kh; ++i) {
          const int32_t iy = top + i * attr[CONV2D_DH];
          for (int32_t j = 0; j < kw; ++j, tap += icg) {
            const int32_t ix = left + j * attr[CONV2D_DW];
            if (iy < 0 || iy >= h || ix < 0 || ix >= width) continue;
            const float *pixel = image + ((size_t)iy * (size_t)width + (size_t)ix) * (size_t)ic +
                                 (size_t)(o / ocg) * (size_t)icg;
            for (int32_t c = 0; c < icg; ++c) sum += pixel[c] * tap[c];
          }
        }
        MEGCC_EPILOGUE_F32(sum, residual[at + (size_t)o], act_a, act_b);
        y[at + (size_t)o] = sum;
      }
    }
  }
}
