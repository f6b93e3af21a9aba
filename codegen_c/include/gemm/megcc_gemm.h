// dst[r][c] = act(bias[c] + sum_k a[r][k] * b[k][c] + residual[r][c]), the inner part of conv2d and
// matmul for every machine.
//
// Rows of `a` are given by pointers: row r's K values lie in `segments` runs of `length` contiguous
// floats, run s at a[s * a_stride + r] + a_skip. A convolution points them at pixels (or at zeros
// for padding), so that no image-to-column buffer exists; a matrix product has one run per row. `b`
// is packed in panels [ceil(N / NR)][K][NR] (packing.py, gemm_panels and matmul_panels).
//
// The block is covered by tiles of accumulators that stay in registers (megcc_gemm_tile.h). Every
// output is summed in the order of k by one accumulator, whatever the tile, so results do not
// depend on how the work is split. The including kernel defines NR (8 or 16), ACT, RESIDUAL and
// BIAS.
//
// One of at most 8 columns may define MEGCC_GEMM_TALL: on x86 its tiles have as many sums as wide
// ones, in rows.
//
// One of floats whose `b` is in f16 defines MEGCC_GEMM_F16; tiles widen it as they load it.
//
// One whose `b` is in bf16 defines MEGCC_GEMM_BF16. Tiles of one row (MEGCC_GEMM_ONE_ROW) widen it
// as they load it; for others the panels of a column of tiles, at most MEGCC_GEMM_PANELS, become
// floats in the workspace, once for a block of rows. f16 that is stored only is widened the one way
// or the other; with MEGCC_GEMM_STORED, too, a kernel with panels in the workspace reads `b` where
// it is while `wide` is NULL, by tiles of one row.
#ifndef MEGCC_GEMM_H
#define MEGCC_GEMM_H

#define MEGCC_SIMD_MAX NR
#include "megcc_epilogue.h"
#include "simd/megcc_simd.h"

#ifndef BIAS
#define BIAS 1
#endif

// `b` in memory, and as tiles read it.
#if defined(MEGCC_GEMM_BF16)
#include "simd/megcc_bf16.h"
#define MEGCC_GEMM_WIDEN megcc_bf16_widen
typedef uint16_t megcc_gemm_b_t;
#elif defined(MEGCC_GEMM_F16)
#include "simd/megcc_vh.h"
typedef uint16_t megcc_gemm_b_t;
#else
#define MEGCC_GEMM_WIDEN megcc_vh_widen
typedef megcc_elem_t megcc_gemm_b_t;
#endif
#if defined(MEGCC_GEMM_BF16) && defined(MEGCC_GEMM_ONE_ROW)
#define MEGCC_GEMM_WIDENS
typedef uint16_t megcc_gemm_panel_t;
#define MEGCC_GEMM_LOAD_B(p) megcc_vf_load_bf16(p)
#elif defined(MEGCC_GEMM_F16)
typedef uint16_t megcc_gemm_panel_t;
#define MEGCC_GEMM_LOAD_B(p) megcc_vh_load(p)
#elif defined(MEGCC_GEMM_PANELS)
typedef float megcc_gemm_panel_t;
#define MEGCC_GEMM_LOAD_B(p) megcc_vf_of(p, MEGCC_VL)
#else
typedef megcc_elem_t megcc_gemm_panel_t;
#define MEGCC_GEMM_LOAD_B(p) megcc_vf_load(p)
#endif

#if defined(__ARM_NEON) && NR == 2 * MEGCC_VL && !defined(MEGCC_SIMD_PORTABLE) && \
    !defined(MEGCC_GEMM_WIDENS)
#if defined(__aarch64__) && __SIZEOF_POINTER__ == 8
#if defined(MEGCC_A53) && !defined(MEGCC_F16) && !defined(__AARCH64EB__) && \
    !defined(MEGCC_GEMM_ONE_ROW)
#include "gemm/megcc_gemm_a53.h"
#else
#include "gemm/megcc_gemm_arm64.h"
#endif
#elif defined(__arm__) && !defined(MEGCC_F16)
#include "gemm/megcc_gemm_armv7.h"
#endif
#elif defined(MEGCC_SIMD_MVE_H) && NR == 2 * MEGCC_VL && !defined(MEGCC_F16) && \
    !defined(MEGCC_GEMM_F16) && !defined(MEGCC_GEMM_WIDENS)
#include "gemm/megcc_gemm_mve.h"
#endif

// Tile rows (then MID and FEW of them, where there are such tiles, then 1) and the vectors per row
// of the wide, the middle and the narrow tile, by the number of registers. A kernel of one row
// (MEGCC_GEMM_ONE_ROW) wants many sums at a time instead: each waits for its last multiply-add.
#if defined(MEGCC_GEMM_A53_H)
#define MEGCC_GEMM_ROWS 8
#define MEGCC_GEMM_ROWS_MID 4
#define MEGCC_GEMM_NARROW 2
#elif defined(MEGCC_GEMM_ARM64_H) || (defined(MEGCC_GEMM_WIDENS) && MEGCC_VL == 4)
#define MEGCC_GEMM_ROWS 4
#define MEGCC_GEMM_ROWS_MID 2
#define MEGCC_GEMM_WIDE 6
#define MEGCC_GEMM_MIDDLE 4
#define MEGCC_GEMM_NARROW 2
#elif defined(MEGCC_GEMM_MVE_H)
#define MEGCC_GEMM_ROWS 3
#define MEGCC_GEMM_ROWS_MID 2
#define MEGCC_GEMM_NARROW 2
#elif defined(MEGCC_SIMD_MVE_H)
#define MEGCC_GEMM_ROWS 2
#define MEGCC_GEMM_NARROW 2
#elif MEGCC_VL >= 8 && defined(MEGCC_GEMM_ONE_ROW)
#define MEGCC_GEMM_WIDE 8
#define MEGCC_GEMM_MIDDLE 4
#define MEGCC_GEMM_NARROW 1
#elif MEGCC_VL == 16
#define MEGCC_GEMM_ROWS 12
#define MEGCC_GEMM_ROWS_MID 4
#define MEGCC_GEMM_ROWS_FEW 2
#define MEGCC_GEMM_WIDE 2
#define MEGCC_GEMM_NARROW 1
#elif MEGCC_VL == 8 && defined(MEGCC_GEMM_TALL)
#define MEGCC_GEMM_ROWS 12
#define MEGCC_GEMM_ROWS_MID 4
#define MEGCC_GEMM_NARROW 1
#elif MEGCC_VL == 8
#define MEGCC_GEMM_ROWS 6
#define MEGCC_GEMM_ROWS_MID 4
#define MEGCC_GEMM_ROWS_FEW 2
#define MEGCC_GEMM_WIDE 2
#define MEGCC_GEMM_NARROW 1
#elif MEGCC_VL == 4
#define MEGCC_GEMM_ROWS 4
#define MEGCC_GEMM_ROWS_MID 2
#define MEGCC_GEMM_NARROW 2
#else
#define MEGCC_GEMM_ROWS 2
#define MEGCC_GEMM_NARROW 4
#endif
// Convolutions do without two rows: an image's pixels rarely leave two or three.
#if defined(MEGCC_SMALL) || (defined(MEGCC_GEMM_PIXELS) && MEGCC_GEMM_ROWS <= 4)
#undef MEGCC_GEMM_ROWS_MID
#endif
#if defined(MEGCC_SMALL) || defined(MEGCC_GEMM_PIXELS)
#undef MEGCC_GEMM_ROWS_FEW
#endif
#if defined(MEGCC_SMALL) && defined(MEGCC_GEMM_MIDDLE)
#undef MEGCC_GEMM_WIDE
#endif
#ifdef MEGCC_GEMM_ONE_ROW
#undef MEGCC_GEMM_ROWS
#undef MEGCC_GEMM_ROWS_MID
#undef MEGCC_GEMM_ROWS_FEW
#define MEGCC_GEMM_ROWS 1
#endif
#if defined(MEGCC_GEMM_PANELS) && MEGCC_GEMM_WIDE * MEGCC_VL > MEGCC_GEMM_PANELS * NR
#undef MEGCC_GEMM_WIDE
#endif
#if defined(MEGCC_GEMM_PANELS) && MEGCC_GEMM_MIDDLE * MEGCC_VL > MEGCC_GEMM_PANELS * NR
#undef MEGCC_GEMM_MIDDLE
#endif

#ifdef MEGCC_GEMM_WIDE
#define MEGCC_GEMM_WIDTH (MEGCC_GEMM_WIDE * MEGCC_VL)
#elif defined(MEGCC_GEMM_MIDDLE)
#define MEGCC_GEMM_WIDTH (MEGCC_GEMM_MIDDLE * MEGCC_VL)
#else
#define MEGCC_GEMM_WIDTH (MEGCC_GEMM_NARROW * MEGCC_VL)
#endif

typedef struct {
  const megcc_elem_t *const *a;
  size_t a_stride, a_skip;
  size_t segments, length;  // at least one run
  size_t panel;             // K * NR, elements from one panel of b to the next
  const megcc_gemm_b_t *b;
  const megcc_elem_t *bias;      // N floats; read only when BIAS is 1
  const megcc_elem_t *residual;  // as dst; read only when RESIDUAL is not 0
  megcc_elem_t *dst;
  size_t ld;  // floats from row to row of dst and residual
  float act_a, act_b;
#ifdef MEGCC_GEMM_PANELS
  float *wide;
#endif
} megcc_gemm_t;

// One tile: its first row's pointers, the first lane of its panel, and where its corner goes.
typedef struct {
  const megcc_elem_t *const *a;
  const megcc_gemm_panel_t *b;
  const megcc_elem_t *bias, *residual;
  megcc_elem_t *dst;
  size_t ld;
} megcc_gemm_at_t;

#ifdef MEGCC_TILE_SUMS
// The assembly names these by their offsets.
typedef char megcc_gemm_layout_t[offsetof(megcc_gemm_t, a_stride) == sizeof(size_t) &&
                                         offsetof(megcc_gemm_t, a_skip) == 2 * sizeof(size_t) &&
                                         offsetof(megcc_gemm_t, segments) == 3 * sizeof(size_t) &&
                                         offsetof(megcc_gemm_t, length) == 4 * sizeof(size_t) &&
                                         offsetof(megcc_gemm_t, panel) == 5 * sizeof(size_t)
                                     ? 1
                                     : -1];
#endif

#ifdef MEGCC_GEMM_ARMV7_H
// Fills `start` with the bias of `rows` rows, then with the activation's parameters.
MEGCC_INLINE void megcc_gemm_start(const megcc_gemm_t *g, const float *bias, float *start,
                                   int32_t rows) {
  const megcc_vf low = megcc_vf_load(bias), high = megcc_vf_load(bias + 4);
  for (int32_t r = 0; r < rows; ++r, start += 8) {
    megcc_vf_store(start, low);
    megcc_vf_store(start + 4, high);
  }
  megcc_vf_store(start, megcc_vf_dup(g->act_a));
  megcc_vf_store(start + 4, megcc_vf_dup(g->act_b));
}
#endif

// The bias of a tile without one, and of each piece after the first.
#if defined(MEGCC_TILE_PIECE) || (!BIAS && defined(MEGCC_TILE_SUMS))
static const megcc_elem_t megcc_gemm_zeros[MEGCC_GEMM_WIDTH];
#endif
#if !BIAS && defined(MEGCC_TILE_SUMS)
#define MEGCC_GEMM_BIAS(g, c) megcc_gemm_zeros
#elif !BIAS
#define MEGCC_GEMM_BIAS(g, c) NULL
#else
#define MEGCC_GEMM_BIAS(g, c) ((g)->bias + (c))
#endif

#ifdef MEGCC_TILE_PIECE
#include "gemm/megcc_gemm_pieces.h"
#endif

#if defined(MEGCC_SIMD_HALF_H) && MEGCC_VL >= 8
#define MEGCC_TILE_CHUNK 32
MEGCC_INLINE void megcc_tile_widen(const megcc_elem_t *from, float *to, int32_t n) {
  int32_t k = 0;
  for (; n - k >= MEGCC_VL; k += MEGCC_VL) megcc_vf_lanes(to + k, megcc_vf_load(from + k));
  if (k < n) megcc_vf_lanes_n(to + k, megcc_vf_load_n(from + k, n - k), n - k);
}
#endif

#define MEGCC_GEMM_TILE(rows, vectors) MEGCC_CAT4(megcc_gemm_tile_, rows, x, vectors)

#define MEGCC_GEMM_COLUMN_(vectors) megcc_gemm_column_##vectors
#define MEGCC_GEMM_COLUMN(vectors) MEGCC_GEMM_COLUMN_(vectors)

// `b` as the tiles that follow read it.
#define MEGCC_TILE_B_T megcc_gemm_panel_t
#define MEGCC_TILE_WIDE_B(p) MEGCC_GEMM_LOAD_B(p)
#define MEGCC_TILE_VECTORS MEGCC_GEMM_NARROW
#include "gemm/megcc_gemm_column.h"
#ifdef MEGCC_GEMM_MIDDLE
#define MEGCC_TILE_VECTORS MEGCC_GEMM_MIDDLE
#include "gemm/megcc_gemm_column.h"
#endif
#ifdef MEGCC_GEMM_WIDE
#define MEGCC_TILE_VECTORS MEGCC_GEMM_WIDE
#include "gemm/megcc_gemm_column.h"
#endif
#ifdef MEGCC_GEMM_STORED
#include "gemm/megcc_gemm_stored.h"
#endif

// Vectors of the tile for the next of `cols` columns: the widest that has a column for each of its
// panels, but not so that a narrow one is left where two middle ones fit.
MEGCC_INLINE int32_t megcc_gemm_vectors(int32_t cols) {
#ifdef MEGCC_GEMM_MIDDLE
  const int32_t middle = MEGCC_GEMM_MIDDLE * MEGCC_VL;
#else
  const int32_t middle = MEGCC_GEMM_NARROW * MEGCC_VL;
#endif
#ifdef MEGCC_GEMM_WIDE
  const int wide = cols > middle && cols > MEGCC_GEMM_WIDTH - NR;
  if (wide && (cols <= MEGCC_GEMM_WIDTH || cols > 2 * middle)) return MEGCC_GEMM_WIDE;
#endif
#ifdef MEGCC_GEMM_MIDDLE
  if (cols > MEGCC_GEMM_NARROW * MEGCC_VL && cols > middle - NR) return MEGCC_GEMM_MIDDLE;
#endif
  (void)cols, (void)middle;
  return MEGCC_GEMM_NARROW;
}

// Tiles of so many vectors down `rows` rows.
MEGCC_INLINE void megcc_gemm_column(const megcc_gemm_t *g, megcc_gemm_at_t at, int32_t rows,
                                    int32_t vectors) {
#ifdef MEGCC_GEMM_STORED
  if (g->wide == NULL) {
    megcc_gemm_stored(g, at, rows, vectors);
    return;
  }
#endif
#ifdef MEGCC_GEMM_WIDE
  if (vectors == MEGCC_GEMM_WIDE) {
    MEGCC_GEMM_COLUMN(MEGCC_GEMM_WIDE)(g, at, rows);
    return;
  }
#endif
#ifdef MEGCC_GEMM_MIDDLE
  if (vectors == MEGCC_GEMM_MIDDLE) {
    MEGCC_GEMM_COLUMN(MEGCC_GEMM_MIDDLE)(g, at, rows);
    return;
  }
#endif
  (void)vectors;
  MEGCC_GEMM_COLUMN(MEGCC_GEMM_NARROW)(g, at, rows);
}

// Copies `rows` rows of `n` floats (n > 0).
MEGCC_HOT static void megcc_gemm_copy(const megcc_elem_t *src, size_t lds, megcc_elem_t *dst,
                                      size_t ldd, int32_t rows, int32_t n) {
  for (int32_t r = 0; r < rows; ++r, src += lds, dst += ldd) {
    int32_t i = 0;
    for (; n - i >= MEGCC_VL; i += MEGCC_VL) megcc_vf_store(dst + i, megcc_vf_load(src + i));
    if (i < n) megcc_vf_store_n(dst + i, megcc_vf_load_n(src + i, n - i), n - i);
  }
}

// The last columns of a matrix that no tile fits: computed in full width in a buffer of one tile,
// so that nothing past the operands is touched.
MEGCC_COLD static void megcc_gemm_edge(const megcc_gemm_t *g, megcc_gemm_at_t at, int32_t rows,
                                       int32_t cols, int32_t vectors) {
  megcc_elem_t bias[MEGCC_GEMM_WIDTH] = {0};
  megcc_elem_t tile[MEGCC_GEMM_ROWS * MEGCC_GEMM_WIDTH];
#if RESIDUAL
  megcc_elem_t residual[MEGCC_GEMM_ROWS * MEGCC_GEMM_WIDTH] = {0};
#endif
  if (BIAS) megcc_gemm_copy(at.bias, 0, bias, 0, 1, cols);
  for (int32_t r = 0; r < rows; r += MEGCC_GEMM_ROWS) {
    const int32_t n = rows - r < MEGCC_GEMM_ROWS ? rows - r : MEGCC_GEMM_ROWS;
    megcc_gemm_at_t in = at;
    in.bias = bias;
    in.dst = tile;
    in.ld = MEGCC_GEMM_WIDTH;
#if RESIDUAL
    megcc_gemm_copy(at.residual, at.ld, residual, MEGCC_GEMM_WIDTH, n, cols);
    in.residual = residual;
    at.residual += (size_t)n * at.ld;
#endif
    megcc_gemm_column(g, in, n, vectors);
    megcc_gemm_copy(tile, MEGCC_GEMM_WIDTH, at.dst, at.ld, n, cols);
    at.dst += (size_t)n * at.ld;
    at.a += n;
  }
}

// The panels that tiles of `width` columns read from column c on, widened where they have to be.
MEGCC_INLINE const megcc_gemm_panel_t *megcc_gemm_panels(const megcc_gemm_t *g, int32_t c,
                                                         int32_t width) {
  const megcc_gemm_b_t *b = g->b + (size_t)(c / NR) * g->panel;
#ifdef MEGCC_GEMM_STORED
  const void *const stored = b + c % NR;
  if (g->wide == NULL) return stored;
#endif
#ifdef MEGCC_GEMM_PANELS
  MEGCC_GEMM_WIDEN(b, g->wide, (size_t)((c % NR + width + NR - 1) / NR) * g->panel);
  return g->wide + c % NR;
#else
  (void)width;
  return b + c % NR;
#endif
}

// Many wide tiles of one row, whose sums are soon made: little else may be done for each of them.
#if defined(MEGCC_GEMM_WIDE) && !defined(MEGCC_GEMM_PANELS) && !defined(MEGCC_SMALL)
#if MEGCC_GEMM_WIDE * MEGCC_VL % NR == 0
#define MEGCC_GEMM_IN_A_ROW
// Those of columns [c0, c1); returns the first column that is left.
MEGCC_HOT static int32_t megcc_gemm_row(const megcc_gemm_t *g, int32_t c0, int32_t c1) {
  megcc_gemm_at_t at;
  at.b = megcc_gemm_panels(g, c0, 0);
  at.bias = MEGCC_GEMM_BIAS(g, c0);
  at.residual = RESIDUAL ? g->residual + c0 : NULL;
  at.dst = g->dst + c0;
  at.ld = MEGCC_GEMM_WIDTH;  // as if the next tile were the next row
  for (; c1 - c0 >= MEGCC_GEMM_WIDTH && megcc_gemm_vectors(c1 - c0) == MEGCC_GEMM_WIDE;
       c0 += MEGCC_GEMM_WIDTH) {
    at.a = g->a;
    MEGCC_GEMM_TILE(1, MEGCC_GEMM_WIDE)(g, &at, 1);
    at.b += MEGCC_GEMM_WIDTH / NR * g->panel;
#if BIAS
    at.bias += MEGCC_GEMM_WIDTH;
#endif
  }
  return c0;
}
#endif
#endif

// The block of `rows` rows and columns [c0, c1); c0 is a multiple of NR. Panels outside, rows
// inside: a panel is read once per block while the block's rows stay in the cache.
static void megcc_gemm_block(const megcc_gemm_t *g, int32_t rows, int32_t c0, int32_t c1) {
#ifdef MEGCC_GEMM_IN_A_ROW
  if (rows == 1 && c1 - c0 >= 4 * MEGCC_GEMM_WIDTH) c0 = megcc_gemm_row(g, c0, c1);
#endif
  for (int32_t c = c0; c < c1;) {
    const int32_t vectors = megcc_gemm_vectors(c1 - c), width = vectors * MEGCC_VL;
    const int32_t cols = c1 - c < width ? c1 - c : width;
    megcc_gemm_at_t at;
    at.a = g->a;
    at.b = megcc_gemm_panels(g, c, width);
    at.bias = MEGCC_GEMM_BIAS(g, c);
    at.residual = RESIDUAL ? g->residual + c : NULL;
    at.dst = g->dst + c;
    at.ld = g->ld;
    if (cols == width) {
      megcc_gemm_column(g, at, rows, vectors);
    } else {
      megcc_gemm_edge(g, at, rows, cols, vectors);
    }
    c += width;
  }
}

// A kernel's unit of work is a block of rows by MEGCC_GEMM_UNIT columns, blocks outside: few rows
// of many columns split as well as many rows.
#define MEGCC_GEMM_UNIT 16
#ifndef MEGCC_GEMM_BLOCK
#define MEGCC_GEMM_BLOCK 96
#endif
#define MEGCC_GEMM_ENTRY 8  // bytes that a row's address takes in a workspace, whatever the machine

// Reserves panels of depth K for widened weights in a workspace; returns the rest of it.
MEGCC_INLINE void *megcc_gemm_take_panels(megcc_gemm_t *g, void *workspace, size_t k) {
#ifdef MEGCC_GEMM_PANELS
  g->wide = workspace;
  return g->wide + k * NR * MEGCC_GEMM_PANELS;
#else
  (void)g, (void)k;
  return workspace;
#endif
}

// Rows of a block: at most MEGCC_GEMM_BLOCK, whole tiles, all blocks equal, so that no short last
// block reads all of b again. There are as many as ceil(rows / MEGCC_GEMM_BLOCK).
MEGCC_INLINE int32_t megcc_gemm_block_rows(int32_t rows) {
  const int32_t blocks = (rows + MEGCC_GEMM_BLOCK - 1) / MEGCC_GEMM_BLOCK;
  int32_t block = (rows + blocks - 1) / blocks;
  block = (block + MEGCC_GEMM_ROWS - 1) / MEGCC_GEMM_ROWS * MEGCC_GEMM_ROWS;
  return block < MEGCC_GEMM_BLOCK ? block : MEGCC_GEMM_BLOCK;
}

#endif  // MEGCC_GEMM_H
