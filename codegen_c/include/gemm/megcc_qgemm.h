// dst[r][c] = rescaled(bias[c] + term[r] + sum_k a[r][k] * b[k][c]) of 8-bit integers, the inner
// part of qconv2d and qmatmul on Arm64. There are terms of rows where b has a zero point (TERMS).
//
// Rows of `a` are given by pointers, as in megcc_gemm.h: row r's K values lie in `segments` runs of
// contiguous bytes, run s at a[s * a_stride + r] + a_skip, and are read where they are, in pieces
// of 16 bytes (megcc_run_table.h): `b` holds zeros for what lies past the end. It is packed in
// panels of NR columns (packing.py, qgemm_panels and qmatmul_panels): of every run, groups of
// MEGCC_QGEMM_KR consecutive k of a column, columns side by side.
//
// A tile of accumulators stays in registers. How its sums are made, its size and the groups say
// megcc_qgemm_neon.h, megcc_qgemm_dot.h (sdot) and megcc_qgemm_mm.h (smmla): the kernel includes
// the one for its features first. Every sum is exact, so results do not depend on how work is
// split.
#ifndef MEGCC_QGEMM_H
#define MEGCC_QGEMM_H

#include "simd/megcc_requant_neon.h"

#ifndef X
#define X i8
#endif

#define NR 8
#define MEGCC_QGEMM_COLUMNS NR

typedef struct {
  const uint8_t *const *a;
  size_t a_stride, a_skip;
  size_t segments, groups;  // runs, and groups of MEGCC_QGEMM_KR bytes in each
  size_t panel;             // bytes from one panel of b to the next
  const int8_t *b;
  const int32_t *bias;
  const int32_t *terms;  // one per row; read only when TERMS is 1
  megcc_rescale rescale;
  megcc_narrow narrow;
  MEGCC_CTYPE(Y) * dst;
  size_t ld;  // elements from row to row of dst
} megcc_qgemm_t;

// The assembly names these by their offsets.
typedef char megcc_qgemm_layout[offsetof(megcc_qgemm_t, a_stride) == 8 &&
                                        offsetof(megcc_qgemm_t, a_skip) == 16 &&
                                        offsetof(megcc_qgemm_t, segments) == 24 &&
                                        offsetof(megcc_qgemm_t, groups) == 32 &&
                                        offsetof(megcc_qgemm_t, panel) == 40
                                    ? 1
                                    : -1];

// One tile: its first row's pointers, its first panel, its columns' constants, and where its corner
// goes.
typedef struct {
  const uint8_t *const *a;
  const int8_t *b;
  const int32_t *bias, *terms;
  const float *scale, *offset;
  MEGCC_CTYPE(Y) * dst;
  size_t ld;
} megcc_qgemm_at_t;

// Columns of the widest tile.
#if defined(MEGCC_QGEMM_WIDE)
#define MEGCC_QGEMM_WIDTH (MEGCC_QGEMM_WIDE * 4)
#elif defined(MEGCC_QGEMM_MIDDLE)
#define MEGCC_QGEMM_WIDTH (MEGCC_QGEMM_MIDDLE * 4)
#else
#define MEGCC_QGEMM_WIDTH (MEGCC_QGEMM_NARROW * 4)
#endif

#define MEGCC_QGEMM_TILE(rows, vectors) MEGCC_CAT4(megcc_qgemm_tile_, rows, x, vectors)
#define MEGCC_QGEMM_COLUMN_(vectors) megcc_qgemm_column_##vectors
#define MEGCC_QGEMM_COLUMN(vectors) MEGCC_QGEMM_COLUMN_(vectors)

#define MEGCC_TILE_VECTORS MEGCC_QGEMM_NARROW
#include "gemm/megcc_qgemm_column.h"
#ifdef MEGCC_QGEMM_MIDDLE
#define MEGCC_TILE_VECTORS MEGCC_QGEMM_MIDDLE
#include "gemm/megcc_qgemm_column.h"
#endif
#ifdef MEGCC_QGEMM_WIDE
#define MEGCC_TILE_VECTORS MEGCC_QGEMM_WIDE
#include "gemm/megcc_qgemm_column.h"
#endif

// Vectors of the tile for the next of `cols` columns: the widest that has a column for each of its
// panels, but not so that a narrow one is left where two middle ones fit.
MEGCC_INLINE int32_t megcc_qgemm_vectors(int32_t cols) {
#ifdef MEGCC_QGEMM_WIDE
  const int32_t middle = MEGCC_QGEMM_MIDDLE * 4;
  const int wide = cols > middle;
  if (wide && (cols <= MEGCC_QGEMM_WIDTH || cols > 2 * middle)) return MEGCC_QGEMM_WIDE;
#endif
#ifdef MEGCC_QGEMM_MIDDLE
  if (cols > NR) return MEGCC_QGEMM_MIDDLE;
#endif
  (void)cols;
  return MEGCC_QGEMM_NARROW;
}

// Tiles of so many vectors down `rows` rows.
MEGCC_HOT static void megcc_qgemm_column(const megcc_qgemm_t *g, megcc_qgemm_at_t at, int32_t rows,
                                         int32_t vectors) {
#ifdef MEGCC_QGEMM_WIDE
  if (vectors == MEGCC_QGEMM_WIDE) {
    MEGCC_QGEMM_COLUMN(MEGCC_QGEMM_WIDE)(g, at, rows);
    return;
  }
#endif
#ifdef MEGCC_QGEMM_MIDDLE
  if (vectors == MEGCC_QGEMM_MIDDLE) {
    MEGCC_QGEMM_COLUMN(MEGCC_QGEMM_MIDDLE)(g, at, rows);
    return;
  }
#endif
  (void)vectors;
  MEGCC_QGEMM_COLUMN(MEGCC_QGEMM_NARROW)(g, at, rows);
}

// The last columns of a matrix that no tile fits: computed in full width in a buffer of one tile,
// so that nothing past the operands is touched.
MEGCC_COLD static void megcc_qgemm_edge(const megcc_qgemm_t *g, megcc_qgemm_at_t at, int32_t rows,
                                        int32_t cols, int32_t vectors) {
  int32_t bias[MEGCC_QGEMM_WIDTH] = {0};
  float scale[MEGCC_QGEMM_WIDTH] = {0}, offset[MEGCC_QGEMM_WIDTH] = {0};
  MEGCC_CTYPE(Y) tile[MEGCC_QGEMM_ROWS * MEGCC_QGEMM_WIDTH];
  megcc_qgemm_at_t in = at;
  for (int32_t c = 0; c < cols; ++c) {
    bias[c] = at.bias[c];
    if (OUT && SCALES) scale[c] = at.scale[c];
    if (OFFSET) offset[c] = at.offset[c];
  }
  in.bias = bias;
  if (SCALES) in.scale = scale;
  in.offset = offset;
  in.dst = tile;
  in.ld = MEGCC_QGEMM_WIDTH;
  for (int32_t r = 0; r < rows; r += MEGCC_QGEMM_ROWS) {
    const int32_t n = rows - r < MEGCC_QGEMM_ROWS ? rows - r : MEGCC_QGEMM_ROWS;
    megcc_qgemm_column(g, in, n, vectors);
    in.a += n;
    if (TERMS) in.terms += n;
    for (int32_t i = 0; i < n; ++i, at.dst += at.ld) {
      for (int32_t c = 0; c < cols; ++c) at.dst[c] = tile[i * MEGCC_QGEMM_WIDTH + c];
    }
  }
}

// The block of `rows` rows and columns [c0, c1); c0 is a multiple of NR. Panels outside, rows
// inside: a panel is read once per block while the block's rows stay in the cache.
MEGCC_HOT static void megcc_qgemm_block(const megcc_qgemm_t *g, int32_t rows, int32_t c0,
                                        int32_t c1) {
  for (int32_t c = c0; c < c1;) {
    const int32_t vectors = megcc_qgemm_vectors(c1 - c), width = vectors * 4;
    const int32_t cols = c1 - c < width ? c1 - c : width;
    megcc_qgemm_at_t at;
    at.a = g->a;
    at.b = g->b + (size_t)(c / NR) * g->panel;
    at.bias = g->bias + c;
    at.terms = g->terms;
    at.scale = OUT ? g->rescale.scale + (SCALES ? c : 0) : NULL;
    at.offset = OFFSET ? g->rescale.offset + c : NULL;
    at.dst = g->dst + c;
    at.ld = g->ld;
    if (cols == width) {
      megcc_qgemm_column(g, at, rows, vectors);
    } else {
      megcc_qgemm_edge(g, at, rows, cols, vectors);
    }
    c += width;
  }
}

#if TERMS
// The terms of `rows` rows of a block, `factor` times the sum of a row's bytes, of which a run has
// `length`.
MEGCC_HOT static void megcc_qgemm_terms(const megcc_qgemm_t *g, int32_t rows, size_t length,
                                        int32_t factor, int32_t *terms) {
  static const uint8_t ones[32] = {255, 255, 255, 255, 255, 255, 255, 255,
                                   255, 255, 255, 255, 255, 255, 255, 255};
  const uint8x16_t rest = vld1q_u8(ones + 16 - length % 16);
  const uint8x16_t flip = vdupq_n_u8(MEGCC_IS_UNSIGNED(X) && MEGCC_QGEMM_FLIP ? 128 : 0);
  for (int32_t r = 0; r < rows; ++r) {
    int32x4_t sum = vdupq_n_s32(0);
    for (size_t s = 0; s < g->segments; ++s) {
      const uint8_t *p = g->a[s * g->a_stride + (size_t)r] + g->a_skip;
      for (size_t k = 0; k < length; k += 16) {
        uint8x16_t v = veorq_u8(vld1q_u8(p + k), flip);
        if (length - k < 16) v = vandq_u8(v, rest);
        sum = vpadalq_s16(sum, MEGCC_IS_UNSIGNED(X) && !MEGCC_QGEMM_FLIP
                                   ? vreinterpretq_s16_u16(vpaddlq_u8(v))
                                   : vpaddlq_s8(vreinterpretq_s8_u8(v)));
      }
    }
    terms[r] = (int32_t)((uint32_t)factor * (uint32_t)vaddvq_s32(sum));
  }
}
#endif

// Puts the numbers that a call rescales with into vectors.
MEGCC_INLINE void megcc_qgemm_prepare(megcc_qgemm_t *g) {
  g->narrow = megcc_narrow_of(&g->rescale);
}

#endif  // MEGCC_QGEMM_H
