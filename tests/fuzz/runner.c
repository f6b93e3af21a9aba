// Runs many models that are linked into this program: jobs come from one file, results go to one.
//
//   runner JOBS RESULTS FIRST
//
// A job is a model's image and a row of runs in one context, each with shapes and values of its
// own. After every run its results are flushed, so that whoever started this program knows which
// run it died in, and starts it again at the next job. Everything is 32-bit words of this machine;
// data is padded to 8 bytes.
#define _POSIX_C_SOURCE 200112L
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "megcc.h"
#include "models.h"  // kModels: the kernel tables, in the order of their numbers

enum { MARK = 0x46555a5a, BEGUN = 99 };

// Where a run ended that gave no answer.
enum stage { FINE, OPEN, CREATE, SHAPE, ARENA, INPUT, OUTPUT, RUN, READ, AGAIN, RELEASE };

static const char *at;
static FILE *sink;

static uint32_t word(void) {
  uint32_t value;
  memcpy(&value, at, 4);
  at += 4;
  return value;
}

static const void *bytes(uint32_t n) {
  const void *data = at;
  at += (n + 7u) & ~7u;
  return data;
}

static void put(uint32_t value) { fwrite(&value, 4, 1, sink); }

// A block of exactly this size, so that sanitizers see its end.
static void *block(size_t n) {
  void *data = NULL;
  if (posix_memalign(&data, MEGCC_ALIGNMENT, n ? n : 1) != 0) exit(9);
  memset(data, 0xA5, n);
  return data;
}

// What has more bytes is there to be refused.
static int fits(size_t n) { return n <= (size_t)1 << 28; }

static void *allocate(void *user, size_t n) {
  (void)user;
  return fits(n) ? block(n) : NULL;
}

static void release(void *user, void *data, size_t n) {
  (void)user;
  (void)n;
  free(data);
}

// Seven pieces, the last one first, each by another worker: what a pool of threads may do, in an
// order that is never usual.
static void backwards(void *user, megcc_range_fn range, const void *task, int32_t work,
                      int32_t grain, uint32_t workers) {
  const int32_t step = work / 7 + 1;
  int32_t begin = (work - 1) / step * step;
  uint32_t worker = 0;
  (void)user, (void)grain;
  for (; work > 0 && begin >= 0; begin -= step) {
    range(task, worker++ % workers, begin, begin + step < work ? begin + step : work);
  }
}

enum { MAX_PORTS = 256 };

// `output[i]` is one more than the number of the output that shares an input's memory, or 0. Such
// an input, a state, stays in its memory from run to run; `before` and `after` are what was there
// when the present run began, and when it had ended.
struct run {
  megcc_context_t *context;
  void *arena, *inputs[MAX_PORTS], *outputs[MAX_PORTS], *before[MAX_PORTS], *after[MAX_PORTS];
  size_t bytes[MAX_PORTS];
  uint32_t n_inputs, n_outputs, output[MAX_PORTS];
};

#define TRY(what, call)               \
  do {                                \
    const megcc_status_t s_ = (call); \
    if (s_ != MEGCC_OK) {             \
      *stage = (what);                \
      return s_;                      \
    }                                 \
  } while (0)

// A state is bound by its input, or, `by_output`, by its output.
static megcc_status_t bind_input(struct run *r, uint32_t i, int by_output) {
  if (r->output[i] && by_output) {
    return megcc_bind_output(r->context, r->output[i] - 1, r->inputs[i], r->bytes[i]);
  }
  return megcc_bind_input(r->context, i, r->inputs[i], r->bytes[i]);
}

static int is_state(const struct run *r, uint32_t output) {
  uint32_t i;
  for (i = 0; i < r->n_inputs; ++i) {
    if (r->output[i] == output + 1) return 1;
  }
  return 0;
}

// All states at once, to or from copies of them.
static void copy_states(const struct run *r, void *const *to, void *const *from) {
  uint32_t i;
  for (i = 0; i < r->n_inputs; ++i) {
    if (r->output[i]) memcpy(to[i], from[i], r->bytes[i]);
  }
}

static void release_input(struct run *r, uint32_t i) {
  free(r->inputs[i]);
  free(r->before[i]);
  free(r->after[i]);
  r->inputs[i] = r->before[i] = r->after[i] = NULL;
}

// One with states goes on with what is in their memory, unless `anew`.
static megcc_status_t prepare(struct run *r, const uint32_t *const *inputs, int anew, int by_output,
                              enum stage *stage) {
  size_t n;
  uint32_t i;
  for (i = 0; i < r->n_inputs; ++i) {
    TRY(SHAPE, megcc_set_input_shape(r->context, i, (int32_t)inputs[i][0],
                                     (const int32_t *)(inputs[i] + 1)));
  }
  TRY(ARENA, megcc_arena_bytes(r->context, &n));
  TRY(ARENA, fits(n) ? MEGCC_OK : MEGCC_ERR_MEMORY);
  r->arena = block(n);
  TRY(ARENA, megcc_set_arena(r->context, r->arena, n));
  for (i = 0; i < r->n_inputs; ++i) {
    const uint32_t rank = inputs[i][0], size = inputs[i][1 + rank];
    if (anew) release_input(r, i);
    if (r->inputs[i] == NULL) {
      r->inputs[i] = block(size);
      r->before[i] = block(size);
      r->after[i] = block(size);
      r->bytes[i] = size;
      memcpy(r->inputs[i], inputs[i] + 2 + rank + (rank & 1), size);
    }
    TRY(INPUT, bind_input(r, i, by_output));
  }
  copy_states(r, r->before, r->inputs);
  for (i = 0; i < r->n_outputs; ++i) {
    megcc_tensor_info_t t;
    megcc_status_t status;
    if (is_state(r, i)) continue;
    TRY(OUTPUT, megcc_output_info(r->context, i, &t));
    TRY(OUTPUT, fits(t.bytes) ? MEGCC_OK : MEGCC_ERR_MEMORY);
    r->outputs[i] = block(t.bytes);
    status = megcc_bind_output(r->context, i, r->outputs[i], t.bytes);
    if (status != MEGCC_ERR_DATA) TRY(OUTPUT, status);
  }
  TRY(RUN, megcc_run(r->context));
  return MEGCC_OK;
}

// Writes the outputs; `before` (may be null) collects their bytes.
static megcc_status_t collect(const struct run *r, enum stage *stage, char **text, size_t *length) {
  FILE *file = sink, *memory = tmpfile();
  uint32_t i;
  megcc_status_t status = MEGCC_OK;
  sink = memory;
  for (i = 0; i < r->n_outputs && status == MEGCC_OK; ++i) {
    static const char kPadding[8];
    megcc_tensor_info_t t;
    const void *data = NULL;
    int32_t d;
    status = megcc_output_info(r->context, i, &t);
    if (status == MEGCC_OK) status = megcc_output_data(r->context, i, &data);
    if (status != MEGCC_OK) break;
    put((uint32_t)t.dtype);
    put((uint32_t)t.rank);
    for (d = 0; d < t.rank; ++d) put((uint32_t)t.dims[d]);
    put((uint32_t)t.bytes);
    if (t.bytes) fwrite(data, 1, t.bytes, sink);
    fwrite(kPadding, 1, (8 - t.bytes % 8) % 8, sink);
  }
  sink = file;
  *stage = READ;
  *length = (size_t)ftell(memory);
  *text = (char *)malloc(*length + 1);
  rewind(memory);
  if (fread(*text, 1, *length, memory) != *length) exit(9);
  fclose(memory);
  return status;
}

static void answer(uint32_t job, uint32_t number, uint32_t stage, uint32_t status, uint32_t outputs,
                   const char *text, size_t length) {
  put(MARK);
  put(job);
  put(number);
  put(stage);
  put(status);
  put(outputs);
  put((uint32_t)length);
  if (length) fwrite(text, 1, length, sink);
  fflush(sink);
}

// One run, then the same again in pieces: run `2 * number` and, where it differs, the next.
static void run_once(uint32_t job, uint32_t number, struct run *r, const uint32_t *const *inputs,
                     int anew) {
  enum stage stage = FINE;
  char *first = NULL, *second = NULL;
  size_t length = 0, other = 0;
  uint32_t i;
  megcc_status_t status;
  answer(job, 2 * number, BEGUN, 0, 0, NULL, 0);
  status = prepare(r, inputs, anew, job & 1, &stage);
  if (status == MEGCC_OK) status = collect(r, &stage, &first, &length);
  if (status != MEGCC_OK) {
    answer(job, 2 * number, stage, status, 0, NULL, 0);
  } else {
    answer(job, 2 * number, FINE, MEGCC_OK, r->n_outputs, first, length);
    answer(job, 2 * number + 1, BEGUN, 0, 0, NULL, 0);
    megcc_set_parallel(r->context, backwards, NULL);
    copy_states(r, r->after, r->inputs);
    copy_states(r, r->inputs, r->before);
    status = megcc_run(r->context);
    stage = AGAIN;
    if (status == MEGCC_OK) status = collect(r, &stage, &second, &other);
    if (status != MEGCC_OK) {
      answer(job, 2 * number + 1, AGAIN, status, 0, NULL, 0);
    } else if (other != length || memcmp(first, second, length) != 0) {
      answer(job, 2 * number + 1, FINE, MEGCC_OK, r->n_outputs, second, other);
    }
    megcc_set_parallel(r->context, NULL, NULL);
    copy_states(r, r->inputs, r->after);
  }
  free(first);
  free(second);
  free(r->arena);
  r->arena = NULL;
  for (i = 0; i < MAX_PORTS; ++i) {
    // Of a run that failed nobody knows what its states are.
    if (!r->output[i] || status != MEGCC_OK) release_input(r, i);
    free(r->outputs[i]);
    r->outputs[i] = NULL;
  }
}

static void run_job(uint32_t job, int skip) {
  const uint32_t number = word(), image_bytes = word();
  const void *data = bytes(image_bytes);
  const uint32_t runs = word();
  void *aligned = block(image_bytes), *mem = NULL, *handle = block(MEGCC_MODEL_BYTES);
  struct run r;
  megcc_image_t image;
  megcc_model_t *model = NULL;
  megcc_status_t status;
  size_t n;
  uint32_t k;
  word();
  memcpy(aligned, data, image_bytes);
  memset(&r, 0, sizeof r);
  status = megcc_image_from_bytes(aligned, image_bytes, &image);
  if (status == MEGCC_OK && !skip) {
    status = megcc_model_open(&image, kModels[number], handle, MEGCC_MODEL_BYTES, &model);
    if (status == MEGCC_OK) status = megcc_context_bytes(model, &n);
    if (status == MEGCC_OK) {
      mem = block(n);
      status = megcc_context_create(model, mem, n, &r.context);
    }
    if (status == MEGCC_OK) status = megcc_set_allocator(r.context, allocate, release, NULL);
    if (status == MEGCC_OK) {
      megcc_input_count(model, &r.n_inputs);
      megcc_output_count(model, &r.n_outputs);
      for (k = 0; k < r.n_inputs; ++k) {
        uint32_t output;
        if (megcc_state_output(model, k, &output) == MEGCC_OK) r.output[k] = output + 1;
      }
    } else {
      answer(job, 0, OPEN, status, 0, NULL, 0);
    }
  }
  for (k = 0; k < runs; ++k) {
    const uint32_t *inputs[MAX_PORTS];
    const uint32_t count = word(), goes_on = word();
    uint32_t i;
    for (i = 0; i < count; ++i) {
      inputs[i] = (const uint32_t *)at;
      at += 8 + inputs[i][0] * 4 + (inputs[i][0] & 1) * 4;
      bytes(inputs[i][1 + inputs[i][0]]);
    }
    if (!skip && status == MEGCC_OK) run_once(job, k, &r, inputs, !goes_on);
  }
  for (k = 0; k < MAX_PORTS; ++k) release_input(&r, k);
  if (r.context != NULL) megcc_release(r.context);
  free(aligned);
  free(handle);
  free(mem);
}

int main(int argc, char **argv) {
  FILE *f;
  long size;
  char *all;
  uint32_t jobs, job;
  if (argc != 4 || (f = fopen(argv[1], "rb")) == NULL) return 9;
  fseek(f, 0, SEEK_END);
  size = ftell(f);
  rewind(f);
  all = (char *)block((size_t)size);
  if (fread(all, 1, (size_t)size, f) != (size_t)size) return 9;
  fclose(f);
  sink = fopen(argv[2], "ab");
  if (sink == NULL) return 9;
  at = all;
  jobs = word();
  word();
  for (job = 0; job < jobs; ++job) run_job(job, job < (uint32_t)strtoul(argv[3], NULL, 10));
  fclose(sink);
  free(all);
  return 0;
}
