// Where an implicit matrix product of 8-bit integers finds the pixels of a block: a table with, for
// every pixel and run, the address of the run's first byte.
//
//   taps       one run of IC/G bytes per kernel element
//   row taps   one run of KW * IC bytes per kernel row, for few channels: a tap alone would be too
//              short for a vector
//
// What lies outside of the image is the zero point: a tap reads a run that is full of it; a row tap
// that reaches over the left or right border reads a copied patch. Vectors read a run in pieces of
// 16 bytes, so past its end: the weights are 0 there. Where that would be past the end of the
// image, the run is read in a copy of the tensor's last bytes.
#ifndef MEGCC_CONV_TABLE_H
#define MEGCC_CONV_TABLE_H

#include "gemm/megcc_run_table.h"

#define MEGCC_CONV_FEW 16  // row taps up to this many channels

typedef struct {
  int32_t h, w, ic, oh, ow, kh, kw, sh, sw, dh, dw, pt, pl, row_taps;
} megcc_conv_shape;

typedef struct {
  megcc_conv_shape shape;
  megcc_runs_t x;
  const uint8_t *pad;
  uint8_t *patches;
  size_t slot;  // bytes from one patch to the next
  const uint8_t **table;
  uint8_t zero;
} megcc_conv_t;

// Part of an output row: its pixels' first input row and column, and where their addresses go.
typedef struct {
  ptrdiff_t image;  // place of the image
  int32_t top, left, run;
  const uint8_t **entry;
  int32_t count;  // addresses from one run to the next one
} megcc_conv_row_t;

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

// `count` bytes, and up to seven behind them.
MEGCC_COLD static void megcc_conv_set(uint8_t *to, uint8_t value, size_t count) {
  const uint64_t word = value * UINT64_C(0x0101010101010101);
  for (size_t i = 0; i < count; i += sizeof word) *(megcc_run_word *)(to + i) = word;
}

static void megcc_conv_pad(const megcc_conv_t *v, const uint8_t **entry, int32_t begin,
                           int32_t end) {
  for (int32_t k = begin; k < end; ++k) entry[k] = v->pad;
}

MEGCC_HOT static void megcc_conv_taps(const megcc_conv_t *v, megcc_conv_row_t o) {
  const megcc_conv_shape *s = &v->shape;
  for (int32_t i = 0, row = o.top; i < s->kh; ++i, row += s->dh) {
    const int inside = row >= 0 && row < s->h;
    for (int32_t j = 0, col = o.left; j < s->kw; ++j, col += s->dw) {
      const megcc_conv_span_t in = megcc_conv_span(col, s->sw, o.run, inside ? s->w : 0);
      megcc_conv_pad(v, o.entry, 0, in.begin);
      if (in.begin < in.end) {
        const ptrdiff_t at = (ptrdiff_t)row * s->w + col + in.begin * s->sw;
        megcc_runs_fill(&v->x, o.entry + in.begin, in.end - in.begin, o.image + at * s->ic,
                        (ptrdiff_t)s->sw * s->ic);
      }
      megcc_conv_pad(v, o.entry, in.end, o.run);
      o.entry += o.count;
    }
  }
}

// Copies what lies in the image of one kernel row, the zero point where nothing does.
MEGCC_COLD static void megcc_conv_patch(const megcc_conv_t *v, const uint8_t *row, int32_t left,
                                        uint8_t *patch) {
  const megcc_conv_shape *s = &v->shape;
  const int32_t first = left < 0 ? -left : 0, room = s->w - left;
  const int32_t begin = first < s->kw ? first : s->kw;
  const int32_t end = room < begin ? begin : room < s->kw ? room : s->kw;
  const size_t ic = (size_t)s->ic, from = (size_t)begin * ic, to = (size_t)end * ic;
  megcc_conv_set(patch, v->zero, (size_t)s->kw * ic);
  if (from < to) megcc_run_copy(patch + from, row + (ptrdiff_t)(left + begin) * s->ic, to - from);
}

// Where a pixel's columns reach over a border they are copied; gives the next free patch.
MEGCC_HOT static uint8_t *megcc_conv_row_taps(const megcc_conv_t *v, megcc_conv_row_t o,
                                              uint8_t *patch) {
  const megcc_conv_shape *s = &v->shape;
  const megcc_conv_span_t in = megcc_conv_span(o.left, s->sw, o.run, s->w - s->kw + 1);
  for (int32_t i = 0, row = o.top; i < s->kh; ++i, row += s->dh, o.entry += o.count) {
    const ptrdiff_t at = o.image + (ptrdiff_t)row * s->w * s->ic;
    if (row < 0 || row >= s->h) {
      megcc_conv_pad(v, o.entry, 0, o.run);
      continue;
    }
    for (int32_t k = 0; k < o.run; ++k) {
      if (k == in.begin) k = in.end;
      if (k == o.run) break;
      megcc_conv_patch(v, v->x.x + at, o.left + k * s->sw, patch);
      o.entry[k] = patch;
      patch += v->slot;
    }
    if (in.begin < in.end) {
      megcc_runs_fill(&v->x, o.entry + in.begin, in.end - in.begin,
                      at + (ptrdiff_t)(o.left + in.begin * s->sw) * s->ic,
                      (ptrdiff_t)s->sw * s->ic);
    }
  }
  return patch;
}

// Fills the table for pixels [first, first + count).
MEGCC_HOT static void megcc_conv_table(const megcc_conv_t *v, int32_t first, int32_t count) {
  const megcc_conv_shape *s = &v->shape;
  const int whole = s->kh == 1 && s->kw == 1 && s->oh == s->h && s->ow == s->w && s->sh == 1 &&
                    s->sw == 1 && s->pt == 0 && s->pl == 0;
  uint8_t *patch = v->patches;
  if (whole) {  // pixel for pixel
    megcc_runs_fill(&v->x, v->table, count, (ptrdiff_t)first * s->ic, s->ic);
    return;
  }
  for (int32_t r = 0; r < count;) {
    const int32_t px = first % s->ow, py = first / s->ow % s->oh, image = first / s->ow / s->oh;
    megcc_conv_row_t o;
    o.image = (ptrdiff_t)image * s->h * s->w * s->ic;
    o.top = py * s->sh - s->pt;
    o.left = px * s->sw - s->pl;
    o.run = s->ow - px < count - r ? s->ow - px : count - r;
    o.entry = v->table + r;
    o.count = count;
    if (s->row_taps) {
      patch = megcc_conv_row_taps(v, o, patch);
    } else {
      megcc_conv_taps(v, o);
    }
    r += o.run;
    first += o.run;
  }
}

#endif  // MEGCC_CONV_TABLE_H
