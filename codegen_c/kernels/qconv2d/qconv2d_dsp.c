// kernel: qconv2d_dsp
// op: qconv2d
// dtype: x=i8,u8 w=i8 bias=i32 scale=f32 zero=i8,u8 y=i8,u8,i32,f32
// arch: cortexm
// isa: dsp
// when: (g == 1 or ic // g >= 4) and ic > 0 and kh * kw > 0 and w_zero == 0
// rank: 20
// tolerance: 1e-6 if out == MEGCC_QUANT_REAL and act else 0
// params: X=X Y=Y OUT=out ACT=act SCALES=channel_scales OFFSET=offset ZERO=zero_operand
// pack: w=qgemm_panels(nr=NR, kr=MEGCC_Q8_GROUP, chunk=MEGCC_Q8_GROUP, few=MEGCC_Q8_ROWS)
// workspace: 2 * min(n * oh * ow, 2) * kh * (up(kw * ic, MEGCC_Q8_GROUP) if g * dw == 1 and kw > 1
//   else kw * up(ic // g, MEGCC_Q8_GROUP))
// work: n * oh
// cost: ow * oc * kh * kw * (ic // g)
//
// Two output pixels at a time, whose windows are widened into lines of 16 bits: megcc_qgemm_dsp.h.
// A row of a window is one run where its pixels touch.
#include "gemm/megcc_qgemm_dsp.h"
#include "op/qconv2d.h"

#define MEGCC_Q8_ROWS 0x7fffffff  // channels up to which a row of a window is one run: any

typedef struct {
  const MEGCC_CTYPE(X) * x;
  int32_t h, w, ic, icg, kh, kw, dh, dw;
  int32_t across;  // pixels of a run: a row's, or one
  uint32_t minus;
} megcc_windows;

// The line of the window of output pixel `at`, of the channels of a group; `step` as of
// megcc_q8_widen. Gives its end.
static uint32_t *megcc_line(const megcc_windows *v, const int32_t *attr, int32_t at, int32_t group,
                            uint32_t *to, size_t step) {
  const int32_t oh = attr[QCONV2D_OH], ow = attr[QCONV2D_OW], py = at / ow;
  const int32_t left = (at - py * ow) * attr[QCONV2D_SW] - attr[QCONV2D_PL];
  const MEGCC_CTYPE(X) *image = v->x + (ptrdiff_t)(py / oh) * v->h * v->w * v->ic + group * v->icg;
  const size_t icg = (size_t)v->icg, length = (size_t)v->across * icg;
  int32_t row = py % oh * attr[QCONV2D_SH] - attr[QCONV2D_PT];
  for (int32_t i = 0; i < v->kh; ++i, row += v->dh) {
    const int inside = row >= 0 && row < v->h;
    for (int32_t j = 0, col = left; j < v->kw; j += v->across, col += v->across * v->dw) {
      const int32_t first = col < 0 ? -col : 0, room = inside ? v->w - col : 0;
      const int32_t begin = first < v->across ? first : v->across;
      const int32_t end = room < begin ? begin : room < v->across ? room : v->across;
      const ptrdiff_t place = (ptrdiff_t)row * v->w + col + begin;
      to = megcc_q8_widen(to, step, begin < end ? image + place * v->ic : image,
                          (size_t)begin * icg, (size_t)(end - begin) * icg, length, v->minus);
    }
  }
  return to;
}

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  const MEGCC_CTYPE(X) *point = MEGCC_ZERO(ptr, 3);
  const int32_t *bias = ptr[2];
  MEGCC_CTYPE(Y) *y = MEGCC_QUANT_DST(ptr, 3);
  const int32_t ow = attr[QCONV2D_OW], oc = attr[QCONV2D_OC];
  const int32_t groups = attr[QCONV2D_G], ocg = oc / groups;
  const megcc_rescale rescale = megcc_rescale_of(ptr, 3, attr + QCONV2D_Y_ZERO);
  megcc_windows v;
  megcc_q8_product p;
  v.x = ptr[0];
  v.h = attr[QCONV2D_H], v.w = attr[QCONV2D_W], v.ic = attr[QCONV2D_IC], v.icg = v.ic / groups;
  v.kh = attr[QCONV2D_KH], v.kw = attr[QCONV2D_KW];
  v.dh = attr[QCONV2D_DH], v.dw = attr[QCONV2D_DW];
  v.across = groups == 1 && v.dw == 1 ? v.kw : 1;
  v.minus = megcc_dsp_minus(ZERO ? point[0] : attr[QCONV2D_X_ZERO]);
  p.line = workspace;
  p.columns = ocg;
  p.rescale = &rescale;
  p.ld = (size_t)oc;
  for (int32_t at = begin * ow; at < end * ow; at += 2) {
    const int both = at + 1 < end * ow;
    p.panels = ptr[1];
    for (int32_t g = 0; g < groups; ++g) {
      const size_t step = both ? 4 : 2;  // a line of each pixel, a group of each in turn
      const uint32_t *next = megcc_line(&v, attr, at, g, workspace, step);
      p.words = (size_t)(next - p.line) / (step / 2);
      p.channel = g * ocg;
      p.bias = bias + p.channel;
      p.dst = y + (ptrdiff_t)at * oc + p.channel;
      if (both) {
        megcc_line(&v, attr, at + 1, g, (uint32_t *)workspace + 2, step);
        megcc_q8_two(&p);
      } else {
        megcc_q8_one(&p);
      }
      p.panels += (size_t)((ocg + NR - 1) / NR) * p.words * sizeof(uint32_t);
    }
  }
}
