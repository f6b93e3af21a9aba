// Products of 8-bit integers by vmladava, 16 in an instruction: the inner part of qconv2d and
// qmatmul on Cortex-M with Helium.
//
// Data is signed bytes as they are (u8 less 128, in a copy); what the zero point adds is in the
// bias (packing.py, qgemm_bias and qmatmul_bias). Weights are packed in panels of NR columns
// (qgemm_lines and qmatmul_panels): of every 16 k the columns side by side. Loops are
// tail-predicated (dlstp, letp): no byte behind the last k is read, and lanes there are 0.
#ifndef MEGCC_QGEMM_MVE_H
#define MEGCC_QGEMM_MVE_H

#include "simd/megcc_mve_bytes.h"
#include "simd/megcc_requant_mve.h"

#ifndef X
#define X i8
#endif

#define NR 3         // columns of a panel
#define MEGCC_KR 16  // k of an instruction
#define MEGCC_QGEMM_FLIP 1

// Copies `count` bytes of X as signed ones; gives the end.
MEGCC_INLINE int8_t *megcc_mve_copy(int8_t *to, const MEGCC_CTYPE(X) * x, int32_t count) {
  if (count <= 0) return to;
  if (MEGCC_IS_UNSIGNED(X)) {
    megcc_mve_signed(to, x, count);
  } else {
    megcc_mve_move(to, x, count);
  }
  return to + count;
}

// What a product is with, besides its lines.
typedef struct {
  const int8_t *panels;
  const int32_t *bias;
  int32_t k, columns, channel;  // columns, and the number of the first among the channels
  int32_t *sums;                // megcc_mve_room(columns) for each line
  const megcc_rescale *rescale;
  size_t ld;  // elements of Y from a line's first column to the next line's
} megcc_mve_product;

MEGCC_INLINE int32_t megcc_mve_room(int32_t columns) { return (columns + NR - 1) / NR * NR; }

// The sums of one line by the columns of a panel, from their biases on; gives the panel's end.
// s0 s1 s2: of the columns, in even registers; q0 data, q1 to q3 weights.
MEGCC_INLINE const int8_t *megcc_mve_one(const int8_t *a, const int8_t *w, int32_t k, int32_t s0,
                                         int32_t s1, int32_t s2, int32_t *to) {
  __asm__ volatile(
      "dlstp.8 lr, %[k]\n"
      "1:\n\t"
      "vldrb.8 q0, [%[a]], #16\n\t"
      "vldrb.8 q1, [%[w]], #16\n\t"
      "vmladava.s8 %[s0], q0, q1\n\t"
      "vldrb.8 q2, [%[w]], #16\n\t"
      "vmladava.s8 %[s1], q0, q2\n\t"
      "vldrb.8 q3, [%[w]], #16\n\t"
      "vmladava.s8 %[s2], q0, q3\n\t"
      "letp lr, 1b"
      : [s0] "+Te"(s0), [s1] "+Te"(s1), [s2] "+Te"(s2), [a] "+r"(a), [w] "+r"(w)
      : [k] "r"(k)
      : "lr", "q0", "q1", "q2", "q3", "memory");
  to[0] = s0, to[1] = s1, to[2] = s2;
  return w;
}

// The same of two lines: s0 s1 s2 of the first, t0 t1 t2 of the second, whose sums stand behind it;
// q0 and q1 data, q2 and q3 weights.
MEGCC_INLINE const int8_t *megcc_mve_two(const int8_t *a, const int8_t *b, const int8_t *w,
                                         int32_t k, int32_t s0, int32_t s1, int32_t s2, int32_t *to,
                                         int32_t *next) {
  int32_t t0 = s0, t1 = s1, t2 = s2;
  __asm__ volatile(
      "dlstp.8 lr, %[k]\n"
      "1:\n\t"
      "vldrb.8 q0, [%[a]], #16\n\t"
      "vldrb.8 q2, [%[w]], #16\n\t"
      "vmladava.s8 %[s0], q0, q2\n\t"
      "vldrb.8 q1, [%[b]], #16\n\t"
      "vmladava.s8 %[t0], q1, q2\n\t"
      "vldrb.8 q3, [%[w]], #16\n\t"
      "vmladava.s8 %[s1], q0, q3\n\t"
      "vldrb.8 q2, [%[w]], #16\n\t"
      "vmladava.s8 %[t1], q1, q3\n\t"
      "vmladava.s8 %[s2], q0, q2\n\t"
      "vmladava.s8 %[t2], q1, q2\n\t"
      "letp lr, 1b"
      : [s0] "+Te"(s0), [s1] "+Te"(s1), [s2] "+Te"(s2), [t0] "+Te"(t0), [t1] "+Te"(t1),
        [t2] "+Te"(t2), [a] "+r"(a), [b] "+r"(b), [w] "+r"(w)
      : [k] "r"(k)
      : "lr", "q0", "q1", "q2", "q3", "memory");
  to[0] = s0, to[1] = s1, to[2] = s2;
  next[0] = t0, next[1] = t1, next[2] = t2;
  return w;
}

// The sums of one line, or of two, by all columns.
MEGCC_HOT static void megcc_mve_sums_one(const megcc_mve_product *p, const int8_t *line) {
  const int8_t *w = p->panels;
  const int32_t *bias = p->bias;
  int32_t *to = p->sums, left = p->columns;
  for (; left >= NR; left -= NR, to += NR, bias += NR) {
    w = megcc_mve_one(line, w, p->k, bias[0], bias[1], bias[2], to);
  }
  if (left > 0) megcc_mve_one(line, w, p->k, bias[0], left > 1 ? bias[1] : 0, 0, to);
}
MEGCC_HOT static void megcc_mve_sums_two(const megcc_mve_product *p, const int8_t *line,
                                         const int8_t *second) {
  const int8_t *w = p->panels;
  const int32_t *bias = p->bias;
  int32_t *to = p->sums, *next = to + megcc_mve_room(p->columns), left = p->columns;
  for (; left >= NR; left -= NR, to += NR, next += NR, bias += NR) {
    w = megcc_mve_two(line, second, w, p->k, bias[0], bias[1], bias[2], to, next);
  }
  if (left > 0) {
    megcc_mve_two(line, second, w, p->k, bias[0], left > 1 ? bias[1] : 0, 0, to, next);
  }
}

// One or two lines by all columns, as elements of the output; `second` NULL: one.
MEGCC_INLINE void megcc_mve_lines(const megcc_mve_product *p, const int8_t *line,
                                  const int8_t *second, MEGCC_CTYPE(Y) * dst) {
  if (second == NULL) {
    megcc_mve_sums_one(p, line);
  } else {
    megcc_mve_sums_two(p, line, second);
    megcc_mve_row(p->rescale, p->sums + megcc_mve_room(p->columns), p->channel, p->columns,
                  dst + p->ld);
  }
  megcc_mve_row(p->rescale, p->sums, p->channel, p->columns, dst);
}

// The bias for a zero point that is known now: a packed one is followed by the weights' sums.
MEGCC_INLINE const int32_t *megcc_mve_bias(const int32_t *bias, int32_t n,
                                           const MEGCC_CTYPE(X) * point, int32_t *to) {
  if (!ZERO) return bias;
  const int32_t zero = point[0] - (MEGCC_IS_UNSIGNED(X) ? 128 : 0);
  for (int32_t c = 0; c < n; ++c) {
    to[c] = (int32_t)((uint32_t)bias[c] - (uint32_t)zero * (uint32_t)bias[n + c]);
  }
  return to;
}

#endif  // MEGCC_QGEMM_MVE_H
