// Runs the model from the command line: inputs from raw files or random, outputs to raw files,
// times, a profile. See `run --help`.
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200112L  // clock_gettime
#endif
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include MODEL_HEADER
#ifdef MEGCC_THREADS
#include "megcc_pool.h"
#endif

// Define these on the compiler's command line (-include hooks.h) to measure the timed runs, or to
// look at them: `context` is the megcc_context_t that runs.
#ifndef MEGCC_BENCH_BEGIN
#define MEGCC_BENCH_BEGIN() ((void)0)
#endif
#ifndef MEGCC_BENCH_END
#define MEGCC_BENCH_END() ((void)0)
#endif

#define MAX_INPUTS 1024
#define MAX_PATH 4096

struct options {
  const char *model;              // of a package with its model in a file
  const char *machine;            // of a package for several
  const char *input[MAX_INPUTS];  // name=file
  int n_inputs;
  const char *shape[MAX_INPUTS];  // name=dims
  int n_shapes;
  const char *input_dir;
  const char *output_dir;
  long repeat, warmup;
  unsigned long seed, threads;
  int profile;
};

static const char kUsage[] =
    "usage: run [--model FILE] [--input NAME=FILE]... [--inputs DIR] [--outputs DIR]\n"
    "           [--shape NAME=DIMS]... [--repeat N] [--warmup N] [--seed S] [--profile]\n"
    "           [--threads N] [--machine NAME]\n"
    "  --input NAME=FILE  raw little-endian values of one input; --inputs DIR: <number>.bin\n"
    "                     of all of them; an input without a file is random\n"
    "  --shape NAME=DIMS  dims of one input where the model leaves them open, as x=1,3,320,320\n"
    "  --outputs DIR      write <number>.bin, index.txt and times.txt (ms of each run)\n"
    "  --repeat N         timed runs (1); --warmup N: untimed runs before them (0)\n"
    "  --seed S           of random inputs (0)\n"
    "  --profile          time of every kernel call, slowest first\n"
    "  --model FILE       the model, where it is not linked in\n"
    "  --threads N        threads that compute (1), where it was built with THREADS=1\n"
    "  --machine NAME     of those that the package is for, the one to run; else the best\n";

static void fail(const char *what, const char *subject) {
  fflush(stdout);
  fprintf(stderr, "run: error: %s%s%s\n", subject ? subject : "", subject ? ": " : "", what);
  exit(1);
}

static void check(megcc_status_t status, const char *subject) {
  if (status != MEGCC_OK) fail(megcc_status_string(status), subject);
}

// Ends the program where a run failed, with the model's node that it was.
static void check_run(megcc_status_t status, megcc_context_t *context) {
  const char *node = NULL;
#if MODEL_CAN_FAIL
  uint32_t call;
  check(megcc_failed_call(context, &call, &node), NULL);
#else
  (void)context;
#endif
#if MODEL_HAS_SHAPES
  if (status != MEGCC_OK) check(megcc_release(context), NULL);
#endif
  check(status, node != NULL ? node : "run");
}

static double now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

// Every block starts with a pointer to the one before it, so that all can be freed at the end.
static void *last_block;

static void free_blocks(void) {
  while (last_block != NULL) {
    void *before = *(void **)last_block;
    free(last_block);
    last_block = before;
  }
}

// Zeroed memory aligned to MEGCC_ALIGNMENT; never null, lives until the end.
static void *allocate(size_t bytes) {
  char *raw;
  if (bytes > (size_t)-1 - 2 * MEGCC_ALIGNMENT) fail("out of memory", NULL);
  raw = (char *)calloc(1, bytes + 2 * MEGCC_ALIGNMENT);
  if (raw == NULL) fail("out of memory", NULL);
  *(void **)(void *)raw = last_block;
  last_block = raw;
  raw += sizeof(void *);
  return raw + (MEGCC_ALIGNMENT - (uintptr_t)raw % MEGCC_ALIGNMENT) % MEGCC_ALIGNMENT;
}

// ---- files ---------------------------------------------------------------------------------

static int exists(const char *path) {
  struct stat s;
  return stat(path, &s) == 0;
}

// Opens a regular file and tells its size.
static FILE *open_file(const char *path, size_t *bytes) {
  struct stat s;
  FILE *f = fopen(path, "rb");
  if (f == NULL || fstat(fileno(f), &s) != 0) fail(strerror(errno), path);
  if (!S_ISREG(s.st_mode)) fail("not a regular file", path);
  if ((uintmax_t)s.st_size > (size_t)-1) fail("too large for this machine", path);
  *bytes = (size_t)s.st_size;
  return f;
}

static void read_exactly(FILE *f, void *data, size_t bytes, const char *path) {
  if (bytes > 0 && fread(data, 1, bytes, f) != bytes) fail("cannot be read to its end", path);
  fclose(f);
}

static void write_file(const char *path, const void *data, size_t bytes) {
  FILE *f = fopen(path, "wb");
  if (f == NULL) fail(strerror(errno), path);
  if (bytes > 0 && fwrite(data, 1, bytes, f) != bytes) fail("cannot be written", path);
  if (fclose(f) != 0) fail(strerror(errno), path);
}

static void join(char *path, const char *dir, const char *name) {
  if (snprintf(path, MAX_PATH, "%s/%s", dir, name) >= MAX_PATH) fail("path is too long", dir);
}

static void numbered(char *path, const char *dir, uint32_t number) {
  char name[32];
  snprintf(name, sizeof name, "%lu.bin", (unsigned long)number);
  join(path, dir, name);
}

// ---- command line --------------------------------------------------------------------------

static unsigned long parse_number(const char *text, const char *option) {
  char *end;
  unsigned long value;
  errno = 0;
  value = strtoul(text, &end, 10);
  if (*text < '0' || *text > '9' || *end != 0 || errno != 0) {
    fail("takes a number without sign", option);
  }
  return value;
}

static struct options parse(int argc, char **argv) {
  struct options o;
  int i;
  memset(&o, 0, sizeof o);
  o.repeat = 1;
  o.threads = 1;
  for (i = 1; i < argc; ++i) {
    const char *a = argv[i], *v = i + 1 < argc ? argv[i + 1] : NULL;
    if (!strcmp(a, "--help") || !strcmp(a, "-h")) {
      fputs(kUsage, stdout);
      exit(0);
    }
    if (!strcmp(a, "--profile")) {
      o.profile = 1;
      continue;
    }
    if (strcmp(a, "--model") && strcmp(a, "--input") && strcmp(a, "--inputs") &&
        strcmp(a, "--shape") && strcmp(a, "--outputs") && strcmp(a, "--repeat") &&
        strcmp(a, "--warmup") && strcmp(a, "--seed") && strcmp(a, "--threads") &&
        strcmp(a, "--machine")) {
      fail("unknown option; see run --help", a);
    }
    if (v == NULL) fail("needs a value", a);
    ++i;
    if (!strcmp(a, "--model")) o.model = v;
    if (!strcmp(a, "--machine")) o.machine = v;
    if (!strcmp(a, "--inputs")) o.input_dir = v;
    if (!strcmp(a, "--outputs")) o.output_dir = v;
    if (!strcmp(a, "--repeat")) o.repeat = (long)parse_number(v, a);
    if (!strcmp(a, "--warmup")) o.warmup = (long)parse_number(v, a);
    if (!strcmp(a, "--seed")) o.seed = parse_number(v, a);
    if (!strcmp(a, "--threads")) o.threads = parse_number(v, a);
    if (!strcmp(a, "--input")) {
      if (o.n_inputs == MAX_INPUTS) fail("given too often", a);
      o.input[o.n_inputs++] = v;
    }
    if (!strcmp(a, "--shape")) {
      if (o.n_shapes == MAX_INPUTS) fail("given too often", a);
      o.shape[o.n_shapes++] = v;
    }
  }
  if (o.repeat < 1) fail("must be at least 1", "--repeat");
  if (o.threads < 1 || o.threads > 255) fail("must be from 1 to 255", "--threads");
  if ((unsigned long)o.repeat > (size_t)-1 / sizeof(double)) fail("is too large", "--repeat");
  return o;
}

// ---- model ---------------------------------------------------------------------------------

#if MODEL_HAS_MACHINES
// The kernels to open the model with, and in `name` for which machine they are.
static const megcc_kernels_t *find_kernels(const char *wanted, const char **name) {
  const megcc_kernels_t *kernels = &MODEL_KERNELS;
  if (wanted != NULL) check(megcc_machine_kernels(kernels, wanted, &kernels), wanted);
  check(megcc_machine_name(kernels, name), wanted != NULL ? wanted : MODEL_MACHINE);
  return kernels;
}
#else
static const megcc_kernels_t *find_kernels(const char *wanted, const char **name) {
  *name = MODEL_MACHINE;
  if (wanted != NULL && strcmp(wanted, *name)) fail("is not what this package is for", wanted);
  return &MODEL_KERNELS;
}
#endif

#ifdef MODEL_FILE
static megcc_image_t load_image(const char *path, const char *argv0, const char *machine) {
  static char beside[MAX_PATH];
  megcc_image_t image;
  size_t bytes;
  void *data;
  FILE *f;
  if (path == NULL) {  // the default lies beside the program
    const char *slash = strrchr(argv0, '/');
    const int dir = slash ? (int)(slash - argv0) + 1 : 0;
    if (snprintf(beside, sizeof beside, "%.*s" MODEL_FILE, dir, argv0, machine) >= MAX_PATH) {
      fail("path is too long", argv0);
    }
    path = beside;
  }
  f = open_file(path, &bytes);
  data = allocate(bytes);
  read_exactly(f, data, bytes, path);
  check(megcc_image_from_bytes(data, bytes, &image), path);
  return image;
}
#else
static megcc_image_t load_image(const char *path, const char *argv0, const char *machine) {
  (void)argv0, (void)machine;
  if (path != NULL) fail("this package has its model linked in", "--model");
  return MODEL_IMAGE;
}
#endif

// ---- inputs --------------------------------------------------------------------------------

static uint32_t random_bits(uint64_t *state) {  // splitmix64
  uint64_t z = *state += UINT64_C(0x9E3779B97F4A7C15);
  z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
  z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
  return (uint32_t)(z >> 32);
}

// Floats are in [-1, 1) in steps of 2^-8, which every float type but the smallest holds; integers
// are 0 or 1, as nothing more is known to be a valid index.
static void fill_random(void *data, const megcc_tensor_info_t *t, uint64_t *state) {
  const size_t size = megcc_dtype_bytes(t->dtype), n = t->bytes / size;
  size_t i;
  for (i = 0; i < n; ++i) {
    const uint32_t bits = random_bits(state);
    const float f = (float)((int32_t)(bits >> 23) - 256) / 256.0f;
    const double d = (double)f;
    // 0x11 is a small number of every 8-bit float, and one or two ones where elements are packed.
    const uint64_t integer = t->dtype >= MEGCC_F8E4M3FN ? bits >> 24 & 0x11 : bits >> 31;
    char *p = (char *)data + i * size;
    uint32_t f_bits;
    memcpy(&f_bits, &f, 4);
    if (t->dtype == MEGCC_F32) {
      memcpy(p, &f, 4);
    } else if (t->dtype == MEGCC_F64) {
      memcpy(p, &d, 8);
    } else if (t->dtype == MEGCC_BF16) {
      const uint16_t half = (uint16_t)(f_bits >> 16);
      memcpy(p, &half, 2);
    } else if (t->dtype == MEGCC_F16) {
      const uint32_t sign = f_bits >> 16 & 0x8000, magnitude = f_bits & 0x7FFFFFFF;
      const uint16_t half = (uint16_t)(sign | (magnitude ? (magnitude >> 13) - (112u << 10) : 0));
      memcpy(p, &half, 2);
    } else {
      memcpy(p, &integer, size);
    }
  }
}

// The latest of the options NAME=VALUE for this name, or null.
static const char *value_of(const char *const *options, int n, const char *name) {
  const size_t length = strlen(name);
  const char *found = NULL;
  int i;
  for (i = 0; i < n; ++i) {
    if (!strncmp(options[i], name, length) && options[i][length] == '=') {
      found = options[i] + length + 1;
    }
  }
  return found;
}

static const char *file_of_input(const struct options *o, const char *name, uint32_t number,
                                 char *path) {
  const char *found = value_of(o->input, o->n_inputs, name);
  if (found != NULL || o->input_dir == NULL) return found;
  numbered(path, o->input_dir, number);
  return exists(path) ? path : NULL;
}

static void check_input_names(const char *const *options, int n, const megcc_model_t *model) {
  int i;
  for (i = 0; i < n; ++i) {
    char name[MAX_PATH];
    const char *equals = options[i];
    uint32_t index;
    int known = 0;
    // A name may itself contain '=': any prefix that is an input will do.
    while (!known && (equals = strchr(equals, '=')) != NULL) {
      const size_t length = (size_t)(equals - options[i]);
      if (length >= sizeof name) break;
      memcpy(name, options[i], length);
      name[length] = 0;
      known = megcc_input_index(model, name, &index) == MEGCC_OK;
      ++equals;
    }
    if (!known) fail("the model has no such input (expected NAME=...)", options[i]);
  }
}

static void bind_inputs(const struct options *o, const megcc_model_t *model,
                        megcc_context_t *context) {
  uint64_t state = o->seed;
  uint32_t i, count;
  check(megcc_input_count(model, &count), NULL);
  check_input_names(o->input, o->n_inputs, model);
  if (o->input_dir != NULL && !exists(o->input_dir)) fail(strerror(errno), o->input_dir);
  for (i = 0; i < count; ++i) {
    char path[MAX_PATH];
    const char *file;
    megcc_tensor_info_t t;
    void *data;
    check(megcc_input_info(context, i, &t), NULL);
    data = allocate(t.bytes);
    file = file_of_input(o, t.name, i, path);
    if (file != NULL) {
      size_t bytes;
      FILE *f = open_file(file, &bytes);
      if (bytes != t.bytes) {
        fprintf(stderr, "run: error: %s: input '%s' takes %lu bytes, the file has %lu\n", file,
                t.name, (unsigned long)t.bytes, (unsigned long)bytes);
        exit(1);
      }
      read_exactly(f, data, bytes, file);
    } else {
      fill_random(data, &t, &state);
    }
    check(megcc_bind_input(context, i, data, t.bytes), t.name);
  }
}

// ---- outputs -------------------------------------------------------------------------------

static double value_at(const void *data, megcc_dtype_t dtype, size_t i) {
  const char *p = (const char *)data + i * megcc_dtype_bytes(dtype);
  switch ((int)dtype) {  // the others are not printed
#define VALUE(code, type)    \
  case code: {               \
    type v;                  \
    memcpy(&v, p, sizeof v); \
    return (double)v;        \
  }
    VALUE(MEGCC_F32, float)
    VALUE(MEGCC_F64, double)
    VALUE(MEGCC_BOOL, uint8_t)
    VALUE(MEGCC_I8, int8_t)
    VALUE(MEGCC_U8, uint8_t)
    VALUE(MEGCC_I16, int16_t)
    VALUE(MEGCC_U16, uint16_t)
    VALUE(MEGCC_I32, int32_t)
    VALUE(MEGCC_U32, uint32_t)
    VALUE(MEGCC_I64, int64_t)
    VALUE(MEGCC_U64, uint64_t)
#undef VALUE
    case MEGCC_BF16:
    case MEGCC_F16: {
      uint16_t half;
      uint32_t bits;
      float f;
      memcpy(&half, p, 2);
      bits = (uint32_t)half << 16;
      if (dtype == MEGCC_F16) {
        const uint32_t exponent = half >> 10 & 31, fraction = half & 1023;
        const double sign = half & 0x8000 ? -1.0 : 1.0;
        if (exponent == 0) return sign * (double)fraction / 16777216.0;
        bits = (uint32_t)(half & 0x8000) << 16 | fraction << 13 |
               (exponent == 31 ? 255u : exponent + 112) << 23;
      }
      memcpy(&f, &bits, 4);
      return (double)f;
    }
  }
  return 0;
}

static void summarise(uint32_t number, const megcc_tensor_info_t *t, const void *data) {
  const size_t n = t->bytes / megcc_dtype_bytes(t->dtype);
  double least = 0, most = 0, sum = 0;
  size_t i, where = 0;
  int32_t d;
  printf("output %lu '%s' %s [", (unsigned long)number, t->name, megcc_dtype_name(t->dtype));
  for (d = 0; d < t->rank; ++d) printf("%s%ld", d ? ", " : "", (long)t->dims[d]);
  printf("]");
  for (i = 0; i < n && t->dtype < MEGCC_F8E4M3FN; ++i) {
    const double v = value_at(data, t->dtype, i);
    if (i == 0 || v < least) least = v;
    if (i == 0 || v > most) most = v, where = i;
    sum += v;
  }
  if (i > 0) {
    printf(" min %g max %g (at %lu) mean %g", least, most, (unsigned long)where, sum / (double)n);
  }
  printf("\n");
}

static void write_outputs(const char *dir, const megcc_model_t *model,
                          const megcc_context_t *context, const double *times, long repeat) {
  char path[MAX_PATH];
  uint32_t i, count;
  long r;
  FILE *f;
  if (mkdir(dir, 0777) != 0 && errno != EEXIST) fail(strerror(errno), dir);
  join(path, dir, "index.txt");
  f = fopen(path, "wb");
  if (f == NULL) fail(strerror(errno), path);
  check(megcc_output_count(model, &count), NULL);
  for (i = 0; i < count; ++i) {
    char file[MAX_PATH];
    megcc_tensor_info_t t;
    const void *data;
    int32_t d;
    check(megcc_output_info(context, i, &t), NULL);
    check(megcc_output_data(context, i, &data), t.name);
    fprintf(f, "%lu %s %ld", (unsigned long)i, megcc_dtype_name(t.dtype), (long)t.rank);
    for (d = 0; d < t.rank; ++d) fprintf(f, " %ld", (long)t.dims[d]);
    fprintf(f, " %s\n", t.name);
    numbered(file, dir, i);
    write_file(file, data, t.bytes);
  }
  if (fclose(f) != 0) fail(strerror(errno), path);
  join(path, dir, "times.txt");
  f = fopen(path, "wb");
  if (f == NULL) fail(strerror(errno), path);
  for (r = 0; r < repeat; ++r) fprintf(f, "%.6f\n", times[r]);
  if (fclose(f) != 0) fail(strerror(errno), path);
}

// ---- profile -------------------------------------------------------------------------------

struct call_time {
  const char *name, *kernel;
  double ms;
  uint32_t call;
};

struct profile {
  struct call_time *calls;
  size_t count, capacity;
  double begin;
};

static void on_call(void *user, megcc_event_t event, uint32_t call, const char *name,
                    const char *kernel) {
  struct profile *p = (struct profile *)user;
  if (event == MEGCC_CALL_END) {
    p->calls[call].ms += now_ms() - p->begin;
    return;
  }
  if (call >= p->capacity) {
    p->capacity = 2 * (size_t)call + 64;
    p->calls = (struct call_time *)realloc(p->calls, p->capacity * sizeof *p->calls);
    if (p->calls == NULL) fail("out of memory", NULL);
  }
  // A branch leaves out calls, which may come in a later run.
  for (; p->count <= call; ++p->count) memset(p->calls + p->count, 0, sizeof *p->calls);
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

static void print_profile(struct profile *p, long runs) {
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
  free(p->calls);
}

// ---- main ----------------------------------------------------------------------------------

static int ascending(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return x < y ? -1 : x > y;
}

static void print_times(const double *times, long repeat) {
  double *sorted = (double *)allocate((size_t)repeat * sizeof *sorted);
  memcpy(sorted, times, (size_t)repeat * sizeof *sorted);
  qsort(sorted, (size_t)repeat, sizeof *sorted, ascending);
  printf("time: min %.3f ms, median %.3f ms of %ld runs\n", sorted[0], sorted[repeat / 2], repeat);
}

#if MODEL_HAS_SHAPES
static void *allocate_data(void *user, size_t bytes) {
  void *data;
  (void)user;
  return posix_memalign(&data, MEGCC_ALIGNMENT, bytes) == 0 ? data : NULL;
}

static void free_data(void *user, void *data, size_t bytes) {
  (void)user;
  (void)bytes;
  free(data);
}

// Says in words why a shape was not accepted.
static void check_shape(megcc_status_t status, const megcc_context_t *context) {
  megcc_shape_problem_t p;
  if (status != MEGCC_ERR_SHAPE && status != MEGCC_ERR_NO_SHAPE) {
    check(status, NULL);
    return;
  }
  check(megcc_shape_problem(context, &p), NULL);
  fprintf(stderr, "run: error: ");
  if (p.reason == MEGCC_SHAPE_REQUIRED) {
    if (p.name != NULL) fprintf(stderr, "'%s'", p.name);
  } else if (p.name != NULL) {
    fprintf(stderr, "input '%s', dim %ld", p.name, (long)p.axis);
  }
  if (p.symbol != NULL) fprintf(stderr, " ('%s')", p.symbol);
  if (p.name != NULL) fprintf(stderr, ": ");
  fprintf(stderr, "%s", megcc_shape_reason_string(p.reason));
  switch (p.reason) {
    case MEGCC_SHAPE_FINE: fprintf(stderr, "; give it with --shape NAME=DIMS"); break;
    case MEGCC_SHAPE_RANK:
      fprintf(stderr, ": it has %ld, not %ld", (long)p.low, (long)p.value);
      break;
    case MEGCC_SHAPE_BOUNDS:
      fprintf(stderr, ": it is %ld, the model takes %ld to %ld", (long)p.value, (long)p.low,
              (long)p.high);
      break;
    case MEGCC_SHAPE_FIXED:
    case MEGCC_SHAPE_DIFFERENT:
    case MEGCC_SHAPE_REQUIRED: fprintf(stderr, ": %ld and %ld", (long)p.value, (long)p.low); break;
    case MEGCC_SHAPE_NEGATIVE: fprintf(stderr, ": %ld", (long)p.value); break;
    default: break;
  }
  fprintf(stderr, "\n");
  exit(1);
}

static void set_shapes(const struct options *o, const megcc_model_t *model,
                       megcc_context_t *context) {
  uint32_t i, count;
  check_input_names(o->shape, o->n_shapes, model);
  check(megcc_input_count(model, &count), NULL);
  for (i = 0; i < count; ++i) {
    int32_t dims[64], rank = 0;
    megcc_tensor_info_t t;
    const char *text;
    check(megcc_input_info(context, i, &t), NULL);
    text = value_of(o->shape, o->n_shapes, t.name);
    if (text == NULL) continue;
    while (*text != 0) {
      char *end;
      const long dim = strtol(text, &end, 10);
      if (end == text || dim < 0 || dim > INT32_MAX || rank == 64 || (*end != 0 && *end != ',')) {
        fail("expected NAME=DIM,DIM,...", "--shape");
      }
      dims[rank++] = (int32_t)dim;
      text = *end == ',' ? end + 1 : end;
    }
    check_shape(megcc_set_input_shape(context, i, rank, dims), context);
  }
}

#endif

static megcc_context_t *make_context(const struct options *o, const megcc_model_t *model) {
  megcc_context_t *context;
  size_t bytes;
  uint32_t i, count;
  void *mem;
  check(megcc_context_bytes(model, &bytes), NULL);
  mem = allocate(bytes);
  check(megcc_context_create(model, mem, bytes, &context), NULL);
#if MODEL_HAS_SHAPES
  check(megcc_set_allocator(context, allocate_data, free_data, NULL), NULL);
  set_shapes(o, model, context);
  check_shape(megcc_arena_bytes(context, &bytes), context);
#else
  if (o->n_shapes > 0) fail("all shapes of this model are fixed", "--shape");
#endif
  check(megcc_pool_count(model, &count), NULL);
  for (i = 0; i < count; ++i) {
    const char *name;
    check(megcc_pool_info(context, i, &name, &bytes), NULL);
    mem = allocate(bytes);
    check(megcc_set_pool(context, i, mem, bytes), name);
    printf("%s: %lu bytes\n", name, (unsigned long)bytes);
  }
  check(megcc_output_count(model, &count), NULL);
  for (i = 0; i < count; ++i) {
    megcc_tensor_info_t t;
    megcc_status_t status;
    check(megcc_output_info(context, i, &t), NULL);
    status = megcc_bind_output(context, i, allocate(t.bytes), t.bytes);
    if (status != MEGCC_ERR_DATA) check(status, t.name);  // it will be where the model puts it
  }
  return context;
}

// ---- threads -------------------------------------------------------------------------------

#ifdef MEGCC_THREADS
static megcc_pool_t *pool;

static void end_pool(void) { megcc_pool_destroy(pool); }

static void use_threads(const struct options *o, megcc_context_t *context) {
  const uint32_t n = (uint32_t)o->threads;
  if (n == 1) return;
  check(megcc_pool_create(n, allocate(megcc_pool_bytes(n)), megcc_pool_bytes(n), &pool), NULL);
  atexit(end_pool);
  check(megcc_set_parallel(context, megcc_pool_run, pool), NULL);
}
#else
static void use_threads(const struct options *o, megcc_context_t *context) {
  (void)context;
  if (o->threads > 1)
    fail("this program has no threads; build it with make THREADS=1", "--threads");
}
#endif

int main(int argc, char **argv) {
  const struct options o = parse(argc, argv);
  const megcc_kernels_t *kernels;
  const char *machine;
  megcc_image_t image;
  struct profile profile = {NULL, 0, 0, 0};
  megcc_model_t *model;
  megcc_context_t *context;
  double *times;
  uint32_t i, count;
  long r;

  atexit(free_blocks);
  times = (double *)allocate((size_t)o.repeat * sizeof *times);
  kernels = find_kernels(o.machine, &machine);
  image = load_image(o.model, argv[0], machine);
  check(megcc_model_open(&image, kernels, allocate(MEGCC_MODEL_BYTES), MEGCC_MODEL_BYTES, &model),
        "model");
  check(megcc_model_verify(model), "weights");
  context = make_context(&o, model);
  bind_inputs(&o, model, context);
  use_threads(&o, context);

  for (r = 0; r < o.warmup; ++r) check_run(megcc_run(context), context);
  if (o.profile) check(megcc_set_profile(context, on_call, &profile), NULL);
  MEGCC_BENCH_BEGIN();
  for (r = 0; r < o.repeat; ++r) {
    const double begin = now_ms();
    check_run(megcc_run(context), context);
    times[r] = now_ms() - begin;
  }
  MEGCC_BENCH_END();

  check(megcc_output_count(model, &count), NULL);
  for (i = 0; i < count; ++i) {
    megcc_tensor_info_t t;
    const void *data;
    check(megcc_output_info(context, i, &t), NULL);
    check(megcc_output_data(context, i, &data), t.name);
    summarise(i, &t, data);
  }
  print_times(times, o.repeat);
  if (o.profile) print_profile(&profile, o.repeat);
  if (o.output_dir != NULL) write_outputs(o.output_dir, model, context, times, o.repeat);
#if MODEL_HAS_SHAPES
  check(megcc_release(context), NULL);
#endif
  return 0;
}
