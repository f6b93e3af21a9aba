// Bytes for Helium: loads that widen them, copies, and runs of one value. Loops are tail-predicated
// (dlstp, letp): no byte behind the last one is read or written.
#ifndef MEGCC_MVE_BYTES_H
#define MEGCC_MVE_BYTES_H

#include "megcc_dtype.h"
#include "megcc_kernel.h"

// The load, in assembly, that widens elements of a type to so many bits.
#define MEGCC_MVE_LOAD(dtype, bits) MEGCC_CAT(MEGCC_MVE_LOAD_, dtype)(bits)
#define MEGCC_MVE_LOAD_i8(bits) "vldrb.s" #bits " "
#define MEGCC_MVE_LOAD_u8(bits) "vldrb.u" #bits " "

// Copies `n` bytes, which are in q0 where `each` changes them; q1 is free.
#define MEGCC_MVE_COPY(to, from, n, before, each)          \
  __asm__ volatile(before                                  \
                   "dlstp.8 lr, %[count]\n"                \
                   "1:\n\t"                                \
                   "vldrb.8 q0, [%[source]], #16\n\t" each \
                   "vstrb.8 q0, [%[next]], #16\n\t"        \
                   "letp lr, 1b"                           \
                   : [source] "+r"(from), [next] "+r"(to)  \
                   : [count] "r"(n)                        \
                   : "lr", "q0", "q1", "memory")

MEGCC_INLINE void megcc_mve_move(void *to, const void *from, int32_t n) {
  if (n > 0) MEGCC_MVE_COPY(to, from, n, "", "");
}

// Unsigned bytes as signed ones: 128 less.
MEGCC_INLINE void megcc_mve_signed(void *to, const void *from, int32_t n) {
  if (n > 0) MEGCC_MVE_COPY(to, from, n, "vmov.i8 q1, #128\n\t", "veor q0, q0, q1\n\t");
}

// `count` bytes of one value; gives the end.
MEGCC_INLINE int8_t *megcc_mve_fill(int8_t *to, int8_t value, int32_t count) {
  if (count <= 0) return to;
  int8_t *next = to;
  __asm__ volatile(
      "vdup.8 q0, %[v]\n\t"
      "dlstp.8 lr, %[n]\n"
      "1:\n\t"
      "vstrb.8 q0, [%[to]], #16\n\t"
      "letp lr, 1b"
      : [to] "+l"(next)
      : [n] "r"(count), [v] "r"(value)
      : "lr", "q0", "memory");
  return to + count;
}

#endif  // MEGCC_MVE_BYTES_H
