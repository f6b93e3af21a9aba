// kernel: lut_ref
// op: lut
// dtype: x=i8,u8 table=i8,u8
// arch: portable
// isa: none
// rank: 0
// inplace: x
// work: size
// cost: 8
//
// One byte after the other.
#include "megcc_kernel.h"
#include "op/lut.h"

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  const uint8_t *x = ptr[0], *table = ptr[1];
  uint8_t *y = ptr[2];
  (void)attr, (void)workspace;
  for (int32_t i = begin; i < end; ++i) y[i] = table[x[i]];
}
