// What the loops of megcc_matmul_wq_int8.h read: panels of weights, and rows that are int8.
//
// A panel (packing.py, wq_dots) has 16 columns. 16 k are a step, blocks are whole steps, with zeros
// behind the last k. A step has two halves of eight columns; of a half the groups of MEGCC_WQ8_KR k
// one after the other, of a group the columns, of a column its k side by side. Of 4 bits, groups of
// the first eight k are the lower halves of bytes, the others the upper ones.
//
// The header of a machine defines
//
//   MEGCC_WQ8_KR      k of a group
//   MEGCC_WQ8_MM      1: tiles are pairs of rows by pairs of columns, whose scales stand twice
//   MEGCC_WQ8_FLIP    1: numbers of 4 bits are 8 more, 0 .. 15
//   MEGCC_WQ8_SHIFT   bits by which products are too large
//   MEGCC_WQ8_UNIT    k of a row side by side where several rows stand together
//   MEGCC_WQ8_TILE    rows of a tile; 0: no tiles
//   MEGCC_WQ8_WIDE    1: tiles read weights in 16 bits
//
//   megcc_wq8_sixteen(to, half, a, inverse)
//     16 elements by `inverse` as bytes, at `to` and `half` bytes on; returns their sum, where
//     weights have an offset
//   megcc_wq8_sums, megcc_wq8_start(zero, sum)
//     16 sums; those that a block begins with, by the sum of the row's numbers
//   megcc_wq8_dot(sums, &w, &x, steps)
//     after steps of a row; the panel is at w, the row at x
//   megcc_wq8_floats(sums)
//     as megcc_w16
//   MEGCC_WQ8_PANEL
//     instead of the last three: megcc_wq8_panel as in megcc_matmul_wq_int8.h
//
// and where there are tiles
//
//   megcc_wq8_unpack(w, to)
//     half a step, 128 numbers
//   megcc_wq8_bits(sums)
//     their bits, as megcc_w16
//   MEGCC_WQ8_TILE_OFFSET, megcc_wq8_put_zero(zero, p, q)
//     instead of megcc_wq8_bits: whether weights of tiles have an offset, and what sums begin with
//   megcc_wq8_put(w, p, q)
//     numbers of eight columns as a tile reads them; those of the other eight at q
//   megcc_wq8_tile(p, rows, length, steps, out)
//     rows by eight columns; blocks have `length` steps
#ifndef MEGCC_WQ_INT8_ROWS_H
#define MEGCC_WQ_INT8_ROWS_H

#include "gemm/megcc_matmul_wq.h"

#define MEGCC_WQ8_STEP 16

// The steps of every block, where loops know them; 0: the block's, the last may have fewer.
#ifndef STEPS
#define STEPS 0
#endif

// Rows that are int8: of one, or of MEGCC_WQ8_TILE, scales and sums of each block side by side, and
// then its numbers, unit by unit.
typedef struct {
  const float *scale;
  const int32_t *sum;
  const int8_t *x;
} megcc_wq8_rows_t;

// Whether numbers have an offset: a zero point, or what a flip adds.
#define MEGCC_WQ8_OFFSET (ZERO || (MEGCC_WQ8_FLIP && BITS == 4))
// What a sum of products has for each 1 of the row's sum too much, negated.
#define MEGCC_WQ8_MINUS(z) (-((z) + (MEGCC_WQ8_FLIP && BITS == 4 ? 8 : 0)) * (1 << MEGCC_WQ8_SHIFT))

// The same of column `j` of 16.
MEGCC_INLINE int32_t megcc_wq8_offset(const int8_t *zero, int32_t j) {
  return MEGCC_WQ8_MINUS(ZERO ? zero[CHANNELS ? j : 0] : 0);
}

#endif  // MEGCC_WQ_INT8_ROWS_H
