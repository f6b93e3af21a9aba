// conv2d as an implicit matrix product: rows are output pixels, K is (kh, kw, channel of the
// group).
//
// megcc_conv_table.h makes the table of runs, per block of up to 96 pixels.
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

typedef megcc_elem_t megcc_conv_elem_t;
typedef struct {
  const megcc_elem_t *x;
} megcc_conv_x_t;

// Entries become p, p + step, ..., four at a time: two stores of a pair.
MEGCC_HOT static void megcc_conv_fill_steps(const megcc_elem_t **entry, int32_t count,
                                            const megcc_elem_t *p, ptrdiff_t step) {
  int32_t k = 0;
  for (; count - k >= 4; k += 4, p += 4 * step) {
    entry[k] = p;
    entry[k + 1] = p + step;
    entry[k + 2] = p + 2 * step;
    entry[k + 3] = p + 3 * step;
  }
  for (; k < count; ++k, p += step) entry[k] = p;
}
MEGCC_INLINE void megcc_conv_fill(const megcc_conv_x_t *x, const megcc_elem_t **entry,
                                  int32_t count, ptrdiff_t place, ptrdiff_t step) {
  megcc_conv_fill_steps(entry, count, x->x + place, step);
}
MEGCC_INLINE void megcc_conv_fill_pad(const megcc_elem_t *pad, const megcc_elem_t **entry,
                                      int32_t count) {
  megcc_conv_fill_steps(entry, count, pad, 0);
}

MEGCC_INLINE void megcc_conv_patch(const megcc_elem_t *row, int32_t left, int32_t w, int32_t kw,
                                   int32_t ic, megcc_elem_t outside, megcc_elem_t *patch) {
  const int32_t before = left < 0 ? -left * ic : 0, all = kw * ic;
  const int32_t inside = w - left < kw ? (w - left) * ic : all;
  const megcc_elem_t *src = row + (ptrdiff_t)left * ic;
  int32_t i = 0;
  for (; i < all && i < before; ++i) patch[i] = outside;
  MEGCC_IVDEP
  for (; i < inside; ++i) patch[i] = src[i];
  for (; i < all; ++i) patch[i] = outside;
}

#include "gemm/megcc_conv_table.h"

// Units [begin, end) of blocks of pixels by MEGCC_GEMM_UNIT output channels of a group.
MEGCC_COLD static void megcc_conv2d_gemm(void *const *ptr, const int32_t *attr, void *workspace,
                                         int32_t begin, int32_t end) {
  const int32_t ic = attr[CONV2D_IC], oc = attr[CONV2D_OC], groups = attr[CONV2D_G];
  const int32_t icg = ic / groups, ocg = oc / groups;
  const int32_t taps = attr[CONV2D_KH] * attr[CONV2D_KW];
  const int32_t row_taps = megcc_conv_by_rows(attr), runs = row_taps ? attr[CONV2D_KH] : taps;
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
  v.x.x = ptr[0];
  v.attr = attr;
  v.row_taps = row_taps;
  workspace = megcc_gemm_take_panels(&g, workspace, depth);
  v.table = workspace;
  zeros = (megcc_elem_t *)(void *)((char *)workspace + (size_t)(block < pixels ? block : pixels) *
                                                           (size_t)runs * MEGCC_GEMM_ENTRY);
  v.pad = zeros;
  v.patches = zeros + run_floats;
  v.slot = (size_t)run_floats;
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
