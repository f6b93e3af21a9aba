// kernel: qconv2d_ref X=i8
// op: qconv2d
// dtype: x=i8,u8 w=i8 bias=i32 scale=f32 zero=i8,u8 y=i8,u8,i32,f32
// arch: portable
// isa: none
// rank: 0
// tolerance: 1e-6 if out == MEGCC_QUANT_REAL and act else 0
// params: X=X Y=Y OUT=out ACT=act SCALES=channel_scales OFFSET=offset ZERO=zero_operand
// work: n * oh
// cost: 4 * ow * oc * kh * kw * (ic // g)
//
// The reference: plain C99, any groups, strides, dilations and padding. Weights stay OHWI.
#include "megcc_requant.h"
#include "op/qconv2d.h"

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  const MEGCC_CTYPE(X) *x = ptr[0], *point = MEGCC_ZERO(ptr, 3);
  const int8_t *w = ptr[1];
  const int32_t *bias = ptr[2];
  MEGCC_CTYPE(Y) *y = MEGCC_QUANT_DST(ptr, 3);
  const int32_t h = attr[QCONV2D_H], width = attr[QCONV2D_W], ic = attr[QCONV2D_IC];
  const int32_t oh = attr[QCONV2D_OH], ow = attr[QCONV2D_OW], oc = attr[QCONV2D_OC];
  const int32_t kh = attr[QCONV2D_KH], kw = attr[QCONV2D_KW];
  const int32_t icg = ic / attr[QCONV2D_G], ocg = oc / attr[QCONV2D_G];
  const int32_t w_zero = attr[QCONV2D_W_ZERO];
  const int32_t zero = ZERO ? point[0] : attr[QCONV2D_X_ZERO];
  const megcc_rescale rescale = megcc_rescale_of(ptr, 3, attr + QCONV2D_Y_ZERO);
  (void)workspace;
  for (int32_t row = begin; row < end; ++row) {
    const MEGCC_CTYPE(X) *image = x + (size_t)(row / oh) * (size_t)h * (size_t)width * (size_t)ic;
    const int32_t top = row % oh * attr[QCONV2D_SH] - attr[QCONV2D_PT];
    for (int32_t col = 0; col < ow; ++col) {
      const int32_t left = col * attr[QCONV2D_SW] - attr[QCONV2D_PL];
      const size_t at = ((size_t)row * (size_t)ow + (size_t)col) * (size_t)oc;
      for (int32_t o = 0; o < oc; ++o) {
        const int8_t *tap = w + (size_t)o * (size_t)kh * (size_t)kw * (size_t)icg;
        uint32_t sum = (uint32_t)bias[o];
        for (int32_t i = 0; i < kh; ++i) {
          const int32_t iy = top + i * attr[QCONV2D_DH];
          for (int32_t j = 0; j < kw; ++j, tap += icg) {
            const int32_t ix = left + j * attr[QCONV2D_DW];
            if (iy < 0 || iy >= h || ix < 0 || ix >= width) continue;
            const MEGCC_CTYPE(X) *pixel = image +
                                          ((size_t)iy * (size_t)width + (size_t)ix) * (size_t)ic +
                                          (size_t)(o / ocg) * (size_t)icg;
            for (int32_t c = 0; c < icg; ++c)
              sum += (uint32_t)((pixel[c] - zero) * (tap[c] - w_zero));
          }
        }
        y[at + (size_t)o] = megcc_rescaled(&rescale, (int32_t)sum, o);
      }
    }
  }
}
