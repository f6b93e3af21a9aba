// The command line.
#include "runner.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char kUsage[] =
    "usage: run [--model FILE] [--input NAME=FILE]... [--inputs DIR] [--outputs DIR]\n"
    "           [--shape NAME=DIMS]... [--repeat N] [--warmup N] [--seed S] [--profile]\n"
    "           [--threads N] [--machine NAME] [--trace FILE.json] [--check-shapes]\n"
    "  --input NAME=FILE  raw little-endian values of one input; --inputs DIR: <number>.bin\n"
    "                     of all of them; an input without a file is random\n"
    "  --shape NAME=DIMS  dims of one input where the model leaves them open, as x=1,3,320,320\n"
    "  --check-shapes     run nothing: say if the model takes the shapes, and has memory for them\n"
    "  --outputs DIR      write <number>.bin, index.txt and times.txt (ms of each run)\n"
    "  --repeat N         timed runs (1); --warmup N: untimed runs before them (0)\n"
    "  --seed S           of random inputs, and of what the model draws (0)\n"
    "  --profile          time of every kernel call, slowest first\n"
    "  --trace FILE.json  every call of every timed run, for chrome://tracing, Perfetto, and\n"
    "                     tvmc inspect --profile\n"
    "  --model FILE       the model, where it is not linked in\n"
    "  --threads N        threads that compute (1), where it was built with THREADS=1\n"
    "  --machine NAME     of those that the package is for, the one to run; else the best\n";

static unsigned long long parse_wide(const char *text, const char *option) {
  char *end;
  unsigned long long value;
  errno = 0;
  value = strtoull(text, &end, 10);
  if (*text < '0' || *text > '9' || *end != 0 || errno != 0) {
    fail("takes a number without sign", option);
  }
  return value;
}

static unsigned long parse_number(const char *text, const char *option) {
  const unsigned long long value = parse_wide(text, option);
  if (value > (unsigned long)-1) fail("is too large", option);
  return (unsigned long)value;
}

static void append(const char **values, int *count, const char *value, const char *option) {
  if (*count == MAX_INPUTS) fail("given too often", option);
  values[(*count)++] = value;
}

struct options parse(int argc, char **argv) {
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
    if (!strcmp(a, "--check-shapes")) {
      o.check_shapes = 1;
      continue;
    }
    if (strcmp(a, "--model") && strcmp(a, "--input") && strcmp(a, "--inputs") &&
        strcmp(a, "--shape") && strcmp(a, "--outputs") && strcmp(a, "--repeat") &&
        strcmp(a, "--warmup") && strcmp(a, "--seed") && strcmp(a, "--threads") &&
        strcmp(a, "--machine") && strcmp(a, "--trace")) {
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
    if (!strcmp(a, "--seed")) o.seed = parse_wide(v, a);
    if (!strcmp(a, "--threads")) o.threads = parse_number(v, a);
    if (!strcmp(a, "--trace")) o.trace = v;
    if (!strcmp(a, "--input")) append(o.input, &o.n_inputs, v, a);
    if (!strcmp(a, "--shape")) append(o.shape, &o.n_shapes, v, a);
  }
  if (o.repeat < 1) fail("must be at least 1", "--repeat");
  if (o.threads < 1 || o.threads > 255) fail("must be from 1 to 255", "--threads");
  if ((unsigned long long)o.repeat > (size_t)-1 / sizeof(double)) fail("is too large", "--repeat");
  return o;
}

const char *value_of(const char *const *options, int n, const char *name) {
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

void check_input_names(const char *const *options, int n, const megcc_model_t *model) {
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
