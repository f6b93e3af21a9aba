// Panels of NR columns, as megcc_gemm.h reads them, of a matrix that is computed at run time; zeros
// in the lanes past its columns.
#ifndef MEGCC_GEMM_PACK_H
#define MEGCC_GEMM_PACK_H

#include "gemm/megcc_gemm.h"

#ifdef MEGCC_F16
#define ESIZE 2
#else
#define ESIZE 4
#endif
#include "simd/megcc_tile.h"

// `cols` columns of `from`, [depth][ld].
MEGCC_INLINE void megcc_gemm_pack_columns(const megcc_elem_t *from, size_t ld, int32_t depth,
                                          int32_t cols, megcc_elem_t *panels) {
  for (int32_t p = 0; p < cols; p += NR, panels += (size_t)depth * NR) {
    const int32_t lanes = cols - p < NR ? cols - p : NR;
    for (int32_t k = 0; k < depth; ++k) {
      const megcc_elem_t *src = from + (size_t)k * ld + p;
      megcc_elem_t *to = panels + (size_t)k * NR;
      for (int32_t j = 0; j < NR; j += MEGCC_VL) {
        const int32_t here = lanes - j < 0 ? 0 : lanes - j < MEGCC_VL ? lanes - j : MEGCC_VL;
        megcc_vf_store(to + j, here == MEGCC_VL ? megcc_vf_load(src + j)
                               : here           ? megcc_vf_load_n(src + j, here)
                                                : megcc_vf_zero());
      }
    }
  }
}

// `cols` columns, of which `from` is the transposed matrix, [cols][ld]: by square tiles.
MEGCC_INLINE void megcc_gemm_pack_transposed(const megcc_elem_t *from, size_t ld, int32_t depth,
                                             int32_t cols, megcc_elem_t *panels) {
  for (int32_t p = 0; p < cols; p += NR, panels += (size_t)depth * NR) {
    const int32_t lanes = cols - p < NR ? cols - p : NR;
    const megcc_elem_t *src = from + (size_t)p * ld;
    int32_t j = 0;
    for (; j + MEGCC_TILE <= lanes; j += MEGCC_TILE, src += MEGCC_TILE * ld) {
      int32_t k = 0;
      for (; k + MEGCC_TILE <= depth; k += MEGCC_TILE) {
        megcc_tile((const void *)(src + k), (ptrdiff_t)ld, (void *)(panels + k * NR + j), NR);
      }
      for (; k < depth; ++k)
        for (int32_t c = 0; c < MEGCC_TILE; ++c)
          panels[k * NR + j + c] = src[(size_t)c * ld + (size_t)k];
    }
    for (; j < NR; ++j, src += ld) {
      for (int32_t k = 0; k < depth; ++k) {
        if (j < lanes) {
          panels[k * NR + j] = src[k];
        } else {
          panels[k * NR + j] = 0;
        }
      }
    }
  }
}

#endif  // MEGCC_GEMM_PACK_H
