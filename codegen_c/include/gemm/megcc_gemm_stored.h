// The tiles of one row of megcc_gemm.h that widen `b` as they load it, for a kernel whose other
// tiles read panels that the workspace holds as floats: few rows do not repay those. The sums are
// the same.
#ifndef MEGCC_GEMM_STORED_H
#define MEGCC_GEMM_STORED_H

#undef MEGCC_GEMM_TILE
#define MEGCC_GEMM_TILE(rows, vectors) MEGCC_CAT4(megcc_gemm_stored_, rows, x, vectors)
#undef MEGCC_TILE_B_T
#undef MEGCC_TILE_WIDE_B
#define MEGCC_TILE_B_T megcc_gemm_b_t
#define MEGCC_TILE_WIDE_B(p) megcc_vf_load(p)
#ifdef MEGCC_GEMM_ARM64_H
#undef MEGCC_ARM64_B
#undef MEGCC_ARM64_B_2
#undef MEGCC_ARM64_B_4
#undef MEGCC_ARM64_B_SHIFT
#undef MEGCC_ARM64_WIDEN_B
#define MEGCC_ARM64_B MEGCC_ARM64_M
#define MEGCC_ARM64_B_2 MEGCC_ARM64_VECTORS_2
#define MEGCC_ARM64_B_4 MEGCC_ARM64_VECTORS_4
#define MEGCC_ARM64_B_SHIFT MEGCC_ARM64_SHIFT
#define MEGCC_ARM64_WIDEN_B(v, w) MEGCC_ARM64_WIDEN_TWO(v, w)
#endif

#define MEGCC_TILE_ROWS 1
#define MEGCC_TILE_VECTORS MEGCC_GEMM_NARROW
#include "gemm/megcc_gemm_tile.h"
#undef MEGCC_TILE_VECTORS
#ifdef MEGCC_GEMM_MIDDLE
#define MEGCC_TILE_ROWS 1
#define MEGCC_TILE_VECTORS MEGCC_GEMM_MIDDLE
#include "gemm/megcc_gemm_tile.h"
#undef MEGCC_TILE_VECTORS
#endif
#ifdef MEGCC_GEMM_WIDE
#define MEGCC_TILE_ROWS 1
#define MEGCC_TILE_VECTORS MEGCC_GEMM_WIDE
#include "gemm/megcc_gemm_tile.h"
#undef MEGCC_TILE_VECTORS
#endif

#undef MEGCC_GEMM_TILE
#define MEGCC_GEMM_TILE(rows, vectors) MEGCC_CAT4(megcc_gemm_tile_, rows, x, vectors)

// `rows` rows by so many vectors, one row after the other.
MEGCC_INLINE void megcc_gemm_stored(const megcc_gemm_t *g, megcc_gemm_at_t at, int32_t rows,
                                    int32_t vectors) {
#ifdef MEGCC_GEMM_WIDE
  if (vectors == MEGCC_GEMM_WIDE) {
    MEGCC_CAT4(megcc_gemm_stored_, 1, x, MEGCC_GEMM_WIDE)(g, &at, rows);
    return;
  }
#endif
#ifdef MEGCC_GEMM_MIDDLE
  if (vectors == MEGCC_GEMM_MIDDLE) {
    MEGCC_CAT4(megcc_gemm_stored_, 1, x, MEGCC_GEMM_MIDDLE)(g, &at, rows);
    return;
  }
#endif
  (void)vectors;
  MEGCC_CAT4(megcc_gemm_stored_, 1, x, MEGCC_GEMM_NARROW)(g, &at, rows);
}

#endif  // MEGCC_GEMM_STORED_H
