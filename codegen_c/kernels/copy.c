// kernel: copy
// op: copy
// dtype: f32, f64, f16, bf16, bool, i8, u8, i16, u16, i32, u32, i64, u64
// arch: portable
// isa: none
// rank: 0
// inplace: x
// work: (bytes + BLOCK - 1) // BLOCK
// cost: 128
//
// A work item is 64 bytes.
#include "megcc_kernel.h"
#include "megcc_move.h"
#include "op/copy.h"

#ifndef MEGCC_SYMBOL
#define MEGCC_SYMBOL megcc_copy
#endif

enum { BLOCK = 64 };

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  (void)workspace;
  const size_t from = (size_t)begin * BLOCK, bytes = (size_t)attr[COPY_BYTES];
  const size_t to = (size_t)end * BLOCK < bytes ? (size_t)end * BLOCK : bytes;
  if (from < to)
    megcc_copy_bytes((uint8_t *)ptr[1] + from, (const uint8_t *)ptr[0] + from, to - from);
}
