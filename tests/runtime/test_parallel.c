// A model's values do not depend on the order in which a thread pool does the ranges of a call: run
// with one range for each call, then with the second half first. HEADER, IMAGE and KERNELS are the
// package's. Prints how many calls were split.
#include "check.h"
#include HEADER

static unsigned long splits;

static void backwards(void *user, megcc_range_fn range, const void *task, int32_t work) {
  (void)user;
  ++splits;
  range(task, work / 2, work);
  range(task, 0, work / 2);
}

int main(void) {
  static char memory[MEGCC_MODEL_BYTES] __attribute__((aligned(64)));
  megcc_model_t *model;
  megcc_context_t *context;
  megcc_tensor_info_t in, out;
  size_t bytes = 0, i;
  float *x, *y[2];
  void *mem, *arena;
  int k;
  CHECK_STATUS(MEGCC_OK, megcc_model_open(&IMAGE, &KERNELS, memory, sizeof memory, &model));
  CHECK_STATUS(MEGCC_OK, megcc_context_bytes(model, &bytes));
  mem = test_alloc(bytes);
  CHECK_STATUS(MEGCC_OK, megcc_context_create(model, mem, bytes, &context));
  CHECK_STATUS(MEGCC_OK, megcc_arena_bytes(context, &bytes));
  arena = aligned_alloc(MEGCC_ALIGNMENT, (bytes + 63) / 64 * 64);
  CHECK_STATUS(MEGCC_OK, megcc_set_arena(context, arena, bytes));
  CHECK_STATUS(MEGCC_OK, megcc_input_info(context, 0, &in));
  CHECK_STATUS(MEGCC_OK, megcc_output_info(context, 0, &out));
  x = (float *)test_alloc(in.bytes);
  for (i = 0; i < in.bytes / sizeof *x; ++i) x[i] = (float)(i % 23) - 11.0f;
  CHECK_STATUS(MEGCC_OK, megcc_bind_input(context, 0, x, in.bytes));
  for (k = 0; k < 2; ++k) {
    y[k] = (float *)test_alloc(out.bytes);
    CHECK_STATUS(MEGCC_OK, megcc_bind_output(context, 0, y[k], out.bytes));
    CHECK_STATUS(MEGCC_OK, megcc_set_parallel(context, k ? backwards : NULL, NULL));
    CHECK_STATUS(MEGCC_OK, megcc_run(context));
  }
  for (i = 0; i < out.bytes / sizeof *x; ++i) CHECK(y[0][i] == y[1][i]);
  printf("%lu\n", splits);
  free(x), free(y[0]), free(y[1]), free(mem), free(arena);
  return 0;
}
