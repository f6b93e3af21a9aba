// kernel: lut_neon
// op: lut
// dtype: x=i8,u8 table=i8,u8
// arch: arm64
// isa: none
// rank: 10
// inplace: x
// work: size
// cost: 1
//
// Sixteen bytes at a time from the table in sixteen registers: an index into another quarter of it
// is out of range and leaves what is there (`tbx`). The last bytes go one by one.
#include <arm_neon.h>

#include "megcc_kernel.h"
#include "op/lut.h"

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  const uint8_t *x = ptr[0], *table = ptr[1];
  uint8_t *y = ptr[2];
  const uint8x16x4_t t0 = vld1q_u8_x4(table), t1 = vld1q_u8_x4(table + 64);
  const uint8x16x4_t t2 = vld1q_u8_x4(table + 128), t3 = vld1q_u8_x4(table + 192);
  int32_t i = begin;
  (void)attr, (void)workspace;
  for (; end - i >= 16; i += 16) {
    const uint8x16_t at = vld1q_u8(x + i);
    uint8x16_t v = vqtbl4q_u8(t0, at);
    v = vqtbx4q_u8(v, t1, veorq_u8(at, vdupq_n_u8(64)));
    v = vqtbx4q_u8(v, t2, veorq_u8(at, vdupq_n_u8(128)));
    v = vqtbx4q_u8(v, t3, veorq_u8(at, vdupq_n_u8(192)));
    vst1q_u8(y + i, v);
  }
  for (; i < end; ++i) y[i] = table[x[i]];
}
