// A condition on data that does not hold: the status, the node that is to blame, and the next run.
#include "check.h"
#include "checking.h"

enum { ROWS = 5 };

static float x[4 * ROWS], y[12];
static int64_t z[3];
static const float *result;

static megcc_status_t run(megcc_context_t *c, int64_t a, int64_t b) {
  int64_t i[3];
  uint32_t call = 99;
  const char *name = NULL;
  megcc_status_t status;
  i[0] = 0, i[1] = a, i[2] = b;
  CHECK_STATUS(MEGCC_OK, megcc_bind_input(c, 1, i, sizeof i));
  status = megcc_run(c);
  CHECK_STATUS(MEGCC_OK, megcc_failed_call(c, &call, &name));
  if (status == MEGCC_OK) {
    const void *data = NULL;
    CHECK(name == NULL);
    CHECK_STATUS(MEGCC_OK, megcc_output_data(c, 0, &data));
    result = (const float *)data;
  } else {
    const void *data = NULL;
    CHECK_STATUS(MEGCC_ERR_DATA, status);
    CHECK(name != NULL && strcmp(name, "Gather 'rows'") == 0);
    CHECK(call > 0 && call < 99);
    CHECK_STATUS(MEGCC_ERR_NOT_RUN, megcc_output_data(c, 0, &data));
  }
  return status;
}

int main(void) {
  megcc_model_t *model;
  megcc_context_t *c;
  size_t bytes = 0;
  uint32_t call = 99;
  const char *name = "";
  void *memory = test_alloc(MEGCC_MODEL_BYTES), *own, *arena;
  CHECK_STATUS(MEGCC_OK, megcc_model_open(&checking_image, &checking_kernels, memory,
                                          MEGCC_MODEL_BYTES, &model));
  CHECK_STATUS(MEGCC_OK, megcc_context_bytes(model, &bytes));
  own = test_alloc(bytes);
  CHECK_STATUS(MEGCC_OK, megcc_context_create(model, own, bytes, &c));
  CHECK_STATUS(MEGCC_ERR_NULL, megcc_failed_call(NULL, &call, &name));
  CHECK_STATUS(MEGCC_ERR_NULL, megcc_failed_call(c, NULL, &name));
  CHECK_STATUS(MEGCC_ERR_NULL, megcc_failed_call(c, &call, NULL));
  CHECK_STATUS(MEGCC_OK, megcc_failed_call(c, &call, &name));
  CHECK(name == NULL && call == 0);
#ifdef OPEN
  {
    const int32_t dims[2] = {ROWS, 4};
    CHECK_STATUS(MEGCC_OK, megcc_set_input_shape(c, 0, 2, dims));
  }
#endif
  CHECK_STATUS(MEGCC_OK, megcc_arena_bytes(c, &bytes));
  bytes = (bytes + 63) / 64 * 64;
  arena = test_alloc(bytes);
  CHECK_STATUS(MEGCC_OK, megcc_set_arena(c, arena, bytes));
  CHECK_STATUS(MEGCC_OK, megcc_bind_input(c, 0, x, sizeof x));
  CHECK_STATUS(MEGCC_OK, megcc_bind_output(c, 0, y, sizeof y));
  CHECK_STATUS(MEGCC_OK, megcc_bind_output(c, 1, z, sizeof z));

  x[4 * 4] = 1;
  CHECK_STATUS(MEGCC_OK, run(c, 4, 2));
  CHECK(result[0] == 1 && result[4] > 2.7f && result[4] < 2.8f);
  CHECK_STATUS(MEGCC_ERR_DATA, run(c, 1, ROWS));
  CHECK_STATUS(MEGCC_ERR_DATA, run(c, -1, 0));
  CHECK_STATUS(MEGCC_ERR_DATA, run(c, INT64_MIN, 0));
  CHECK_STATUS(MEGCC_OK, run(c, 2, 4));
  CHECK(result[4] == 1 && result[8] > 2.7f);

  // A run that does not begin has failed nowhere in the model.
  CHECK_STATUS(MEGCC_ERR_DATA, run(c, 1, ROWS));
  CHECK_STATUS(MEGCC_OK, megcc_context_create(model, own, 4096, &c));
  CHECK(megcc_run(c) != MEGCC_OK);
  CHECK_STATUS(MEGCC_OK, megcc_failed_call(c, &call, &name));
  CHECK(name == NULL);
  free(memory);
  free(own);
  free(arena);
  return 0;
}
