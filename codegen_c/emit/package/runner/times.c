// How long runs took.
#include "runner.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

double now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static int ascending(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return x < y ? -1 : x > y;
}

void print_times(const double *times, long repeat) {
  double *sorted = (double *)allocate((size_t)repeat * sizeof *sorted);
  memcpy(sorted, times, (size_t)repeat * sizeof *sorted);
  qsort(sorted, (size_t)repeat, sizeof *sorted, ascending);
  printf("time: min %.3f ms, median %.3f ms of %ld runs\n", sorted[0], sorted[repeat / 2], repeat);
}
