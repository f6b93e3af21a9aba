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

static int begun;

static void count(void *user, megcc_event_t event, uint32_t call, const char *name,
                  const char *kernel) {
  CHECK(user == &begun && name != NULL && kernel != NULL && call < 6);
  begun += event == MEGCC_CALL_BEGIN;
}

static size_t ahead(const megcc_stepper_t *stepper, uint32_t calls, const float **data) {
  megcc_bytes_t found;
  CHECK_STATUS(MEGCC_OK, megcc_step_weights(stepper, calls, &found));
  CHECK((found.data == NULL) == (found.bytes == 0));
  *data = (const float *)found.data;
  return found.bytes;
}

// A run that computes y = 2 (x + w) + s + 1 with a copy of w in which all values are doubled.
static void copied_weights(megcc_context_t *context, megcc_stepper_t *stepper, const float *y) {
  static const double aligned = 1;
  union {
    double align;
    float value[6];
  } copy;
  const float *w, *shift, *none;
  float again[6], sum[3];
  megcc_step_state_t state;
  megcc_bytes_t found;
  uint32_t k;
  CHECK_STATUS(MEGCC_ERR_NULL, megcc_step_weights(NULL, 0, &found));
  CHECK_STATUS(MEGCC_ERR_NULL, megcc_step_weights(stepper, 0, NULL));
  CHECK_STATUS(MEGCC_ERR_NULL, megcc_step_use(NULL, &copy, 24));
  CHECK(ahead(stepper, 0, &w) == 24 && w[5] == -6);
  CHECK(ahead(stepper, 1, &none) == 0 && ahead(stepper, 2, &none) == 0);
  CHECK(ahead(stepper, 3, &shift) == 4 && *shift == 0.5f);
  CHECK(ahead(stepper, 5, &none) == 0 && ahead(stepper, 6, &none) == 0);
  CHECK_STATUS(MEGCC_ERR_SIZE, megcc_step_use(stepper, &copy, 20));
  CHECK_STATUS(MEGCC_ERR_SIZE, megcc_step_use(stepper, &copy, 0));
  CHECK_STATUS(MEGCC_ERR_ALIGNMENT, megcc_step_use(stepper, copy.value + 1, 24));
  CHECK_STATUS(MEGCC_OK, megcc_step_use(stepper, &aligned, 24));
  CHECK_STATUS(MEGCC_OK, megcc_step_use(stepper, NULL, 0));
  for (k = 0; k < 6; ++k) copy.value[k] = 2 * w[k];

  CHECK_STATUS(MEGCC_OK, megcc_set_profile(context, count, &begun));
  begun = 0;
  copy_inputs(context);
  CHECK_STATUS(MEGCC_OK, megcc_step_use(stepper, &copy, 24));
  CHECK_STATUS(MEGCC_OK, megcc_step(stepper, 1, &state));
  CHECK(ahead(stepper, 2, &shift) == 4 && *shift == 0.5f);
  CHECK_STATUS(MEGCC_ERR_SIZE, megcc_step_use(stepper, &copy, 24));
  CHECK_STATUS(MEGCC_OK, megcc_step(stepper, 100, &state));
  CHECK(state == MEGCC_STEP_DONE && begun == 6);
  read_outputs(context, again, sum);
  for (k = 0; k < 6; ++k) CHECK(again[k] == y[k] + 2 * w[k]);
  CHECK_STATUS(MEGCC_OK, megcc_set_profile(context, NULL, NULL));

  // One run's copy is not the next one's.
  copy_inputs(context);
  CHECK_STATUS(MEGCC_OK, megcc_step(stepper, 100, &state));
  read_outputs(context, again, sum);
  CHECK(!memcmp(y, again, sizeof again));
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

  copied_weights(context, &stepper, y);

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
