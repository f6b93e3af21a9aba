// kernel: transpose ESIZE=4
// op: transpose
// dtype: f32, f64, f16, bf16, bool, i8, u8, i16, u16, i32, u32, i64, u64
// arch: portable
// isa: none
// rank: 0
// params: ESIZE=sizeof(T)
// work: size
// cost: 8
// instructions: size * 5
//
// Axes that stay neighbours are merged first. A plane is copied in blocks of 16 x 16, so that every
// cache line that is read is used while it is there.
#include <stddef.h>

#include "megcc_dtype.h"

typedef MEGCC_BYTES(ESIZE) elem_t;
enum { BLOCK = 16 };

static void plane(const elem_t *x, ptrdiff_t x_step, elem_t *y, ptrdiff_t y_step, int32_t rows,
                  int32_t cols) {
  for (int32_t c0 = 0; c0 < cols; c0 += BLOCK) {
    const int32_t c1 = cols - c0 < BLOCK ? cols : c0 + BLOCK;
    for (int32_t r0 = 0; r0 < rows; r0 += BLOCK) {
      const int32_t r1 = rows - r0 < BLOCK ? rows : r0 + BLOCK;
      for (int32_t r = r0; r < r1; ++r)
        for (int32_t c = c0; c < c1; ++c) y[r * y_step + c] = x[c * x_step + r];
    }
  }
}

#include "megcc_transpose.h"

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  (void)workspace;
  megcc_transpose_run(ptr[0], ptr[1], attr, begin, end);
}
