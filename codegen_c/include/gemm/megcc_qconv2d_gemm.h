// qconv2d as an implicit matrix product: rows are output pixels, K is (kh, kw, channel of the
// group), and a table says where a pixel's runs are (megcc_conv_table.h).
//
// Workspace, with slots of a run's bytes and room to read past it: table[runs][pixels] of pointers
// (8 bytes each, whatever the machine) for at most 96 pixels; where the zero point is an operand, a
// bias per channel; where the weights have a zero point, a term per pixel; a slot of zero points;
// two slots for the end of x; and for row taps KH slots for every border pixel of a block: an image
// row has at most ceil(PL / SW) + ceil(PR / SW) of them, and 96 pixels touch at most 94 / OW + 2
// rows.
#ifndef MEGCC_QCONV2D_GEMM_H
#define MEGCC_QCONV2D_GEMM_H

#include "gemm/megcc_qgemm_call.h"
#include "gemm/megcc_run_table.h"
#include "op/conv2d.h"
#include "op/qconv2d.h"

#define MEGCC_CONV_FEW 16  // row taps up to this many channels

// megcc_conv_table.h reads the attributes that both operators have.
typedef char megcc_conv_same_t[(int)QCONV2D_G == (int)CONV2D_G ? 1 : -1];

typedef uint8_t megcc_conv_elem_t;
typedef megcc_runs_t megcc_conv_x_t;

MEGCC_INLINE void megcc_conv_fill(const megcc_conv_x_t *x, const uint8_t **entry, int32_t count,
                                  ptrdiff_t place, ptrdiff_t step) {
  megcc_runs_fill(x, entry, count, place, step);
}
MEGCC_HOT static void megcc_conv_fill_pad(const uint8_t *pad, const uint8_t **entry,
                                          int32_t count) {
  for (int32_t k = 0; k < count; ++k) entry[k] = pad;
}

// Sets `count` bytes, and up to seven behind them.
MEGCC_COLD static void megcc_conv_set(uint8_t *to, uint8_t value, size_t count) {
  const uint64_t word = value * UINT64_C(0x0101010101010101);
  for (size_t i = 0; i < count; i += sizeof word) *(megcc_run_word *)(to + i) = word;
}

MEGCC_COLD static void megcc_conv_patch(const uint8_t *row, int32_t left, int32_t w, int32_t kw,
                                        int32_t ic, uint8_t outside, uint8_t *patch) {
  const int32_t first = left < 0 ? -left : 0, begin = first < kw ? first : kw;
  const int32_t end = w - left < begin ? begin : w - left < kw ? w - left : kw;
  const size_t from = (size_t)begin * (size_t)ic, to = (size_t)end * (size_t)ic;
  megcc_conv_set(patch, outside, (size_t)kw * (size_t)ic);
  if (from < to) megcc_run_copy(patch + from, row + (ptrdiff_t)(left + begin) * ic, to - from);
}

#include "gemm/megcc_conv_table.h"

// Units [begin, end) of blocks of pixels by MEGCC_QGEMM_UNIT output channels of a group.
MEGCC_INLINE void megcc_qconv2d_gemm(void *const *ptr, const int32_t *attr, void *workspace,
                                     int32_t begin, int32_t end) {
  const int32_t ic = attr[QCONV2D_IC], oc = attr[QCONV2D_OC], groups = attr[QCONV2D_G];
  const int32_t icg = ic / groups, ocg = oc / groups;
  const int32_t kh = attr[QCONV2D_KH], kw = attr[QCONV2D_KW];
  const int32_t row_taps = megcc_conv_by_rows(attr), runs = row_taps ? kh : kh * kw;
  const size_t length = (size_t)(row_taps ? kw * ic : icg);
  const size_t run = (size_t)(row_taps ? kw * ic : ic);  // of all groups
  const size_t images = (size_t)attr[QCONV2D_N] * (size_t)attr[QCONV2D_H];
  const size_t size = images * (size_t)attr[QCONV2D_W] * (size_t)ic;
  const int32_t pixels = attr[QCONV2D_N] * attr[QCONV2D_OH] * attr[QCONV2D_OW];
  const int32_t group_units = (ocg + MEGCC_QGEMM_UNIT - 1) / MEGCC_QGEMM_UNIT;
  const int32_t units = groups * group_units;
  const int32_t block = megcc_qgemm_block_rows(pixels);
  const int32_t *bias = ptr[2];
  MEGCC_CTYPE(Y) *const y = MEGCC_QUANT_DST(ptr, 3);
  uint8_t *room = (uint8_t *)workspace +
                  (size_t)(block < pixels ? block : pixels) * (size_t)runs * MEGCC_QGEMM_ENTRY;
  megcc_conv_t v;
  megcc_qgemm_t g;
  if (begin >= end) return;
  g.rescale = megcc_rescale_of(ptr, 3, attr + QCONV2D_Y_ZERO);
  megcc_qgemm_prepare(&g);
  uint8_t zero = (uint8_t)attr[QCONV2D_X_ZERO];
#if ZERO
  zero = *(const uint8_t *)MEGCC_ZERO(ptr, 3);
  bias = megcc_qgemm_bias(bias, oc, zero, (int32_t *)(void *)room);
  room += (size_t)oc * sizeof *bias;
#endif
#if TERMS
  int32_t *const terms = (int32_t *)(void *)room;
  room += (size_t)(block < pixels ? block : pixels) * sizeof *terms;
#endif
  v.attr = attr;
  v.row_taps = row_taps;
  v.table = workspace;
  v.slot = run + MEGCC_RUN_PIECE;
  v.pad = room;
  if (attr[QCONV2D_PT] | attr[QCONV2D_PL] | attr[QCONV2D_PB] | attr[QCONV2D_PR]) {
    megcc_conv_set(room, zero, run);
  }
  v.x = megcc_runs(ptr[0], size, run, run - length + megcc_run_room(length), room + v.slot);
  v.patches = room + 3 * v.slot;
  g.a = v.table;
  g.terms = NULL;
  g.segments = (size_t)runs;
  g.groups = (length + MEGCC_QGEMM_KR - 1) / MEGCC_QGEMM_KR;
  g.panel = g.segments * g.groups * MEGCC_QGEMM_KR * MEGCC_QGEMM_COLUMNS;
  g.ld = (size_t)oc;
  while (begin < end) {
    const int32_t first = begin / units * block;
    const int32_t count = pixels - first < block ? pixels - first : block;
    int32_t unit = begin % units;
    const int32_t stop = units - unit < end - begin ? units : unit + end - begin;
    begin += stop - unit;
    megcc_conv_table(&v, first, count);
    g.a_stride = (size_t)count;
    while (unit < stop) {
      const int32_t group = unit / group_units, u0 = unit % group_units;
      const int32_t u1 = group_units - u0 < stop - unit ? group_units : u0 + stop - unit;
      const int32_t c1 = u1 < group_units ? u1 * MEGCC_QGEMM_UNIT : ocg;
      megcc_qgemm_t here = g;
      here.a_skip = (size_t)group * (size_t)icg;
      here.b =
          (const int8_t *)ptr[1] +
          (size_t)group * (size_t)((ocg + MEGCC_QGEMM_COLUMNS - 1) / MEGCC_QGEMM_COLUMNS) * g.panel;
      here.bias = bias + group * ocg;
      if (OUT && SCALES) here.rescale.scale += group * ocg;
      if (OFFSET) here.rescale.offset += group * ocg;
      here.dst = y + (size_t)first * (size_t)oc + (size_t)group * (size_t)ocg;
#if TERMS
      here.terms = terms;
      megcc_qgemm_terms(&here, count, length, -attr[QCONV2D_W_ZERO], terms);
#endif
      megcc_qgemm_block(&here, count, u0 * MEGCC_QGEMM_UNIT, c1);
      unit += u1 - u0;
    }
  }
}

#endif  // MEGCC_QCONV2D_GEMM_H
