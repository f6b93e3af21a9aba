// Two packages in one program, each model in two contexts and two threads at once. The packages use
// different opcodes, a common kernel, and kernels of one name but different code.
#include <pthread.h>

#include "check.h"
#include "first.h"
#include "second.h"

struct job {
  const megcc_model_t *model;
  float x, expected;
};

static void *work(void *arg) {
  const struct job *job = (const struct job *)arg;
  float x[4], y[4];
  size_t bytes = 0;
  megcc_context_t *context;
  void *memory;
  int i, run;
  for (i = 0; i < 4; ++i) x[i] = job->x;
  CHECK_STATUS(MEGCC_OK, megcc_context_bytes(job->model, &bytes));
  memory = test_alloc(bytes);
  CHECK_STATUS(MEGCC_OK, megcc_context_create(job->model, memory, bytes, &context));
  CHECK_STATUS(MEGCC_OK, megcc_bind_input(context, 0, x, sizeof x));
  CHECK_STATUS(MEGCC_OK, megcc_bind_output(context, 0, y, sizeof y));
  {
    uint32_t outputs = 0;
    CHECK_STATUS(MEGCC_OK, megcc_output_count(job->model, &outputs));
    if (outputs == 2) {
      static __thread float copy[4];
      CHECK_STATUS(MEGCC_OK, megcc_bind_output(context, 1, copy, sizeof copy));
    }
  }
  for (run = 0; run < 2000; ++run) {
    memset(y, 0, sizeof y);
    CHECK_STATUS(MEGCC_OK, megcc_run(context));
    for (i = 0; i < 4; ++i) CHECK(y[i] == job->expected);
  }
  free(memory);
  return NULL;
}

int main(void) {
  void *memory[2] = {test_alloc(MEGCC_MODEL_BYTES), test_alloc(MEGCC_MODEL_BYTES)};
  megcc_model_t *first, *second;
  struct job jobs[4];
  pthread_t threads[4];
  int i;
  // Each image belongs to its own kernels.
  CHECK_STATUS(MEGCC_ERR_KERNELS, megcc_model_open(&first_image, &second_kernels, memory[0],
                                                   MEGCC_MODEL_BYTES, &first));
  CHECK_STATUS(MEGCC_ERR_KERNELS, megcc_model_open(&second_image, &first_kernels, memory[0],
                                                   MEGCC_MODEL_BYTES, &first));
  CHECK_STATUS(MEGCC_OK, megcc_model_open(&first_image, &first_kernels, memory[0],
                                          MEGCC_MODEL_BYTES, &first));
  CHECK_STATUS(MEGCC_OK, megcc_model_open(&second_image, &second_kernels, memory[1],
                                          MEGCC_MODEL_BYTES, &second));
  for (i = 0; i < 4; ++i) {
    jobs[i].model = i % 2 ? second : first;
    jobs[i].x = (float)i;
    jobs[i].expected = i % 2 ? (float)i - 2 : (float)i + 10;
    CHECK(pthread_create(&threads[i], NULL, work, &jobs[i]) == 0);
  }
  for (i = 0; i < 4; ++i) CHECK(pthread_join(threads[i], NULL) == 0);
  free(memory[0]);
  free(memory[1]);
  return 0;
}
