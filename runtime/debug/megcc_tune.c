// Measures each call of a package's runs: see megcc_tune.h.
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200112L  // clock_gettime
#endif
#include "megcc_tune.h"

#include <megcc.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "marks.h"

static FILE *file;
static struct timespec begin;

static void stop(const char *what) {
  fprintf(stderr, "run: error: MEGCC_TUNE: %s\n", what);
  exit(1);
}

static void on_call(void *user, megcc_event_t event, uint32_t call, const char *name,
                    const char *kernel) {
  struct timespec end;
  (void)user;
  (void)name;
  (void)kernel;
  if (event == MEGCC_CALL_BEGIN) {
    clock_gettime(CLOCK_MONOTONIC, &begin);
    MEGCC_COUNT_BEGIN();
    return;
  }
  MEGCC_COUNT_END();
  clock_gettime(CLOCK_MONOTONIC, &end);
  fprintf(file, "%lu %.0f\n", (unsigned long)call,
          (double)(end.tv_sec - begin.tv_sec) * 1e9 + (double)(end.tv_nsec - begin.tv_nsec));
}

void megcc_tune_begin(megcc_context_t *context) {
  const char *path = getenv("MEGCC_TUNE");
  megcc_status_t status;
  file = path != NULL ? fopen(path, "w") : NULL;
  if (file == NULL) stop("cannot be opened");
  MEGCC_COUNT_BEGIN();
  status = megcc_run(context);
  MEGCC_COUNT_END();
  if (status != MEGCC_OK) stop("the run failed");
  if (megcc_set_profile(context, on_call, NULL) != MEGCC_OK) stop("no context");
}

void megcc_tune_end(megcc_context_t *context) {
  (void)megcc_set_profile(context, NULL, NULL);
  if (fclose(file) != 0) stop("cannot be written");
}
