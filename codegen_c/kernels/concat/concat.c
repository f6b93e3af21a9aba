// kernel: concat
// op: concat
// dtype: f32, f64, f16, bf16, bool, i8, u8, i16, u16, i32, u32, i64, u64
// arch: portable
// isa: none
// rank: 0
// work: outer * count
// cost: 2 * (b0 + b1 + b2 + b3 + b4 + b5 + b6 + b7 + b8 + b9 + b10 + b11 + b12 + b13
//   + b14 + b15) // count
//
// A work item is one input's part of one output row. Whole rows are filled input by input, a block
// of them at a time.
#include "megcc_kernel.h"
#include "megcc_move.h"
#include "op/concat.h"

#define BLOCK 16384  // bytes of output rows that are filled input by input

// `rows` rows of `n` bytes, the output's `ld` apart. The widths that are a few elements are cases
// of their own, in which a copy is a load and a store. An input that is not where its rows go is
// apart from them.
MEGCC_HOT static void copy_rows(uint8_t *y, size_t ld, const uint8_t *x, size_t n, int32_t rows) {
#define EACH_ROW for (; rows > 0; --rows, y += ld, x += n)
  if (n == 4) {
    EACH_ROW megcc_copy_apart(y, x, 4);
  } else if (n == 8) {
    EACH_ROW megcc_copy_apart(y, x, 8);
  } else if (n == 16) {
    EACH_ROW megcc_copy_apart(y, x, 16);
  } else if (n == 32) {
    EACH_ROW megcc_copy_apart(y, x, 32);
  } else {
    EACH_ROW megcc_copy_apart(y, x, n);
  }
#undef EACH_ROW
}

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  (void)workspace;
  const int32_t count = attr[CONCAT_COUNT], *bytes = attr + CONCAT_B0;
  size_t row = 0;
  for (int32_t i = 0; i < count; ++i) row += (size_t)bytes[i];
  while (begin < end) {
    const int32_t outer = begin / count, input = begin % count;
    const int32_t most = row < BLOCK ? (int32_t)(BLOCK / (row + 1)) + 1 : 1;
    // Whole rows, or what is left of one, or a begin of one.
    const int32_t whole = input ? 0 : (end - begin) / count;
    const int32_t rows = whole == 0 ? 1 : whole < most ? whole : most;
    const int32_t stop = whole || end - begin > count - input ? count : input + end - begin;
    uint8_t *y = (uint8_t *)ptr[count] + (size_t)outer * row;
    for (int32_t i = 0; i < stop; ++i) {
      const size_t n = (size_t)bytes[i];
      const uint8_t *x = (const uint8_t *)ptr[i] + (size_t)outer * n;
      if (i >= input && x != y) copy_rows(y, row, x, n, rows);
      y += n;
    }
    begin += whole ? rows * count : stop - input;
  }
}
