// kernel: transpose_simd ESIZE=4
// op: transpose
// dtype: f32, i32, u32, f16, bf16, i16, u16, i8, u8, bool
// arch: arm64, armv7, x86
// isa: simd
// rank: 10
// params: ESIZE=sizeof(T)
// work: size
// cost: 8
// instructions: size * 5 // 4
//
// As transpose.c, with planes in square tiles that are transposed in registers. Blocks of 64 input
// rows keep what the output rows of a tile share in the cache.

#include "simd/megcc_tile.h"

typedef megcc_tile_t elem_t;
enum { BLOCK = 64 };

// Two or three planes become pairs or triples, and back: compilers know the instructions.
MEGCC_INLINE void interleave(const elem_t *x, ptrdiff_t x_step, elem_t *y, int32_t rows, int n) {
  MEGCC_IVDEP
  for (ptrdiff_t r = 0; r < rows; ++r) {
    y[r * n] = x[r];
    y[r * n + 1] = x[x_step + r];
    if (n == 3) y[r * n + 2] = x[2 * x_step + r];
  }
}

MEGCC_INLINE void separate(const elem_t *x, elem_t *y, ptrdiff_t y_step, int32_t cols, int n) {
  MEGCC_IVDEP
  for (ptrdiff_t c = 0; c < cols; ++c) {
    y[c] = x[c * n];
    y[y_step + c] = x[c * n + 1];
    if (n == 3) y[2 * y_step + c] = x[c * n + 2];
  }
}

// Copies a part of a plane that is narrower than a tile, element by element.
MEGCC_COLD static void strip(const elem_t *x, ptrdiff_t x_step, elem_t *y, ptrdiff_t y_step,
                             int32_t rows, int32_t cols) {
  for (int32_t r = 0; r < rows; ++r)
    for (int32_t c = 0; c < cols; ++c) y[r * y_step + c] = x[c * x_step + r];
}

// A tile for rows and columns that fill none: the last whole one, once more.
MEGCC_HOT static void plane(const elem_t *x, ptrdiff_t x_step, elem_t *y, ptrdiff_t y_step,
                            int32_t rows, int32_t cols) {
  if (cols == 2 && y_step == 2) {
    interleave(x, x_step, y, rows, 2);
  } else if (cols == 3 && y_step == 3) {
    interleave(x, x_step, y, rows, 3);
  } else if (rows == 2 && x_step == 2) {
    separate(x, y, y_step, cols, 2);
  } else if (rows == 3 && x_step == 3) {
    separate(x, y, y_step, cols, 3);
  } else if (rows < MEGCC_TILE || cols < MEGCC_TILE) {
    strip(x, x_step, y, y_step, rows, cols);
  } else {
    for (int32_t c0 = 0; c0 < cols; c0 += BLOCK) {
      const int32_t c1 = cols - c0 < BLOCK ? cols : c0 + BLOCK;
      for (int32_t i = 0; i < rows; i += MEGCC_TILE) {
        const int32_t r = i + MEGCC_TILE <= rows ? i : rows - MEGCC_TILE;
        const elem_t *from = x + c0 * x_step + r;
        elem_t *to = y + r * y_step + c0;
        int32_t left = c1 - c0;
#ifdef MEGCC_TILE_PAIR
        elem_t *rows_of[MEGCC_TILE] = {to, to + y_step, to + 2 * y_step, to + 3 * y_step};
        for (; left >= 2 * MEGCC_TILE; left -= 2 * MEGCC_TILE) {
          megcc_tile_pair(from, x_step, rows_of);
          from += 2 * MEGCC_TILE * x_step;
        }
        to = rows_of[0];
#endif
        for (; left >= MEGCC_TILE; left -= MEGCC_TILE, to += MEGCC_TILE) {
          megcc_tile(from, x_step, to, y_step);
          from += MEGCC_TILE * x_step;
        }
        left = left ? MEGCC_TILE - left : 0;
        if (left) megcc_tile(from - left * x_step, x_step, to - left, y_step);
      }
    }
  }
}

#include "megcc_transpose.h"

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  (void)workspace;
  megcc_transpose_run(ptr[0], ptr[1], attr, begin, end);
}
