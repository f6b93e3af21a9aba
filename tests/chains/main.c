// Runs one loop of loops.c: main NAME REPEAT.
//
// stdin    int32: the number of sizes, of inputs and weights; the sizes; the bytes of each operand,
//          the output's last; then the inputs and weights
// stdout   the output, and the least time of REPEAT more runs in microseconds, as a double
//
// Marked is the first run.
#define _POSIX_C_SOURCE 199309L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "loops.c"
#include "marks.h"

enum { MOST = 8, ALIGNMENT = 64 };

typedef struct {
  const char *name;
  void (*run)(void *const *ptr, const int32_t *dims);
} loop_t;

#define LOOP(name) \
  { #name, name }
static const loop_t loops[] = {
    LOOP(bias_gelu),      LOOP(glu),           LOOP(star),         LOOP(layer_scale),
    LOOP(mamba_step),     LOOP(rotary),        LOOP(wavenet_gate), LOOP(linear_attention),
    LOOP(softplus_bias),  LOOP(modulate),      LOOP(demodulate),   LOOP(masked_softmax),
    LOOP(sine_positions), LOOP(masked_scores), LOOP(gate_i8),      LOOP(window_reverse),
    LOOP(edge_scores),    LOOP(distances),     LOOP(gate_f16),     LOOP(residual_bf16),
    LOOP(unit_rows),      LOOP(squeeze_gate),  LOOP(bucket_i32),   LOOP(token_mean),
};

static void fail(const char *why) {
  fprintf(stderr, "loops: %s\n", why);
  exit(1);
}

static void read_all(void *to, size_t bytes) {
  if (fread(to, 1, bytes, stdin) != bytes) fail("the input ends early");
}

static void *allocate(size_t bytes) {
  unsigned char *memory = (unsigned char *)malloc(bytes + ALIGNMENT);
  if (memory == NULL) fail("no memory");
  return memory + (ALIGNMENT - (uintptr_t)memory % ALIGNMENT);
}

static double now_us(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

int main(int argc, char **argv) {
  int32_t counts[2], dims[MOST], bytes[MOST];
  void *ptr[MOST];
  double least = 0;
  const loop_t *loop = loops;
  if (argc != 3) fail("usage: NAME REPEAT");
  while (loop < loops + sizeof loops / sizeof *loops && strcmp(loop->name, argv[1]) != 0) ++loop;
  if (loop == loops + sizeof loops / sizeof *loops) fail("no such loop");
  read_all(counts, sizeof counts);
  if (counts[0] > MOST || counts[1] >= MOST) fail("too many sizes or operands");
  read_all(dims, (size_t)counts[0] * sizeof *dims);
  read_all(bytes, (size_t)(counts[1] + 1) * sizeof *bytes);
  for (int32_t k = 0; k <= counts[1]; ++k) {
    ptr[k] = allocate((size_t)bytes[k]);
    if (k < counts[1]) read_all(ptr[k], (size_t)bytes[k]);
  }
  MEGCC_COUNT_BEGIN();
  loop->run(ptr, dims);
  MEGCC_COUNT_END();
  for (long k = 0; k < atol(argv[2]); ++k) {
    const double begin = now_us();
    loop->run(ptr, dims);
    const double time = now_us() - begin;
    if (k == 0 || time < least) least = time;
  }
  fwrite(ptr[counts[1]], 1, (size_t)bytes[counts[1]], stdout);
  fwrite(&least, 1, sizeof least, stdout);
  return 0;
}
