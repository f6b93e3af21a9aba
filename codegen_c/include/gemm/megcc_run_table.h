// Addresses of runs of bytes that are read in pieces of 16 bytes, so past their end: for products
// of 8-bit integers, whose packed weights are 0 there. Where that would be past the end of the
// tensor, a run is read in a copy of the tensor's last bytes.
#ifndef MEGCC_RUN_TABLE_H
#define MEGCC_RUN_TABLE_H

#include "megcc_kernel.h"

#define MEGCC_RUN_PIECE 16

typedef struct {
  const uint8_t *x;
  ptrdiff_t safe;       // last place in x from which a whole run can be read
  const uint8_t *tail;  // the bytes from place `from` on, and room behind them
  ptrdiff_t from;
} megcc_runs_t;

// Bytes that are read of a run.
MEGCC_INLINE size_t megcc_run_room(size_t length) {
  return (length + MEGCC_RUN_PIECE - 1) / MEGCC_RUN_PIECE * MEGCC_RUN_PIECE;
}

typedef uint64_t __attribute__((aligned(1), may_alias)) megcc_run_word;

// Eight bytes at a time, the last eight of them over some that have been copied: borders are copied
// for every image. Compiled for size, for all that: the loops are short.
MEGCC_COLD static void megcc_run_copy(uint8_t *to, const uint8_t *from, size_t count) {
  const size_t last = count - sizeof(megcc_run_word);
  if (count < sizeof(megcc_run_word)) {
    for (size_t i = 0; i < count; ++i) to[i] = from[i];
    return;
  }
  for (size_t i = 0; i < last; i += sizeof(megcc_run_word))
    *(megcc_run_word *)(to + i) = *(const megcc_run_word *)(from + i);
  *(megcc_run_word *)(to + last) = *(const megcc_run_word *)(from + last);
}

// Runs of `run` bytes in `size` bytes at x, of each of which `need` are read. `tail` has room for
// 2 * `need`.
MEGCC_INLINE megcc_runs_t megcc_runs(const uint8_t *x, size_t size, size_t run, size_t need,
                                     uint8_t *tail) {
  const size_t kept = need == run ? 0 : need < size ? need : size;
  megcc_runs_t v;
  v.x = x;
  v.safe = (ptrdiff_t)size - (ptrdiff_t)need;
  v.tail = tail;
  v.from = (ptrdiff_t)(size - kept);
  megcc_run_copy(tail, x + v.from, kept);
  return v;
}

// Addresses of runs at place `at` and every `step` bytes from there.
MEGCC_HOT static void megcc_runs_fill(const megcc_runs_t *v, const uint8_t **entry, int32_t count,
                                      ptrdiff_t at, ptrdiff_t step) {
  int32_t k = 0;
  if (at + (count - 1) * step <= v->safe) {
    const uint8_t *p = v->x + at;
    for (; k < count; ++k, p += step) entry[k] = p;
  }
  for (; k < count; ++k) {
    const ptrdiff_t place = at + k * step;
    entry[k] = place <= v->safe ? v->x + place : v->tail + (place - v->from);
  }
}

#endif  // MEGCC_RUN_TABLE_H
