// The table of an implicit matrix product: for every pixel of a block and every run, the address of
// the run's first element.
//
//   taps       one run of IC/G elements per kernel element
//   row taps   one run of KW * IC elements per kernel row, for few channels: a tap alone would be
//              too short for a vector
//
// A tap outside of the image reads the run `pad`; a row tap that reaches over the left or right
// border reads a copied patch. megcc_conv2d_gemm.h and megcc_qconv2d_gemm.h include this file once
// each. Before, they define for their type
//   megcc_conv_elem_t, megcc_conv_x_t    an element; a struct with the image's address, `x`
//   megcc_conv_fill(x, entry, count, place, step)
//                 entries become the addresses of elements `place`, `place + step`, ... of x
//   megcc_conv_fill_pad(pad, entry, count)
//                 entries become `pad`
//   megcc_conv_patch(row, left, w, kw, ic, outside, patch)
//                 copies KW pixels from column `left` on of an image's row; the value `outside`
//                 where there are none
// Both operators have the attributes of op/conv2d.h up to the groups.
#ifndef MEGCC_CONV_TABLE_H
#define MEGCC_CONV_TABLE_H

typedef struct {
  megcc_conv_x_t x;
  const megcc_conv_elem_t *pad;
  megcc_conv_elem_t *patches;
  size_t slot;  // elements from one patch to the next
  const megcc_conv_elem_t **table;
  const int32_t *attr;
  int32_t row_taps;
} megcc_conv_t;

// 1 where a run is a kernel row, not a tap.
MEGCC_INLINE int32_t megcc_conv_by_rows(const int32_t *attr) {
  return attr[CONV2D_G] == 1 && attr[CONV2D_DW] == 1 && attr[CONV2D_KW] > 1 &&
         attr[CONV2D_IC] <= MEGCC_CONV_FEW;
}

// The pixels at columns [0, room) among `run` pixels, `step` columns apart from column `first` on.
typedef struct {
  int32_t begin, end;
} megcc_conv_span_t;

MEGCC_INLINE megcc_conv_span_t megcc_conv_span(int32_t first, int32_t step, int32_t run,
                                               int32_t room) {
  megcc_conv_span_t s;
  s.begin = first < 0 ? (step - 1 - first) / step : 0;
  s.end = first < room ? (room - 1 - first) / step + 1 : 0;
  if (s.begin > run) s.begin = run;
  if (s.end > run) s.end = run;
  if (s.end < s.begin) s.end = s.begin;
  return s;
}

// Part of an output row: its pixels' first input row and column, and where their addresses go.
typedef struct {
  ptrdiff_t image;  // place of the image
  int32_t top, left, run;
  const megcc_conv_elem_t **entry;
  int32_t count;  // addresses from one run to the next one
} megcc_conv_row_t;

MEGCC_HOT static void megcc_conv_taps(const megcc_conv_t *v, const megcc_conv_row_t *o) {
  const int32_t *attr = v->attr;
  const megcc_conv_elem_t **entry = o->entry;
  const int32_t w = attr[CONV2D_W], ic = attr[CONV2D_IC], sw = attr[CONV2D_SW];
  for (int32_t i = 0, row = o->top; i < attr[CONV2D_KH]; ++i, row += attr[CONV2D_DH]) {
    const int inside = row >= 0 && row < attr[CONV2D_H];
    for (int32_t j = 0, col = o->left; j < attr[CONV2D_KW]; ++j, col += attr[CONV2D_DW]) {
      const megcc_conv_span_t s = megcc_conv_span(col, sw, o->run, inside ? w : 0);
      if (s.begin > 0) megcc_conv_fill_pad(v->pad, entry, s.begin);
      if (s.begin < s.end) {
        const ptrdiff_t at = (ptrdiff_t)row * w + col + s.begin * sw;
        megcc_conv_fill(&v->x, entry + s.begin, s.end - s.begin, o->image + at * ic,
                        (ptrdiff_t)sw * ic);
      }
      if (s.end < o->run) megcc_conv_fill_pad(v->pad, entry + s.end, o->run - s.end);
      entry += o->count;
    }
  }
}

// Copies patches for the pixels whose columns reach over a border. Returns the next free patch.
MEGCC_HOT static megcc_conv_elem_t *megcc_conv_row_taps(const megcc_conv_t *v,
                                                        const megcc_conv_row_t *o,
                                                        megcc_conv_elem_t *patch) {
  const int32_t *attr = v->attr;
  const megcc_conv_elem_t **entry = o->entry;
  const int32_t w = attr[CONV2D_W], ic = attr[CONV2D_IC], sw = attr[CONV2D_SW];
  const int32_t kw = attr[CONV2D_KW];
  const megcc_conv_span_t s = megcc_conv_span(o->left, sw, o->run, w - kw + 1);
  for (int32_t i = 0, row = o->top; i < attr[CONV2D_KH]; ++i, row += attr[CONV2D_DH]) {
    const ptrdiff_t at = o->image + (ptrdiff_t)row * w * ic;
    if (row < 0 || row >= attr[CONV2D_H]) {
      megcc_conv_fill_pad(v->pad, entry, o->run);
    } else {
      for (int32_t k = 0; k < o->run; ++k) {
        if (k == s.begin) k = s.end;
        if (k == o->run) break;
        megcc_conv_patch(v->x.x + at, o->left + k * sw, w, kw, ic, v->pad[0], patch);
        entry[k] = patch;
        patch += v->slot;
      }
      if (s.begin < s.end) {
        megcc_conv_fill(&v->x, entry + s.begin, s.end - s.begin,
                        at + (ptrdiff_t)(o->left + s.begin * sw) * ic, (ptrdiff_t)sw * ic);
      }
    }
    entry += o->count;
  }
  return patch;
}

// Fills the table for pixels [first, first + count), row by row of the output.
MEGCC_HOT static void megcc_conv_table_rows(const megcc_conv_t *v, int32_t first, int32_t count) {
  const int32_t *attr = v->attr;
  const int32_t oh = attr[CONV2D_OH], ow = attr[CONV2D_OW];
  const ptrdiff_t row = (ptrdiff_t)attr[CONV2D_W] * attr[CONV2D_IC];
  megcc_conv_elem_t *patch = v->patches;
  for (int32_t r = 0; r < count;) {
    const int32_t px = first % ow, py = first / ow % oh, image = first / ow / oh;
    megcc_conv_row_t o;
    o.image = row * image * attr[CONV2D_H];
    o.top = py * attr[CONV2D_SH] - attr[CONV2D_PT];
    o.left = px * attr[CONV2D_SW] - attr[CONV2D_PL];
    o.run = ow - px < count - r ? ow - px : count - r;
    o.entry = v->table + r;
    o.count = count;
    if (v->row_taps) {
      patch = megcc_conv_row_taps(v, &o, patch);
    } else {
      megcc_conv_taps(v, &o);
    }
    r += o.run;
    first += o.run;
  }
}

// Fills the table for pixels [first, first + count).
MEGCC_INLINE void megcc_conv_table(const megcc_conv_t *v, int32_t first, int32_t count) {
  const int32_t *attr = v->attr;
  if (attr[CONV2D_KH] == 1 && attr[CONV2D_KW] == 1 && attr[CONV2D_OH] == attr[CONV2D_H] &&
      attr[CONV2D_OW] == attr[CONV2D_W] && attr[CONV2D_SH] == 1 && attr[CONV2D_SW] == 1 &&
      attr[CONV2D_PT] == 0 && attr[CONV2D_PL] == 0) {  // pixel for pixel
    const int32_t ic = attr[CONV2D_IC];
    megcc_conv_fill(&v->x, v->table, count, (ptrdiff_t)first * ic, ic);
  } else {
    megcc_conv_table_rows(v, first, count);
  }
}

#endif  // MEGCC_CONV_TABLE_H
