// Inputs in an arena whose size the shapes say: they are copied to one that is large enough.
#include <math.h>

#include "changing.h"
#include "allocator.h"
#include "check.h"

enum { X, B };

static void set_n(megcc_context_t *context, int32_t n) {
  const int32_t dims[2] = {n, 4};
  CHECK_STATUS(MEGCC_OK, megcc_set_input_shape(context, X, 2, dims));
  CHECK_STATUS(MEGCC_OK, megcc_set_input_shape(context, B, 1, dims));
}

static void *set_arena(megcc_context_t *context) {
  size_t bytes = 0;
  void *arena;
  CHECK_STATUS(MEGCC_OK, megcc_arena_bytes(context, &bytes));
  arena = aligned_alloc(64, (bytes + 63) / 64 * 64);
  CHECK_STATUS(MEGCC_OK, megcc_set_arena(context, arena, bytes));
  return arena;
}

static void check_run(megcc_context_t *context, int32_t n) {
  float x[40], b[10];
  const void *data = NULL;
  int32_t i;
  for (i = 0; i < 4 * n; ++i) x[i] = (float)(i % 3) - 1.0f;
  for (i = 0; i < n; ++i) b[i] = (float)i;
  CHECK_STATUS(MEGCC_OK, megcc_copy_input(context, X, x, 16 * (size_t)n));
  CHECK_STATUS(MEGCC_OK, megcc_copy_input(context, B, b, 4 * (size_t)n));
  CHECK_STATUS(MEGCC_OK, megcc_run(context));
  CHECK_STATUS(MEGCC_OK, megcc_output_data(context, 0, &data));
  for (i = 0; i < 4 * n; ++i) {
    CHECK(fabsf(((const float *)data)[i] - (expf(x[i]) + b[i / 4])) < 1e-4f);
  }
}

int main(void) {
  static const float zeros[32];
  void *memory = test_alloc(MEGCC_MODEL_BYTES), *mem, *small, *large;
  megcc_model_t *model;
  megcc_context_t *context;
  size_t bytes = 0;
  CHECK_STATUS(MEGCC_OK, megcc_model_open(&changing_image, &changing_kernels, memory,
                                          MEGCC_MODEL_BYTES, &model));
  CHECK_STATUS(MEGCC_OK, megcc_context_bytes(model, &bytes));
  mem = test_alloc(bytes);
  CHECK_STATUS(MEGCC_OK, megcc_context_create(model, mem, bytes, &context));
  CHECK_STATUS(MEGCC_OK, megcc_set_allocator(context, allocate, give_back, &allocations));
  set_n(context, 2);
  CHECK_STATUS(MEGCC_ERR_NO_ARENA, megcc_copy_input(context, X, zeros, 32));
  small = set_arena(context);
  check_run(context, 2);
  set_n(context, 8);
  CHECK_STATUS(MEGCC_ERR_NO_ARENA, megcc_copy_input(context, X, zeros, 128));
  large = set_arena(context);
  check_run(context, 8);
  set_n(context, 0);
  check_run(context, 0);
  CHECK_STATUS(MEGCC_OK, megcc_release(context));
  CHECK(outstanding == 0);
  free(small);
  free(large);
  free(mem);
  free(memory);
  return 0;
}
