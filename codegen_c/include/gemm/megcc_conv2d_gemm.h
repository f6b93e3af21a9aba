// conv2d as an implicit matrix product: rows are output pixels, K is (kh, kw, channel of the
// group).
//
// Per block of up to 96 pixels a table holds, for every pixel and run, the address of the run's
// first megcc_elem_t (megcc_gemm.h). Two kinds of runs:
//   taps       one run of IC/G floats per kernel element; a tap in the padding reads zeros
//   row taps   one run of KW * IC floats per kernel row, for few channels, where a tap alone would
//              be too short for a vector; a pixel at the left or right border reads a copied patch
//
// Workspace: table[runs][pixels] of pointers (8 bytes each, whatever the machine) for at most 96
// pixels, zeros for one run, and for row taps a patch of KH * KW * IC floats per border pixel of a
// block: an image row has at most ceil(PL / SW) + ceil(PR / SW) of them, and 96 pixels touch at
// most 94 / OW + 2 rows. MEGCC_GEMM_PACKED_ROWS (one tap, one group, no padding) has a copy of the
// block's pixels there instead. Panels that are widened (MEGCC_GEMM_PANELS) come before all of it.
#ifndef MEGCC_CONV2D_GEMM_H
#define MEGCC_CONV2D_GEMM_H

#define MEGCC_GEMM_PIXELS
#include "gemm/megcc_gemm.h"
#include "op/conv2d.h"

#ifndef MEGCC_CONV_FEW
#define MEGCC_CONV_FEW 16  // row taps up to this many channels
#endif

// Copies the floats of one kernel row that lie in the image, zeros where they do not.
static void megcc_conv_patch(const megcc_elem_t *row, int32_t left, int32_t width, int32_t kw,
                             int32_t ic, megcc_elem_t *patch) {
  const int32_t before = left < 0 ? -left : 0, inside = width - left < kw ? width - left : kw;
  const megcc_elem_t *src = row + (ptrdiff_t)left * ic;
  int32_t i = 0;
  for (; i < kw * ic && i < before * ic; ++i) patch[i] = 0;
  for (; i < inside * ic; ++i) patch[i] = src[i];
  for (; i < kw * ic; ++i) patch[i] = 0;
}

typedef struct {
  const megcc_elem_t *x, *zeros;
  const megcc_elem_t **table;
  megcc_elem_t *patches;
  const int32_t *attr;
  int32_t row_taps;
} megcc_conv_t;

// Of `run` pixels, `step` columns apart from column `first` on, those at columns [0, room).
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
  const megcc_elem_t *image;
  int32_t top, left, run;
  const megcc_elem_t **entry;
  int32_t count;  // addresses from one kernel element's to the next one's
} megcc_conv_row_t;

// Entries [begin, end) become p, p + step, ..., four at a time: two stores of a pair.
MEGCC_HOT static void megcc_conv_fill(const megcc_elem_t **entry, int32_t begin, int32_t end,
                                      const megcc_elem_t *p, ptrdiff_t step) {
  for (; end - begin >= 4; begin += 4, p += 4 * step) {
    entry[begin] = p;
    entry[begin + 1] = p + step;
    entry[begin + 2] = p + 2 * step;
    entry[begin + 3] = p + 3 * step;
  }
  for (; begin < end; ++begin, p += step) entry[begin] = p;
}

static void megcc_conv_taps(const megcc_conv_t *v, megcc_conv_row_t o) {
  const int32_t *attr = v->attr;
  const int32_t w = attr[CONV2D_W], ic = attr[CONV2D_IC], sw = attr[CONV2D_SW];
  for (int32_t i = 0, row = o.top; i < attr[CONV2D_KH]; ++i, row += attr[CONV2D_DH]) {
    const int inside = row >= 0 && row < attr[CONV2D_H];
    for (int32_t j = 0, col = o.left; j < attr[CONV2D_KW]; ++j, col += attr[CONV2D_DW]) {
      const megcc_conv_span_t s = megcc_conv_span(col, sw, o.run, inside ? w : 0);
      megcc_conv_fill(o.entry, 0, s.begin, v->zeros, 0);
      if (s.begin < s.end) {
        const ptrdiff_t at = (ptrdiff_t)row * w + col + s.begin * sw;
        megcc_conv_fill(o.entry, s.begin, s.end, o.image + at * ic, (ptrdiff_t)sw * ic);
      }
      megcc_conv_fill(o.entry, s.end, o.run, v->zeros, 0);
      o.entry += o.count;
    }
  }
}

// Where a pixel's columns reach over a border they are copied; gives the next free patch.
static megcc_elem_t *megcc_conv_row_taps(const megcc_conv_t *v, megcc_conv_row_t o,
                                         megcc_elem_t *patch) {
  const int32_t *attr = v->attr;
  const int32_t w = attr[CONV2D_W], ic = attr[CONV2D_IC], sw = attr[CONV2D_SW];
  const int32_t kw = attr[CONV2D_KW];
  const megcc_conv_span_t s = megcc_conv_span(o.left, sw, o.run, w - kw + 1);
  for (int32_t i = 0, row = o.top; i < attr[CONV2D_KH]; ++i, row += attr[CONV2D_DH]) {
    if (row < 0 || row >= attr[CONV2D_H]) {
      megcc_conv_fill(o.entry, 0, o.run, v->zeros, 0);
    } else {
      const megcc_elem_t *src = o.image + (ptrdiff_t)row * w * ic;
      for (int32_t k = 0; k < o.run; ++k) {
        if (k == s.begin) k = s.end;
        if (k == o.run) break;
        megcc_conv_patch(src, o.left + k * sw, w, kw, ic, patch);
        o.entry[k] = patch;
        patch += kw * ic;
      }
      if (s.begin < s.end) {
        const ptrdiff_t at = (ptrdiff_t)(o.left + s.begin * sw) * ic;
        megcc_conv_fill(o.entry, s.begin, s.end, src + at, (ptrdiff_t)sw * ic);
      }
    }
    o.entry += o.count;
  }
  return patch;
}

// Fills the table for pixels [first, first + count).
static void megcc_conv_table(const megcc_conv_t *v, int32_t first, int32_t count) {
  const int32_t *attr = v->attr;
  const int32_t h = attr[CONV2D_H], w = attr[CONV2D_W], ic = attr[CONV2D_IC];
  const int32_t oh = attr[CONV2D_OH], ow = attr[CONV2D_OW];
  const int whole = attr[CONV2D_KH] == 1 && attr[CONV2D_KW] == 1 && oh == h && ow == w &&
                    attr[CONV2D_SH] == 1 && attr[CONV2D_SW] == 1 && attr[CONV2D_PT] == 0 &&
                    attr[CONV2D_PL] == 0;
  megcc_elem_t *patch = v->patches;
  if (whole) {  // pixel for pixel
    megcc_conv_fill(v->table, 0, count, v->x + (size_t)first * (size_t)ic, ic);
    return;
  }
  for (int32_t r = 0; r < count;) {
    const int32_t px = first % ow, py = first / ow % oh, image = first / ow / oh;
    megcc_conv_row_t o;
    o.image = v->x + (size_t)image * (size_t)h * (size_t)w * (size_t)ic;
    o.top = py * attr[CONV2D_SH] - attr[CONV2D_PT];
    o.left = px * attr[CONV2D_SW] - attr[CONV2D_PL];
    o.run = ow - px < count - r ? ow - px : count - r;
    o.entry = v->table + r;
    o.count = count;
    if (v->row_taps) {
      patch = megcc_conv_row_taps(v, o, patch);
    } else {
      megcc_conv_taps(v, o);
    }
    r += o.run;
    first += o.run;
  }
}

// Units [begin, end) of blocks of pixels by MEGCC_GEMM_UNIT output channels of a group.
MEGCC_COLD static void megcc_conv2d_gemm(void *const *ptr, const int32_t *attr, void *workspace,
                                         int32_t begin, int32_t end) {
  const int32_t ic = attr[CONV2D_IC], oc = attr[CONV2D_OC], groups = attr[CONV2D_G];
  const int32_t icg = ic / groups, ocg = oc / groups;
  const int32_t taps = attr[CONV2D_KH] * attr[CONV2D_KW];
  const int32_t row_taps =
      groups == 1 && attr[CONV2D_DW] == 1 && attr[CONV2D_KW] > 1 && ic <= MEGCC_CONV_FEW;
  const int32_t runs = row_taps ? attr[CONV2D_KH] : taps;
  const size_t depth = (size_t)taps * (size_t)icg;
  const size_t group_b = (size_t)((ocg + NR - 1) / NR) * NR * depth;
  const int32_t pixels = attr[CONV2D_N] * attr[CONV2D_OH] * attr[CONV2D_OW];
  const int32_t group_units = (ocg + MEGCC_GEMM_UNIT - 1) / MEGCC_GEMM_UNIT;
  const int32_t units = groups * group_units;
  const megcc_gemm_b_t *b = ptr[1];
  const megcc_elem_t *bias = ptr[2];
  megcc_elem_t *y = MEGCC_OUTPUT(ptr, 3), *zeros;
  const int32_t run_floats = ic * (row_taps ? attr[CONV2D_KW] : 1);
  megcc_conv_t v;
  megcc_gemm_t g;
  int32_t block;
  if (begin >= end) return;
  block = megcc_gemm_block_rows(pixels);
  v.x = ptr[0];
  v.attr = attr;
  v.row_taps = row_taps;
  workspace = megcc_gemm_take_panels(&g, workspace, depth);
  v.table = workspace;
  zeros = (megcc_elem_t *)(void *)((char *)workspace + (size_t)(block < pixels ? block : pixels) *
                                                           (size_t)runs * MEGCC_GEMM_ENTRY);
  v.zeros = zeros;
  v.patches = zeros + run_floats;
  for (int32_t i = 0; i < run_floats; ++i) zeros[i] = 0;
  g.a = v.table;
  g.segments = (size_t)runs;
  g.length = depth / (size_t)(runs ? runs : 1);
  g.panel = depth * NR;
  g.ld = (size_t)oc;
  g.act_a = megcc_attr_f32(attr[CONV2D_ACT_A]);
  g.act_b = megcc_attr_f32(attr[CONV2D_ACT_B]);
  while (begin < end) {
    const int32_t first = begin / units * block;
    const int32_t count = pixels - first < block ? pixels - first : block;
    int32_t unit = begin % units;
    const int32_t stop = units - unit < end - begin ? units : unit + end - begin;
    begin += stop - unit;
    megcc_conv_table(&v, first, count);
#ifdef MEGCC_GEMM_PACKED_ROWS
    megcc_gemm_pack_rows(v.table, count, g.length, v.patches);
#endif
    g.a_stride = (size_t)count;
    while (unit < stop) {
      const int32_t group = unit / group_units, u0 = unit % group_units;
      const int32_t u1 = group_units - u0 < stop - unit ? group_units : u0 + stop - unit;
      const int32_t c1 = u1 < group_units ? u1 * MEGCC_GEMM_UNIT : ocg;
      g.a_skip = (size_t)group * (size_t)icg;
      g.b = b + (size_t)group * group_b;
      g.bias = bias + (size_t)group * (size_t)ocg;
      g.dst = y + (size_t)first * (size_t)oc + (size_t)group * (size_t)ocg;
      g.residual = RESIDUAL ? MEGCC_RESIDUAL(ptr, 3) + (g.dst - y) : NULL;
      megcc_gemm_block(&g, count, u0 * MEGCC_GEMM_UNIT, c1);
      unit += u1 - u0;
    }
  }
}

#endif  // MEGCC_CONV2D_GEMM_H
