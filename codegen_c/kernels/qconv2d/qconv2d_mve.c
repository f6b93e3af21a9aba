// kernel: qconv2d_mve COPIES=0
//   dtype="x=i8 w=i8 bias=i32 scale=f32 zero=i8 y=i8,u8,i32,f32"
// kernel: qconv2d_mve_u8 COPIES=1
//   dtype="x=u8 w=i8 bias=i32 scale=f32 zero=u8 y=i8,u8,i32,f32"
// op: qconv2d
// arch: cortexm
// isa: mve
// when: (g == 1 or ic // g >= 4) and ic > 0 and kh * kw > 0 and w_zero == 0
// rank: 50
// tolerance: 1e-6 if out == MEGCC_QUANT_REAL and act else 0
// params: X=X Y=Y OUT=out ACT=act SCALES=channel_scales OFFSET=offset ZERO=zero_operand
// pack: w=qgemm_lines(nr=NR, kr=MEGCC_KR) bias=qgemm_bias(flip=MEGCC_QGEMM_FLIP)
// let pixels = min(n * oh * ow, 2)
// workspace: pixels * 4 * up(oc // g, NR) + (4 * oc if zero_operand else 0)
//   + (0 if COPIES == 0 and kh == kw == sh == sw == g == 1 and pt == pl == pb == pr == 0
//   else pixels * kh * kw * (ic // g))
// work: n * oh
// cost: ow * oc * ceil(kh * kw * (ic // g), MEGCC_KR)
//
// Two output pixels at a time, whose windows are copied into lines; pixels of one tap are read
// where they are: megcc_qgemm_mve.h.
#include "gemm/megcc_qgemm_mve.h"
#include "op/qconv2d.h"

typedef struct {
  const MEGCC_CTYPE(X) * x;
  int32_t h, w, ic, icg, kh, kw, dh, dw;
  int32_t across;  // pixels of a run: a row's, or one
  int8_t zero;     // what is outside of the image
} megcc_windows;

// The line of the window of output pixel `at`, of the channels of a group.
MEGCC_HOT static void megcc_line(const megcc_windows *v, const int32_t *attr, int32_t at,
                                 int32_t group, int8_t *to) {
  const int32_t oh = attr[QCONV2D_OH], ow = attr[QCONV2D_OW], py = at / ow;
  const int32_t left = (at - py * ow) * attr[QCONV2D_SW] - attr[QCONV2D_PL];
  const MEGCC_CTYPE(X) *image = v->x + (ptrdiff_t)(py / oh) * v->h * v->w * v->ic + group * v->icg;
  int32_t row = py % oh * attr[QCONV2D_SH] - attr[QCONV2D_PT];
  for (int32_t i = 0; i < v->kh; ++i, row += v->dh) {
    if (row < 0 || row >= v->h) {
      to = megcc_mve_fill(to, v->zero, v->kw * v->icg);
      continue;
    }
    for (int32_t j = 0, col = left; j < v->kw; j += v->across, col += v->across * v->dw) {
      const int32_t first = col < 0 ? -col : 0, room = v->w - col;
      const int32_t begin = first < v->across ? first : v->across;
      const int32_t end = room < begin ? begin : room < v->across ? room : v->across;
      const ptrdiff_t place = (ptrdiff_t)row * v->w + col + begin;
      to = megcc_mve_fill(to, v->zero, begin * v->icg);
      if (begin < end) to = megcc_mve_copy(to, image + place * v->ic, (end - begin) * v->icg);
      to = megcc_mve_fill(to, v->zero, (v->across - end) * v->icg);
    }
  }
}

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  const MEGCC_CTYPE(X) *point = MEGCC_ZERO(ptr, 3);
  MEGCC_CTYPE(Y) *y = MEGCC_QUANT_DST(ptr, 3);
  const int32_t ow = attr[QCONV2D_OW], oc = attr[QCONV2D_OC];
  const int32_t groups = attr[QCONV2D_G], ocg = oc / groups;
  const int32_t all = attr[QCONV2D_N] * attr[QCONV2D_OH] * ow, most = all < 2 ? all : 2;
  const megcc_rescale rescale = megcc_rescale_of(ptr, 3, attr + QCONV2D_Y_ZERO);
  megcc_windows v;
  megcc_mve_product p;
  v.x = ptr[0];
  v.h = attr[QCONV2D_H], v.w = attr[QCONV2D_W], v.ic = attr[QCONV2D_IC], v.icg = v.ic / groups;
  v.kh = attr[QCONV2D_KH], v.kw = attr[QCONV2D_KW];
  v.dh = attr[QCONV2D_DH], v.dw = attr[QCONV2D_DW];
  v.across = groups == 1 && v.dw == 1 ? v.kw : 1;
  v.zero = (int8_t)((ZERO ? point[0] : attr[QCONV2D_X_ZERO]) - (MEGCC_IS_UNSIGNED(X) ? 128 : 0));
  const int in_place = !COPIES && groups == 1 && v.kh * v.kw == 1 &&
                       attr[QCONV2D_SH] * attr[QCONV2D_SW] == 1 && ow == v.w &&
                       attr[QCONV2D_OH] == v.h;
  int32_t *own = (int32_t *)workspace + most * megcc_mve_room(ocg);
  int8_t *lines = (int8_t *)(own + (ZERO ? oc : 0));
  const int32_t *bias = megcc_mve_bias(ptr[2], oc, point, own);
  p.k = v.kh * v.kw * v.icg, p.columns = ocg;
  p.sums = workspace;
  p.rescale = &rescale;
  p.ld = (size_t)oc;
  const size_t panel = (size_t)megcc_mve_room(ocg) * ((size_t)(p.k + MEGCC_KR - 1) / MEGCC_KR) *
                       MEGCC_KR;  // bytes of a group's panels
  for (int32_t at = begin * ow; at < end * ow; at += 2) {
    const int both = at + 1 < end * ow;
    p.panels = ptr[1];
    for (int32_t g = 0; g < groups; ++g, p.panels += panel) {
      const int8_t *line = lines;
      p.channel = g * ocg;
      p.bias = bias + p.channel;
      if (in_place) {
        line = (const int8_t *)v.x + (ptrdiff_t)at * v.ic;
      } else {
        megcc_line(&v, attr, at, g, lines);
        if (both) megcc_line(&v, attr, at + 1, g, lines + p.k);
      }
      megcc_mve_lines(&p, line, both ? line + p.k : NULL, y + (ptrdiff_t)at * oc + p.channel);
    }
  }
}
