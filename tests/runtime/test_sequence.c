// A step of a model for each frame of a sequence: frames from one file, results to another one.
//
// Port 0 of either side is the frame and the result, all others are states. Each state begins with
// zeros and is bound once: what a run leaves in its memory is what the next one reads.
#include "check.h"
#include "sequence.h"

enum { MOST_INPUTS = 4 };

static void *aligned(size_t bytes) {
  return test_alloc((bytes + MEGCC_ALIGNMENT) / MEGCC_ALIGNMENT * MEGCC_ALIGNMENT);
}

int main(int argc, char **argv) {
  static union {
    char bytes[MEGCC_MODEL_BYTES];
    void *align;
  } handle;
  megcc_model_t *model;
  megcc_context_t *context;
  megcc_tensor_info_t info[MOST_INPUTS], result;
  void *place = aligned(SEQUENCE_CONTEXT_BYTES), *arena = aligned(SEQUENCE_ARENA_BYTES);
  void *ports[MOST_INPUTS], *y;
  uint32_t inputs, k, output;
  FILE *frames = argc == 3 ? fopen(argv[1], "rb") : NULL;
  FILE *results = argc == 3 ? fopen(argv[2], "wb") : NULL;
  CHECK(frames != NULL && results != NULL);
  CHECK_STATUS(MEGCC_OK, megcc_model_open(&sequence_image, &sequence_kernels, &handle,
                                          sizeof handle, &model));
  CHECK_STATUS(MEGCC_OK, megcc_context_create(model, place, SEQUENCE_CONTEXT_BYTES, &context));
  CHECK_STATUS(MEGCC_OK, megcc_set_arena(context, arena, SEQUENCE_ARENA_BYTES));
  CHECK_STATUS(MEGCC_OK, megcc_input_count(model, &inputs));
  CHECK(inputs == SEQUENCE_STATES + 1 && inputs <= MOST_INPUTS);
  for (k = 0; k < inputs; ++k) {
    CHECK_STATUS(MEGCC_OK, megcc_input_info(context, k, &info[k]));
    ports[k] = memset(test_alloc(info[k].bytes), 0, info[k].bytes);
    CHECK_STATUS(MEGCC_OK, megcc_bind_input(context, k, ports[k], info[k].bytes));
    CHECK_STATUS(k == 0 ? MEGCC_ERR_NAME : MEGCC_OK, megcc_state_output(model, k, &output));
  }
  CHECK_STATUS(MEGCC_OK, megcc_output_info(context, 0, &result));
  y = test_alloc(result.bytes);
  CHECK_STATUS(MEGCC_OK, megcc_bind_output(context, 0, y, result.bytes));
  while (fread(ports[0], info[0].bytes, 1, frames) == 1) {
    CHECK_STATUS(MEGCC_OK, megcc_run(context));
    CHECK(fwrite(y, result.bytes, 1, results) == 1);
  }
  fclose(frames);
  CHECK(fclose(results) == 0);
  for (k = 0; k < inputs; ++k) free(ports[k]);
  free(y), free(arena), free(place);
  return 0;
}
