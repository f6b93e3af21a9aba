// Runs a model of one image, which comes in by rows, and writes its outputs to a file:
//
//   feed IMAGE OUTPUTS ROWS
//
// At most ROWS rows are given at a time; 0: as many as the run waits for, written where they go;
// -1: a random number. Each time, one row too many is refused first, and the memory around the rows
// is compared.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include HEADER
#include "megcc_step.h"

#define CHECK(condition)                                            \
  if (!(condition)) {                                               \
    fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
    exit(1);                                                        \
  }

static void *alloc(size_t bytes) {
  void *found = NULL;
  CHECK(posix_memalign(&found, MEGCC_ALIGNMENT, bytes + 1) == 0);
  memset(found, 0x5A, bytes);
  return found;
}

static uint8_t *arena, *before, *band;
static size_t arena_bytes;

// What the stepper refuses, and that nothing was written then.
static void try_wrong_rows(megcc_stepper_t *stepper, const megcc_rows_t *rows,
                           const uint8_t *image) {
  memcpy(before, arena, arena_bytes);
  CHECK(megcc_put_rows(NULL, rows->input, image, 1) == MEGCC_ERR_NULL);
  CHECK(megcc_put_rows(stepper, rows->input, NULL, 1) == MEGCC_ERR_NULL);
  CHECK(megcc_put_rows(stepper, rows->input, image, rows->count + 1) == MEGCC_ERR_SIZE);
  CHECK(megcc_put_rows(stepper, rows->input, image, 0xFFFFFFFFu) == MEGCC_ERR_SIZE);
  CHECK(megcc_put_rows(stepper, rows->input + 1, image, 1) == MEGCC_ERR_INDEX);
  CHECK(megcc_put_rows(stepper, rows->input, image, 0) == MEGCC_OK);
  CHECK(memcmp(before, arena, arena_bytes) == 0);
}

// Copies rows of the input: to `lines` the planes of a row together, to `planes` each plane's rows.
static void copy_rows(const megcc_rows_t *rows, const uint8_t *input, uint32_t count,
                      uint8_t *lines, uint8_t *planes) {
  const size_t bytes = rows->row_bytes;
  for (uint32_t row = 0; row < count; ++row) {
    for (uint32_t plane = 0; plane < rows->planes; ++plane) {
      const size_t above = (rows->image * rows->planes + plane) * rows->height + rows->first + row;
      memcpy(lines + (row * rows->planes + plane) * bytes, input + above * bytes, bytes);
      memcpy(planes + (plane * count + row) * bytes, input + above * bytes, bytes);
    }
  }
}

static void give(megcc_stepper_t *stepper, const uint8_t *input, int most, uint32_t *next) {
  megcc_rows_t rows;
  uint8_t *at;
  uint32_t count;
  CHECK(megcc_rows_wanted(stepper, &rows) == MEGCC_OK);
  // Each image from its first row on; its last rows are perhaps not read.
  if (rows.image > next[0] && rows.first == 0) next[0] = rows.image, next[1] = 0;
  CHECK(rows.image == next[0] && rows.first == next[1]);
  CHECK(rows.count > 0 && rows.first + rows.count <= rows.height);
  try_wrong_rows(stepper, &rows, input);
  count = most < 0 ? 1 + (uint32_t)rand() % rows.count : (uint32_t)most;
  if (count == 0 || count > rows.count) count = rows.count;
  at = (uint8_t *)rows.data;
  CHECK(at >= arena);
  CHECK(at + rows.count * rows.planes * rows.row_bytes <= arena + arena_bytes);
  memcpy(before, arena, arena_bytes);
  copy_rows(&rows, input, count, before + (at - arena), band);
  if (most == 0) copy_rows(&rows, input, count, at, band);
  CHECK(megcc_put_rows(stepper, rows.input, most == 0 ? at : band, count) == MEGCC_OK);
  CHECK(memcmp(before, arena, arena_bytes) == 0);
  next[1] += count;
}

static void run_in_pieces(megcc_context_t *context, const uint8_t *image, int most) {
  megcc_step_state_t state;
  megcc_stepper_t stepper;
  megcc_rows_t rows;
  uint32_t next[2] = {0, 0};
  CHECK(megcc_stepper_init(&stepper, context) == MEGCC_OK);
  CHECK(megcc_rows_wanted(&stepper, &rows) == MEGCC_ERR_NOT_RUN);
  CHECK(megcc_put_rows(&stepper, 0, image, 1) == MEGCC_ERR_NOT_RUN);
  do {
    CHECK(megcc_step(&stepper, 1 + (uint32_t)(most + 3) % 3, &state) == MEGCC_OK);
    if (state == MEGCC_STEP_ROWS) {
      give(&stepper, image, most, next);
    } else {
      CHECK(megcc_rows_wanted(&stepper, &rows) == MEGCC_ERR_NOT_RUN || state == MEGCC_STEP_MORE);
    }
  } while (state != MEGCC_STEP_DONE);
  CHECK(megcc_put_rows(&stepper, 0, image, 1) == MEGCC_ERR_NOT_RUN);
}

// A run that is cancelled while it waits for rows; the next one begins with the first row.
static void cancel(megcc_context_t *context, const uint8_t *image) {
  megcc_step_state_t state;
  megcc_stepper_t stepper;
  megcc_rows_t rows;
  CHECK(megcc_stepper_init(&stepper, context) == MEGCC_OK);
  CHECK(megcc_step(&stepper, 1, &state) == MEGCC_OK && state == MEGCC_STEP_ROWS);
  CHECK(megcc_put_rows(&stepper, 0, image, 1) == MEGCC_OK);
  megcc_step_cancel(&stepper);
  CHECK(megcc_step(&stepper, 1, &state) == MEGCC_OK && state == MEGCC_STEP_CANCELLED);
  CHECK(megcc_rows_wanted(&stepper, &rows) == MEGCC_ERR_NOT_RUN);
}

int main(int argc, char **argv) {
  megcc_model_t *model = NULL;
  megcc_context_t *context = NULL;
  megcc_tensor_info_t info;
  uint8_t *image, *whole, *output;
  void *memory[2];
  int most;
  FILE *file;
  CHECK(argc == 4);
  most = atoi(argv[3]);
  memory[0] = alloc(MEGCC_MODEL_BYTES);
  memory[1] = alloc(CONTEXT_BYTES);
  CHECK(megcc_model_open(&IMAGE, &KERNELS, memory[0], MEGCC_MODEL_BYTES, &model) == MEGCC_OK);
  CHECK(megcc_context_create(model, memory[1], CONTEXT_BYTES, &context) == MEGCC_OK);
  CHECK(megcc_arena_bytes(context, &arena_bytes) == MEGCC_OK);
  arena = (uint8_t *)alloc(arena_bytes);
  before = (uint8_t *)alloc(arena_bytes);
  CHECK(megcc_set_arena(context, arena, arena_bytes) == MEGCC_OK);
  CHECK(megcc_output_info(context, 0, &info) == MEGCC_OK);
  output = (uint8_t *)alloc(info.bytes);
  whole = (uint8_t *)alloc(info.bytes);
  CHECK(megcc_bind_output(context, 0, output, info.bytes) == MEGCC_OK);
  CHECK(megcc_run(context) == MEGCC_ERR_UNBOUND);
  CHECK(megcc_input_info(context, 0, &info) == MEGCC_OK);
  image = (uint8_t *)alloc(info.bytes);
  band = (uint8_t *)alloc(info.bytes);
  CHECK((file = fopen(argv[1], "rb")) != NULL);
  CHECK(fread(image, 1, info.bytes, file) == info.bytes);
  fclose(file);

  cancel(context, image);
  CHECK(megcc_run(context) == MEGCC_ERR_UNBOUND);
  run_in_pieces(context, image, most);
  run_in_pieces(context, image, most);

  // The whole image bound: the same output, and no stop.
  CHECK(megcc_bind_input(context, 0, image, info.bytes) == MEGCC_OK);
  CHECK(megcc_output_info(context, 0, &info) == MEGCC_OK);
  memcpy(whole, output, info.bytes);
  memset(output, 0x5A, info.bytes);
  CHECK(megcc_run(context) == MEGCC_OK);
  CHECK(memcmp(whole, output, info.bytes) == 0);
  CHECK((file = fopen(argv[2], "wb")) != NULL);
  CHECK(fwrite(output, 1, info.bytes, file) == info.bytes);
  fclose(file);
  free(memory[0]);
  free(memory[1]);
  free(arena);
  free(before);
  free(band);
  free(output);
  free(whole);
  free(image);
  return 0;
}
