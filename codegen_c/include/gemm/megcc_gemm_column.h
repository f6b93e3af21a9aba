// The tiles of megcc_gemm.h that are MEGCC_TILE_VECTORS wide, and what covers a column of a block
// with them. Included once per width (no include guard).

#if MEGCC_GEMM_ROWS > 1
#define MEGCC_TILE_ROWS MEGCC_GEMM_ROWS
#include "gemm/megcc_gemm_tile.h"
#endif
#ifdef MEGCC_GEMM_ROWS_MID
#define MEGCC_TILE_ROWS MEGCC_GEMM_ROWS_MID
#include "gemm/megcc_gemm_tile.h"
#endif
#ifdef MEGCC_GEMM_ROWS_FEW
#define MEGCC_TILE_ROWS MEGCC_GEMM_ROWS_FEW
#include "gemm/megcc_gemm_tile.h"
#endif
#define MEGCC_TILE_ROWS 1
#include "gemm/megcc_gemm_tile.h"

MEGCC_HOT static void MEGCC_GEMM_COLUMN(MEGCC_TILE_VECTORS)(const megcc_gemm_t *g,
                                                            megcc_gemm_at_t at, int32_t rows) {
#if MEGCC_GEMM_ROWS > 1
  if (rows >= MEGCC_GEMM_ROWS) {
    MEGCC_GEMM_TILE(MEGCC_GEMM_ROWS, MEGCC_TILE_VECTORS)(g, &at, rows / MEGCC_GEMM_ROWS);
    rows %= MEGCC_GEMM_ROWS;
  }
#endif
#ifdef MEGCC_GEMM_ROWS_MID
  if (rows >= MEGCC_GEMM_ROWS_MID) {
    MEGCC_GEMM_TILE(MEGCC_GEMM_ROWS_MID, MEGCC_TILE_VECTORS)(g, &at, rows / MEGCC_GEMM_ROWS_MID);
    rows %= MEGCC_GEMM_ROWS_MID;
  }
#endif
#ifdef MEGCC_GEMM_ROWS_FEW
  if (rows >= MEGCC_GEMM_ROWS_FEW) {
    MEGCC_GEMM_TILE(MEGCC_GEMM_ROWS_FEW, MEGCC_TILE_VECTORS)(g, &at, rows / MEGCC_GEMM_ROWS_FEW);
    rows %= MEGCC_GEMM_ROWS_FEW;
  }
#endif
  if (rows > 0) MEGCC_GEMM_TILE(1, MEGCC_TILE_VECTORS)(g, &at, rows);
}

#undef MEGCC_TILE_VECTORS
