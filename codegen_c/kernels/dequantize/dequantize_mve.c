// kernel: dequantize_mve X=i8
// like: dequantize_ref
// arch: cortexm
// isa: mve.fp
// when: scale > 2e-38
// rank: 10
// cost: 2
//
// Four elements at a time. Helium's vectors have no subnormal numbers.
#include "op/dequantize.h"
#include "simd/megcc_mve_bytes.h"

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  const uint8_t *x = (const uint8_t *)ptr[0] + begin;
  float *y = (float *)ptr[1] + begin;
  (void)workspace;
  if (end <= begin) return;
  __asm__ volatile(
      "dlstp.32 lr, %[n]\n"
      "1:\n\t" MEGCC_MVE_LOAD(X, 32) "q0, [%[x]], #4\n\t"
      "vsub.i32 q0, q0, %[zero]\n\t"
      "vcvt.f32.s32 q0, q0\n\t"
      "vmul.f32 q0, q0, %[scale]\n\t"
      "vstrw.32 q0, [%[y]], #16\n\t"
      "letp lr, 1b"
      : [x] "+l"(x), [y] "+r"(y)
      : [n] "r"(end - begin), [zero] "r"(attr[DEQUANTIZE_ZERO]), [scale] "r"(attr[DEQUANTIZE_SCALE])
      : "lr", "q0", "memory");
}
