// kernel: gather_wq_f32 INDEX=i64 BITS=4 ZERO=1
// op: gather_wq
// dtype: index=i32,i64
// arch: portable
// isa: none
// rank: 0
// params: INDEX=I BITS=bits ZERO=zero
// pack: x=wq_rows scale=wq_row_blocks zero=wq_row_blocks
// work: count
// cost: 8 * depth
//
// A work item is one row of the output. Numbers of a row are found one by one: a product reads the
// whole table where a run reads a few rows of it.
#include "megcc_dtype.h"
#include "megcc_kernel.h"
#include "op/gather_wq.h"

// Rows of a panel that stand side by side in groups of KR numbers, and numbers of a step.
#define HALF 8
#define STEP 16

// Number `i` of a row in groups, whose first is at `from`: packing.py, wq_dots. A step of two
// halves has 32 * BITS bytes.
MEGCC_INLINE int32_t megcc_of_groups(const int8_t *from, int32_t i, int32_t kr, int32_t flip) {
  const int32_t k = i % STEP, upper = BITS == 4 && k >= STEP / 2;
  const int32_t at = upper ? k - STEP / 2 : k, inside = at & (kr - 1);
  const uint8_t byte =
      (uint8_t)from[(size_t)(i / STEP) * (32 * BITS) + (size_t)((at - inside) * HALF + inside)];
  if (BITS == 8) return (int8_t)byte;
  return (((byte >> 4 * upper) & 15) ^ (flip ? 0 : 8)) - 8;
}

// Number `i` of a block, whose first byte is at `from` and whose others are `nr` apart: wq_panels.
MEGCC_INLINE int32_t megcc_of_panels(const int8_t *from, int32_t i, int32_t nr) {
  if (BITS == 8) return from[(ptrdiff_t)i * nr];
  return (((uint8_t)from[(ptrdiff_t)(i / 2) * nr] >> i % 2 * 4 & 15) ^ 8) - 8;
}

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  const MEGCC_CTYPE(INDEX) *index = ptr[1];
  const int32_t axis = attr[GATHER_WQ_AXIS], depth = attr[GATHER_WQ_DEPTH];
  const int32_t block = attr[GATHER_WQ_BLOCK], nr = attr[GATHER_WQ_NR], kr = attr[GATHER_WQ_KR];
  const int32_t blocks = (depth + block - 1) / block;
  const int32_t block_bytes = BITS == 4 ? (block + 1) / 2 : block, last = depth % block;
  const size_t row_bytes =
      (size_t)(depth / block) * (size_t)block_bytes + (size_t)(BITS == 4 ? (last + 1) / 2 : last);
  const size_t steps = (size_t)((depth + STEP - 1) / STEP);
  float *y = (float *)ptr[3 + ZERO] + (ptrdiff_t)begin * depth;
  (void)workspace;
  for (int32_t item = begin; item < end; ++item) {
    MEGCC_CTYPE(INDEX) k = index[item];
    k = k < 0 ? k + axis : k;
    const int32_t row = k < 0 ? 0 : k >= axis ? axis - 1 : (int32_t)k;
    const int32_t lane = row % nr;
    const size_t panel = (size_t)(row / nr), first = panel * (size_t)blocks * (size_t)nr;
    const float *scale = (const float *)ptr[2] + first + lane;
    const int8_t *zero = ZERO ? (const int8_t *)ptr[3] + first + lane : NULL;
    const int8_t *from = ptr[0];
    if (kr) {
      from += panel * steps * (32 * BITS) + (size_t)(lane / HALF * 16 * BITS + lane % HALF * kr);
    } else {
      from += panel * row_bytes * (size_t)nr + (size_t)lane;
    }
    for (int32_t i = 0; i < depth; i += block, scale += nr) {
      const int32_t length = depth - i < block ? depth - i : block;
      const float by = *scale;
      const int32_t less = ZERO ? *zero : 0;
      for (int32_t j = 0; j < length; ++j) {
        const int32_t number = kr ? megcc_of_groups(from, i + j, kr, attr[GATHER_WQ_FLIP])
                                  : megcc_of_panels(from, j, nr);
        *y++ = (float)(number - less) * by;
      }
      if (ZERO) zero += nr;
      if (!kr) from += (ptrdiff_t)block_bytes * nr;
    }
  }
}
