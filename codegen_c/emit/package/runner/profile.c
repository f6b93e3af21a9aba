// The time of every kernel call, and where it is counted its instructions: as a table, and call by
// call as a trace.
#include "runner.h"

#include <stdlib.h>
#include <string.h>

struct call_time {
  const char *name, *kernel;
  double ms;
  uint64_t instructions;
  uint32_t call;
};

// From the beginning of a call, or of a worker's part of one, to its end.
struct event {
  double begin, end;
  uint64_t instructions;
  long run;
  uint32_t call;
  int32_t first, last;  // of a part: its range of the call's work
};

// One row of the trace. Each worker writes to its own only.
struct events {
  struct event *at;
  size_t count, capacity;
  int lost;
};

#define ROWS 257  // the calls, and 256 workers

static struct call_time *calls;
static size_t n_calls, capacity;
static struct events rows[ROWS];
static double began;
static uint64_t counted;
static uint32_t running;
static long run;
static const char *not_counted;
static int tracing;

static void add_event(uint32_t row, struct event event) {
  struct events *e = rows + row;
  if (e->count == e->capacity) {
    const size_t more = 2 * e->capacity + 1024;
    struct event *at = (struct event *)realloc(e->at, more * sizeof *at);
    if (at == NULL) {
      e->lost = 1;
      return;
    }
    e->at = at;
    e->capacity = more;
  }
  e->at[e->count++] = event;
}

static void free_events(void) {
  size_t i;
  for (i = 0; i < ROWS; ++i) free(rows[i].at);
}

static void on_call(void *user, megcc_event_t event, uint32_t call, const char *name,
                    const char *kernel) {
  (void)user;
  if (event == MEGCC_CALL_END) {
    const double end = now_ms();
    const uint64_t done = instructions_now() - counted;
    calls[call].ms += end - began;
    calls[call].instructions += done;
    if (tracing) {
      const struct event e = {began, end, done, run, call, 0, 0};
      add_event(0, e);
    }
    return;
  }
  if (call >= capacity) {
    const size_t more = 2 * (size_t)call + 64;
    struct call_time *grown = (struct call_time *)allocate(more * sizeof *grown);
    if (n_calls > 0) memcpy(grown, calls, n_calls * sizeof *grown);
    calls = grown;
    capacity = more;
  }
  // A branch leaves out calls, which may come in a later run.
  if (call >= n_calls) n_calls = (size_t)call + 1;
  if (calls[call].name == NULL) {
    calls[call].name = name;
    calls[call].kernel = kernel;
    calls[call].call = call;
  }
  running = call;
  counted = instructions_now();
  began = now_ms();
}

#ifdef MEGCC_THREADS
// Several threads call it at a time, each with the number of another worker.
static void note_part(uint32_t worker, double begin, double end, int32_t first, int32_t last) {
  const struct event e = {begin, end, 0, run, running, first, last};
  if (worker + 1 < ROWS) add_event(worker + 1, e);
}

struct part {
  megcc_range_fn range;
  const void *task;
};

static void run_part(const void *arg, uint32_t worker, int32_t begin, int32_t end) {
  const struct part *part = (const struct part *)arg;
  const double start = now_ms();
  part->range(part->task, worker, begin, end);
  note_part(worker, start, now_ms(), begin, end);
}

static void run_parts(void *user, megcc_range_fn range, const void *task, int32_t work,
                      int32_t grain, uint32_t workers) {
  struct part part;
  part.range = range;
  part.task = task;
  megcc_pool_run(user, run_part, &part, work, grain, workers);
}

// From here on the trace has every part of a call that a thread takes.
static void trace_parts(megcc_context_t *context) {
  if (thread_pool() != NULL) check(megcc_set_parallel(context, run_parts, thread_pool()), NULL);
}
#endif

void prepare_profile(const struct options *o) {
  if (o->profile || o->trace != NULL) not_counted = open_counter();
}

void begin_profile(const struct options *o, megcc_context_t *context) {
  if (!o->profile && o->trace == NULL) return;
  if (o->trace != NULL) {
    tracing = 1;
    atexit(free_events);
#ifdef MEGCC_THREADS
    trace_parts(context);
#endif
  }
  check(megcc_set_profile(context, on_call, NULL), NULL);
}

void begin_run(long number) { run = number; }

static int slower_first(const void *a, const void *b) {
  const struct call_time *x = (const struct call_time *)a, *y = (const struct call_time *)b;
  if (x->ms < y->ms || x->ms > y->ms) return x->ms < y->ms ? 1 : -1;
  return x->call < y->call ? -1 : x->call > y->call;
}

void print_profile(long runs) {
  struct call_time *sorted = (struct call_time *)allocate(n_calls * sizeof *sorted);
  double total = 0;
  size_t i;
  for (i = 0; i < n_calls; ++i) total += calls[i].ms;
  if (n_calls > 0) {
    memcpy(sorted, calls, n_calls * sizeof *sorted);
    qsort(sorted, n_calls, sizeof *sorted, slower_first);
  }
  printf("profile: %lu calls, mean of %ld runs\n", (unsigned long)n_calls, runs);
  for (i = 0; i < n_calls; ++i) {
    const struct call_time *c = sorted + i;
    if (c->name == NULL) continue;
    printf("%10.4f ms %5.1f %% ", c->ms / (double)runs, total > 0 ? 100 * c->ms / total : 0.0);
    if (not_counted == NULL) printf("%12.0f ", (double)c->instructions / (double)runs);
    printf("call %4lu %s  %s\n", (unsigned long)c->call, c->kernel, c->name);
  }
  if (not_counted != NULL) {
    printf("instructions are not counted: %s\n", not_counted);
  } else {
    printf("after the share: executed instructions\n");
  }
}

// ---- the trace: JSON as Chrome and Perfetto read it ------------------------------------------

static void put_text(FILE *f, const char *text) {
  const unsigned char *p;
  putc('"', f);
  for (p = (const unsigned char *)text; *p != 0; ++p) {
    if (*p < 0x20) {
      fprintf(f, "\\u%04x", (unsigned)*p);
    } else {
      if (*p == '"' || *p == '\\') putc('\\', f);
      putc(*p, f);
    }
  }
  putc('"', f);
}

// Machine, threads and shapes of the run.
static void put_facts(FILE *f, const struct options *o, const char *machine,
                      const megcc_model_t *model, const megcc_context_t *context) {
  uint32_t i, count;
  fprintf(f, "{\"tool\":\"tvm_megcc\",\"threads\":%lu,\"machine\":", o->threads);
  put_text(f, machine);
  fprintf(f, ",\"not_counted\":");
  put_text(f, not_counted != NULL ? not_counted : "");
  fprintf(f, ",\"inputs\":{");
  check(megcc_input_count(model, &count), NULL);
  for (i = 0; i < count; ++i) {
    megcc_tensor_info_t t;
    int32_t d;
    check(megcc_input_info(context, i, &t), NULL);
    if (i > 0) putc(',', f);
    put_text(f, t.name);
    fprintf(f, ":[");
    for (d = 0; d < t.rank; ++d) fprintf(f, "%s%ld", d ? "," : "", (long)t.dims[d]);
    putc(']', f);
  }
  fprintf(f, "}}");
}

static void put_row_name(FILE *f, uint32_t row) {
  fprintf(f, "{\"ph\":\"M\",\"pid\":1,\"tid\":%lu,\"name\":\"thread_name\",\"args\":{\"name\":",
          (unsigned long)row);
  if (row == 0) {
    fprintf(f, "\"calls\"}}");
  } else {
    fprintf(f, "\"worker %lu\"}}", (unsigned long)(row - 1));
  }
}

static void put_event(FILE *f, uint32_t row, const struct event *e, double start) {
  const struct call_time *c = calls + e->call;
  fprintf(
      f, ",\n{\"ph\":\"X\",\"pid\":1,\"tid\":%lu,\"ts\":%.3f,\"dur\":%.3f,\"cat\":\"%s\",\"name\":",
      (unsigned long)row, (e->begin - start) * 1e3, (e->end - e->begin) * 1e3,
      row == 0 ? "call" : "part");
  put_text(f, c->name);
  fprintf(f, ",\"args\":{\"run\":%ld,\"call\":%lu", e->run, (unsigned long)e->call);
  if (row == 0) {
    fprintf(f, ",\"kernel\":");
    put_text(f, c->kernel);
    if (not_counted == NULL) fprintf(f, ",\"instructions\":%.0f", (double)e->instructions);
  } else {
    fprintf(f, ",\"first\":%ld,\"last\":%ld", (long)e->first, (long)e->last);
  }
  fprintf(f, "}}");
}

void write_trace(const struct options *o, const char *machine, const megcc_model_t *model,
                 const megcc_context_t *context, const double *begins, const double *times) {
  FILE *f;
  uint32_t row;
  size_t i;
  long r;
  for (row = 0; row < ROWS; ++row) {
    if (rows[row].lost) fail("out of memory; trace fewer runs (--repeat)", "--trace");
  }
  f = create_file(o->trace);
  fprintf(f, "{\"displayTimeUnit\":\"ms\",\"otherData\":");
  put_facts(f, o, machine, model, context);
  fprintf(f, ",\n\"traceEvents\":[\n");
  put_row_name(f, 0);
  for (r = 0; r < o->repeat; ++r) {
    fprintf(f,
            ",\n{\"ph\":\"X\",\"pid\":1,\"tid\":0,\"ts\":%.3f,\"dur\":%.3f,\"cat\":\"run\","
            "\"name\":\"run %ld\",\"args\":{\"run\":%ld}}",
            (begins[r] - begins[0]) * 1e3, times[r] * 1e3, r, r);
  }
  for (row = 0; row < ROWS; ++row) {
    const struct events *e = rows + row;
    if (row > 0 && e->count > 0) {
      fprintf(f, ",\n");
      put_row_name(f, row);
    }
    for (i = 0; i < e->count; ++i) put_event(f, row, e->at + i, begins[0]);
  }
  fprintf(f, "\n]}\n");
  finish_file(f, o->trace);
}
