// The method "times" of a TVM library: how long the model and each of its calls take, measured here
// and returned as text, so that it works over RPC, where nobody can be called back.
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200112L  // clock_gettime
#endif
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "tvm_library.h"

typedef struct {
  char *text;
  size_t used, bytes;
  struct timespec begin;
  int failed;  // for want of memory
} times_t;

static double nanoseconds_since(struct timespec begin) {
  struct timespec end;
  clock_gettime(CLOCK_MONOTONIC, &end);
  return (double)(end.tv_sec - begin.tv_sec) * 1e9 + (double)(end.tv_nsec - begin.tv_nsec);
}

// Adds a line "who nanoseconds"; who is a call's number, or -1 for the whole model.
static void add_line(times_t *t, long who, double nanoseconds) {
  enum { kLine = 64 };
  if (t->used + kLine > t->bytes) {
    char *more = (char *)realloc(t->text, 2 * t->bytes + 4096);
    if (more == NULL) {
      t->failed = 1;
      return;
    }
    t->text = more;
    t->bytes = 2 * t->bytes + 4096;
  }
  t->used += (size_t)snprintf(t->text + t->used, kLine, "%ld %.0f\n", who, nanoseconds);
}

static void on_call(void *user, megcc_event_t event, uint32_t call, const char *name,
                    const char *kernel) {
  times_t *t = (times_t *)user;
  (void)name;
  (void)kernel;
  if (event == MEGCC_CALL_END) {
    add_line(t, (long)call, nanoseconds_since(t->begin));
  } else {
    clock_gettime(CLOCK_MONOTONIC, &t->begin);
  }
}

int execution_times(execution_t *e, const TVMFFIAny *count, run_fn run, TVMFFIAny *result) {
  times_t t = {NULL, 0, 0, {0, 0}, 0};
  if (count->type_index != kTVMFFIInt || count->v_int64 < 1) {
    return raise_error("TypeError", "times takes a number of runs");
  }
  int status = run(e);  // the first one is not timed
  for (int64_t k = 0; k < count->v_int64 && status == 0; ++k) {
    struct timespec begin;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    status = run(e);
    add_line(&t, -1, nanoseconds_since(begin));
  }
  (void)megcc_set_profile(e->context, on_call, &t);
  for (int64_t k = 0; k < count->v_int64 && status == 0; ++k) status = run(e);
  if (status == 0 && t.failed) status = raise_error("MemoryError", "no memory for the times");
  if (status == 0) status = return_string(result, t.text);
  free(t.text);
  return status;
}
