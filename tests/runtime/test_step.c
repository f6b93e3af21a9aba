// A run in pieces (programs.corners: 6 calls): the values of megcc_run, and an end before the end.
#include "check.h"
#include "corners.h"
#include "megcc_step.h"

#include <pthread.h>

enum { X, S, EMPTY, A };
enum { Y, DIFFERENCE, SUM };

static const float kX[6] = {1, 2, 3, 4, 5, 6}, kS = 0.25f, kA[6] = {6, 5, 4, 3, 2, 1};

static void *memory[4];  // to be freed at the end

static megcc_context_t *make_context(void) {
  megcc_model_t *model = NULL;
  megcc_context_t *context = NULL;
  size_t bytes = 0;
  memory[0] = test_alloc(MEGCC_MODEL_BYTES);
  memory[1] = test_alloc(CORNERS_CONTEXT_BYTES);
  memory[2] = test_alloc(256);
  CHECK_STATUS(MEGCC_OK, megcc_model_open(&corners_image, &corners_kernels, memory[0],
                                          MEGCC_MODEL_BYTES, &model));
  CHECK_STATUS(MEGCC_OK, megcc_context_create(model, memory[1], CORNERS_CONTEXT_BYTES, &context));
  CHECK_STATUS(MEGCC_OK, megcc_set_arena(context, memory[2], 256));
  CHECK_STATUS(MEGCC_OK, megcc_io_bytes(context, &bytes));
  memory[3] = test_alloc(bytes);
  CHECK_STATUS(MEGCC_OK, megcc_set_io(context, memory[3], bytes));
  return context;
}

static void copy_inputs(megcc_context_t *context) {
  CHECK_STATUS(MEGCC_OK, megcc_copy_input(context, X, kX, 24));
  CHECK_STATUS(MEGCC_OK, megcc_copy_input(context, S, &kS, 4));
  CHECK_STATUS(MEGCC_OK, megcc_copy_input(context, EMPTY, NULL, 0));
  CHECK_STATUS(MEGCC_OK, megcc_copy_input(context, A, kA, 24));
}

static void read_outputs(megcc_context_t *context, float *y, float *sum) {
  CHECK_STATUS(MEGCC_OK, megcc_read_output(context, Y, y, 24));
  CHECK_STATUS(MEGCC_OK, megcc_read_output(context, SUM, sum, 12));
}

static void *canceller(void *arg) {
  megcc_step_cancel((megcc_stepper_t *)arg);
  return NULL;
}

int main(void) {
  megcc_context_t *context = make_context();
  megcc_stepper_t stepper;
  megcc_step_state_t state = MEGCC_STEP_DONE;
  pthread_t thread;
  float y[6], sum[3], again[6], sum_again[3];
  uint32_t each;
  const void *data;
  CHECK_STATUS(MEGCC_ERR_NULL, megcc_stepper_init(NULL, context));
  CHECK_STATUS(MEGCC_ERR_NULL, megcc_stepper_init(&stepper, NULL));
  CHECK_STATUS(MEGCC_OK, megcc_stepper_init(&stepper, context));
  CHECK_STATUS(MEGCC_ERR_NULL, megcc_step(NULL, 1, &state));
  CHECK_STATUS(MEGCC_ERR_NULL, megcc_step(&stepper, 1, NULL));
  CHECK_STATUS(MEGCC_ERR_UNBOUND, megcc_step(&stepper, 1, &state));
  megcc_step_cancel(NULL);
  megcc_step_cancel(&stepper);  // no run is going on: the next one is not cancelled

  copy_inputs(context);
  CHECK_STATUS(MEGCC_OK, megcc_run(context));
  read_outputs(context, y, sum);

  for (each = 1; each <= 7; ++each) {
    uint32_t pieces = 0;
    copy_inputs(context);
    do {
      CHECK_STATUS(MEGCC_OK, megcc_step(&stepper, each, &state));
      if (state == MEGCC_STEP_MORE) {
        CHECK_STATUS(MEGCC_ERR_NOT_RUN, megcc_output_data(context, SUM, &data));
      }
      ++pieces;
    } while (state == MEGCC_STEP_MORE);
    CHECK(state == MEGCC_STEP_DONE && pieces == (6 + each - 1) / each);
    memset(again, 0, sizeof again);
    read_outputs(context, again, sum_again);
    CHECK(!memcmp(y, again, sizeof y) && !memcmp(sum, sum_again, sizeof sum));
  }

  // Cancelled by another thread between two calls; the next run is a whole one.
  copy_inputs(context);
  CHECK_STATUS(MEGCC_OK, megcc_step(&stepper, 3, &state));
  CHECK(state == MEGCC_STEP_MORE);
  CHECK(pthread_create(&thread, NULL, canceller, &stepper) == 0);
  CHECK(pthread_join(thread, NULL) == 0);
  CHECK_STATUS(MEGCC_OK, megcc_step(&stepper, 100, &state));
  CHECK(state == MEGCC_STEP_CANCELLED);
  CHECK_STATUS(MEGCC_ERR_NOT_RUN, megcc_output_data(context, SUM, &data));
  copy_inputs(context);
  CHECK_STATUS(MEGCC_OK, megcc_step(&stepper, 100, &state));
  CHECK(state == MEGCC_STEP_DONE);

  // Another run of the context in between: the one in pieces is over, and a new one works.
  copy_inputs(context);
  CHECK_STATUS(MEGCC_OK, megcc_step(&stepper, 2, &state));
  copy_inputs(context);
  CHECK_STATUS(MEGCC_OK, megcc_run(context));
  CHECK_STATUS(MEGCC_ERR_NOT_RUN, megcc_step(&stepper, 2, &state));
  copy_inputs(context);
  CHECK_STATUS(MEGCC_OK, megcc_step(&stepper, 100, &state));
  CHECK(state == MEGCC_STEP_DONE);
  for (each = 0; each < 4; ++each) free(memory[each]);
  return 0;
}
