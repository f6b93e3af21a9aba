// How long runs took, and each of their calls.
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

struct call_time {
  const char *name, *kernel;
  double ms;
  uint32_t call;
};

void on_call(void *user, megcc_event_t event, uint32_t call, const char *name, const char *kernel) {
  struct profile *p = (struct profile *)user;
  if (event == MEGCC_CALL_END) {
    p->calls[call].ms += now_ms() - p->begin;
    return;
  }
  if (call >= p->capacity) {
    const size_t capacity = 2 * (size_t)call + 64;
    struct call_time *calls = (struct call_time *)allocate(capacity * sizeof *calls);
    if (p->count > 0) memcpy(calls, p->calls, p->count * sizeof *calls);
    p->calls = calls;
    p->capacity = capacity;
  }
  // A branch leaves out calls, which may come in a later run.
  if (call >= p->count) p->count = (size_t)call + 1;
  if (p->calls[call].name == NULL) {
    p->calls[call].name = name;
    p->calls[call].kernel = kernel;
    p->calls[call].call = call;
  }
  p->begin = now_ms();
}

static int slower_first(const void *a, const void *b) {
  const struct call_time *x = (const struct call_time *)a, *y = (const struct call_time *)b;
  if (x->ms != y->ms) return x->ms < y->ms ? 1 : -1;
  return x->call < y->call ? -1 : x->call > y->call;
}

void print_profile(struct profile *p, long runs) {
  double total = 0;
  size_t i;
  for (i = 0; i < p->count; ++i) total += p->calls[i].ms;
  if (p->count > 0) qsort(p->calls, p->count, sizeof *p->calls, slower_first);
  printf("profile: %lu calls, mean of %ld runs\n", (unsigned long)p->count, runs);
  for (i = 0; i < p->count; ++i) {
    const struct call_time *c = p->calls + i;
    if (c->name == NULL) continue;
    printf("%10.4f ms %5.1f %% call %4lu %s  %s\n", c->ms / (double)runs,
           total > 0 ? 100 * c->ms / total : 0.0, (unsigned long)c->call, c->kernel, c->name);
  }
}
