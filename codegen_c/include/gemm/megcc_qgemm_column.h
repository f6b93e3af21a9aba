// The tiles of megcc_qgemm.h that are MEGCC_TILE_VECTORS wide, and what covers a column of a block
// with them. Included once per width (no include guard).

#if MEGCC_QGEMM_ROWS > 1
#define MEGCC_TILE_ROWS MEGCC_QGEMM_ROWS
#include "gemm/megcc_qgemm_tile.h"
#endif
#define MEGCC_TILE_ROWS 1
#include "gemm/megcc_qgemm_tile.h"

static void MEGCC_QGEMM_COLUMN(MEGCC_TILE_VECTORS)(const megcc_qgemm_t *g, megcc_qgemm_at_t at,
                                                   int32_t rows) {
#if MEGCC_QGEMM_ROWS > 1
  if (rows >= MEGCC_QGEMM_ROWS) {
    MEGCC_QGEMM_TILE(MEGCC_QGEMM_ROWS, MEGCC_TILE_VECTORS)(g, &at, rows / MEGCC_QGEMM_ROWS);
    rows %= MEGCC_QGEMM_ROWS;
  }
#endif
  if (rows > 0) MEGCC_QGEMM_TILE(1, MEGCC_TILE_VECTORS)(g, &at, rows);
}

#undef MEGCC_TILE_VECTORS
