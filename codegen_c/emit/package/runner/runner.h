// Declarations that main.c and the files of this folder share: a program around the model's
// library, and no part of it.
#ifndef MEGCC_RUNNER_H
#define MEGCC_RUNNER_H

#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200112L  // clock_gettime, fileno, posix_memalign
#endif
#include <megcc.h>
#include <stdio.h>

#ifdef MEGCC_THREADS
#include "megcc_pool.h"
#endif

#define MAX_INPUTS 1024
#define MAX_PATH 4096

// ---- options.c -------------------------------------------------------------------------------

struct options {
  const char *model;              // of a package with its model in a file
  const char *machine;            // of a package for several
  const char *input[MAX_INPUTS];  // name=file
  int n_inputs;
  const char *shape[MAX_INPUTS];  // name=dims
  int n_shapes;
  const char *input_dir;
  const char *output_dir;
  const char *trace;
  long repeat, warmup;
  unsigned long threads;
  uint64_t seed;
  int profile;
  int check_shapes;
};

struct options parse(int argc, char **argv);

// The latest of the options NAME=VALUE for this name, or null.
const char *value_of(const char *const *options, int n, const char *name);

// Ends the program where one of the options NAME=VALUE is for no input of the model.
void check_input_names(const char *const *options, int n, const megcc_model_t *model);

// ---- errors.c --------------------------------------------------------------------------------

// Ends the program with a message; `subject` (a file, an option, a tensor) may be null.
void fail(const char *what, const char *subject);

// The others end it where `status` is an error.
void check(megcc_status_t status, const char *subject);

// After a run: says which node of the model it was.
void check_run(megcc_status_t status, megcc_context_t *context);

// Says in words why a shape was not accepted; where shapes can change.
void check_shape(megcc_status_t status, const megcc_context_t *context);

// ---- memory.c --------------------------------------------------------------------------------

// Zeroed memory aligned to MEGCC_ALIGNMENT; never null, lives until the end.
void *allocate(size_t bytes);

// ---- files.c ---------------------------------------------------------------------------------

int exists(const char *path);

// Opens a regular file and tells its size.
FILE *open_file(const char *path, size_t *bytes);

// Reads from the file's position, and closes it.
void read_exactly(FILE *f, void *data, size_t bytes, const char *path);

void write_file(const char *path, const void *data, size_t bytes);

// A file that is there when it is complete: until then it is written as `path`.part.
FILE *create_file(const char *path);
void finish_file(FILE *f, const char *path);

// Both write to `path`, of MAX_PATH bytes: <dir>/<name>, <dir>/<number>.bin.
void join(char *path, const char *dir, const char *name);
void numbered(char *path, const char *dir, uint32_t number);

// ---- loading.c -------------------------------------------------------------------------------

// The kernels to open the model with, and in `name` for which machine they are; `wanted`, a
// machine, may be null.
const megcc_kernels_t *kernels_for(const char *wanted, const char **name);

// The model's image; where it is not linked in, of the file `path` or, if that is null, of the one
// beside the program.
megcc_image_t image_from(const char *path, const char *argv0, const char *machine);

// ---- context.c -------------------------------------------------------------------------------

// A context, with the program's allocator where the model has sizes that depend on data.
megcc_context_t *new_context(const struct options *o, const megcc_model_t *model);

// A context with its shapes set and all its memory but the inputs'.
megcc_context_t *make_context(const struct options *o, const megcc_model_t *model);

void use_threads(const struct options *o, megcc_context_t *context);

#ifdef MEGCC_THREADS
// The pool that the calls' parts run in; null where there is one thread.
megcc_pool_t *thread_pool(void);
#endif

// ---- inputs.c --------------------------------------------------------------------------------

// Binds every input to what its file holds, or to random values.
void bind_inputs(const struct options *o, const megcc_model_t *model, megcc_context_t *context);

// Every run begins with the same values, also of inputs that share memory with an output: they are
// kept before the first run.
void keep_states(const megcc_model_t *model, const megcc_context_t *context);
void restore_states(void);

// ---- outputs.c -------------------------------------------------------------------------------

// Prints a line about an output.
void summarise(uint32_t number, const megcc_tensor_info_t *t, const void *data);

// Writes all outputs, index.txt and times.txt.
void write_outputs(const char *dir, const megcc_model_t *model, const megcc_context_t *context,
                   const double *times, long repeat);

// ---- times.c ---------------------------------------------------------------------------------

double now_ms(void);

// Prints the least and the median of the runs' times.
void print_times(const double *times, long repeat);

// ---- counters.c ------------------------------------------------------------------------------

// Begins to count the instructions of this thread and of those that it starts; null, or why they
// cannot be counted.
const char *open_counter(void);

// How many there were until now; 0 where they are not counted.
uint64_t instructions_now(void);

// ---- generate.c: in packages of language models ------------------------------------------------

// `run generate` with its arguments; `argv0` is the program.
int generate(int argc, char **argv, const char *argv0);

// ---- profile.c: where it is not asked for, nothing happens -----------------------------------

// Before there are threads.
void prepare_profile(const struct options *o);

// Before the timed runs, and before each of them.
void begin_profile(const struct options *o, megcc_context_t *context);
void begin_run(long number);

// The time of every call, slowest first.
void print_profile(long runs);

// Every call of every run; `begins` and `times` of the runs are in milliseconds.
void write_trace(const struct options *o, const char *machine, const megcc_model_t *model,
                 const megcc_context_t *context, const double *begins, const double *times);

#endif  // MEGCC_RUNNER_H
