// kernel: lut_mve
// like: lut_ref
// arch: cortexm
// isa: mve
// rank: 10
// cost: 1
//
// Sixteen bytes at a time: one load gathers them from the table.
#include "megcc_kernel.h"
#include "op/lut.h"

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  const uint8_t *x = (const uint8_t *)ptr[0] + begin, *table = ptr[1];
  uint8_t *y = (uint8_t *)ptr[2] + begin;
  (void)attr, (void)workspace;
  if (end <= begin) return;
  __asm__ volatile(
      "dlstp.8 lr, %[n]\n"
      "1:\n\t"
      "vldrb.8 q0, [%[x]], #16\n\t"
      "vldrb.u8 q1, [%[table], q0]\n\t"
      "vstrb.8 q1, [%[y]], #16\n\t"
      "letp lr, 1b"
      : [x] "+r"(x), [y] "+r"(y)
      : [n] "r"(end - begin), [table] "r"(table)
      : "lr", "q0", "q1", "memory");
}
