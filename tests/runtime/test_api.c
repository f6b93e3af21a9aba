// Every call of megcc.h on the `corners` program: right use, misuse, and the states in between.
#include "check.h"
#include "corners.h"

enum { X, S, EMPTY, A, INPUTS };
enum { Y, DIFFERENCE, SUM, SUM_AGAIN, X_THROUGH, A_THROUGH, WEIGHT, EMPTY_OUT, OUTPUTS = 11 };

static const float kX[6] = {1, 2, 3, 4, 5, 6}, kS = 0.25f, kA[6] = {6, 5, 4, 3, 2, 1};
static const float kW[6] = {1, -2, 3, -4, 5, -6};

static megcc_model_t *open_model(void *memory) {
  megcc_model_t *model = NULL;
  CHECK_STATUS(MEGCC_OK, megcc_model_open(&corners_image, &corners_kernels, memory,
                                          MEGCC_MODEL_BYTES, &model));
  CHECK_STATUS(MEGCC_OK, megcc_model_verify(model));
  return model;
}

static megcc_context_t *make_context(const megcc_model_t *model) {
  megcc_context_t *context = NULL;
  size_t bytes = 0;
  void *memory;
  CHECK_STATUS(MEGCC_OK, megcc_context_bytes(model, &bytes));
  memory = test_alloc(bytes);
  CHECK_STATUS(MEGCC_OK, megcc_context_create(model, memory, bytes, &context));
  CHECK((void *)context == memory);
  return context;
}

static void check_sum(const float *sum) {
  int i;
  for (i = 0; i < 3; ++i) {
    float expected = 0;
    int k;
    for (k = i; k < 6; k += 3) expected += 2 * (kX[k] + kW[k]) + kS + 1 + kA[k] + 0.5f;
    CHECK(sum[i] > expected - 1e-4f && sum[i] < expected + 1e-4f);
  }
}

static void test_open(void) {
  void *memory = test_alloc(MEGCC_MODEL_BYTES);
  megcc_image_t image = corners_image;
  megcc_model_t *model = (megcc_model_t *)memory;
#define OPEN(i, k, m, b) megcc_model_open(i, k, m, b, &model)
  CHECK_STATUS(MEGCC_ERR_NULL, OPEN(NULL, &corners_kernels, memory, MEGCC_MODEL_BYTES));
  CHECK(model == NULL);
  CHECK_STATUS(MEGCC_ERR_NULL, OPEN(&image, NULL, memory, MEGCC_MODEL_BYTES));
  CHECK_STATUS(MEGCC_ERR_NULL, OPEN(&image, &corners_kernels, NULL, MEGCC_MODEL_BYTES));
  CHECK_STATUS(MEGCC_ERR_NULL, megcc_model_open(&image, &corners_kernels, memory, 512, NULL));
  CHECK_STATUS(MEGCC_ERR_MEMORY, OPEN(&image, &corners_kernels, memory, 16));
  CHECK_STATUS(MEGCC_ERR_ALIGNMENT, OPEN(&image, &corners_kernels, (char *)memory + 1, 512));
  image.program.data = NULL;
  CHECK_STATUS(MEGCC_ERR_NULL, OPEN(&image, &corners_kernels, memory, MEGCC_MODEL_BYTES));
  image = corners_image;
  image.program.bytes -= 1;
  CHECK_STATUS(MEGCC_ERR_TRUNCATED, OPEN(&image, &corners_kernels, memory, MEGCC_MODEL_BYTES));
  image = corners_image;
  image.program.data = (const char *)image.program.data + 1;
  CHECK_STATUS(MEGCC_ERR_ALIGNMENT, OPEN(&image, &corners_kernels, memory, MEGCC_MODEL_BYTES));
  image = corners_image;
  image.segment[0].bytes -= 1;
  CHECK_STATUS(MEGCC_ERR_TRUNCATED, OPEN(&image, &corners_kernels, memory, MEGCC_MODEL_BYTES));
  image.segment[0].data = NULL;
  CHECK_STATUS(MEGCC_ERR_NULL, OPEN(&image, &corners_kernels, memory, MEGCC_MODEL_BYTES));
  CHECK(model == NULL);
#undef OPEN
  CHECK_STATUS(MEGCC_ERR_NULL, megcc_model_verify(NULL));
  free(memory);
}

static void test_queries(const megcc_model_t *model) {
  megcc_context_t *context = make_context(model);
  megcc_tensor_info_t info;
  uint32_t n = 99;
  size_t bytes = 0;
  const int32_t good[2] = {2, 3}, bad[2] = {3, 2};
  CHECK_STATUS(MEGCC_OK, megcc_input_count(model, &n));
  CHECK(n == INPUTS);
  CHECK_STATUS(MEGCC_OK, megcc_output_count(model, &n));
  CHECK(n == OUTPUTS);
  CHECK_STATUS(MEGCC_OK, megcc_input_index(model, "s=1", &n));
  CHECK(n == S);
  CHECK_STATUS(MEGCC_OK, megcc_output_index(model, "sum again", &n));
  CHECK(n == SUM_AGAIN);
  CHECK_STATUS(MEGCC_ERR_NAME, megcc_output_index(model, "sum agai", &n));
  CHECK_STATUS(MEGCC_ERR_NAME, megcc_input_index(model, "xx", &n));
  CHECK_STATUS(MEGCC_ERR_NAME, megcc_input_index(model, "", &n));
  CHECK_STATUS(MEGCC_ERR_NULL, megcc_input_index(model, NULL, &n));
  CHECK_STATUS(MEGCC_ERR_NULL, megcc_input_count(NULL, &n));

  CHECK_STATUS(MEGCC_OK, megcc_input_info(context, X, &info));
  CHECK(!strcmp(info.name, "x") && info.dtype == MEGCC_F32 && info.rank == 2);
  CHECK(info.dims[0] == 2 && info.dims[1] == 3 && info.bytes == 24);
  CHECK_STATUS(MEGCC_OK, megcc_input_info(context, S, &info));
  CHECK(info.rank == 0 && info.bytes == 4);
  CHECK_STATUS(MEGCC_OK, megcc_output_info(context, EMPTY_OUT, &info));
  CHECK(info.rank == 2 && info.bytes == 0);
  CHECK_STATUS(MEGCC_ERR_INDEX, megcc_input_info(context, INPUTS, &info));
  CHECK_STATUS(MEGCC_ERR_INDEX, megcc_output_info(context, OUTPUTS, &info));
  CHECK_STATUS(MEGCC_ERR_INDEX, megcc_output_info(context, UINT32_MAX, &info));
  CHECK_STATUS(MEGCC_ERR_NULL, megcc_output_info(context, 0, NULL));

  CHECK_STATUS(MEGCC_OK, megcc_set_input_shape(context, X, 2, good));
  CHECK_STATUS(MEGCC_OK, megcc_set_input_shape(context, S, 0, NULL));
  CHECK_STATUS(MEGCC_ERR_SHAPE, megcc_set_input_shape(context, X, 2, bad));
  CHECK_STATUS(MEGCC_ERR_SHAPE, megcc_set_input_shape(context, X, 1, good));
  CHECK_STATUS(MEGCC_ERR_SHAPE, megcc_set_input_shape(context, X, -1, good));
  CHECK_STATUS(MEGCC_ERR_NULL, megcc_set_input_shape(context, X, 2, NULL));
  CHECK_STATUS(MEGCC_ERR_INDEX, megcc_set_input_shape(context, INPUTS, 2, good));

  CHECK_STATUS(MEGCC_OK, megcc_arena_bytes(context, &bytes));
  CHECK(bytes == CORNERS_ARENA_BYTES && bytes == 256);
  CHECK_STATUS(MEGCC_ERR_NULL, megcc_arena_bytes(NULL, &bytes));
  free(context);
}

static void test_create(const megcc_model_t *model) {
  size_t bytes = 0;
  char *memory;
  megcc_context_t *context;
  CHECK_STATUS(MEGCC_OK, megcc_context_bytes(model, &bytes));
  CHECK(bytes <= CORNERS_CONTEXT_BYTES);
  memory = (char *)test_alloc(bytes + 8);
  CHECK_STATUS(MEGCC_ERR_MEMORY, megcc_context_create(model, memory, bytes - 1, &context));
  CHECK(context == NULL);
  CHECK_STATUS(MEGCC_ERR_ALIGNMENT, megcc_context_create(model, memory + 1, bytes, &context));
  CHECK_STATUS(MEGCC_ERR_NULL, megcc_context_create(NULL, memory, bytes, &context));
  CHECK_STATUS(MEGCC_ERR_NULL, megcc_context_create(model, NULL, bytes, &context));
  CHECK_STATUS(MEGCC_ERR_NULL, megcc_context_create(model, memory, bytes, NULL));
  CHECK_STATUS(MEGCC_ERR_NULL, megcc_context_bytes(model, NULL));
  free(memory);
}

// Nothing is copied: inputs and outputs are bound, the arena's output is read where it is.
static void test_bind(const megcc_model_t *model) {
  megcc_context_t *context = make_context(model);
  float *arena = (float *)test_alloc(256), *out[OUTPUTS], empty = 0;
  const void *data = NULL;
  uint32_t i;
  int run;
  CHECK_STATUS(MEGCC_ERR_NO_ARENA, megcc_run(context));
  CHECK_STATUS(MEGCC_ERR_MEMORY, megcc_set_arena(context, arena, 255));
  CHECK_STATUS(MEGCC_ERR_NULL, megcc_set_arena(context, NULL, 256));
  CHECK_STATUS(MEGCC_ERR_ALIGNMENT, megcc_set_arena(context, arena + 1, 256));
  CHECK_STATUS(MEGCC_OK, megcc_set_arena(context, arena, 256));
  CHECK_STATUS(MEGCC_ERR_UNBOUND, megcc_run(context));

  CHECK_STATUS(MEGCC_ERR_SIZE, megcc_bind_input(context, X, kX, 23));
  CHECK_STATUS(MEGCC_ERR_SIZE, megcc_bind_input(context, X, kX, 25));
  CHECK_STATUS(MEGCC_ERR_NULL, megcc_bind_input(context, X, NULL, 24));
  CHECK_STATUS(MEGCC_ERR_ALIGNMENT, megcc_bind_input(context, X, (const char *)kX + 2, 24));
  CHECK_STATUS(MEGCC_ERR_INDEX, megcc_bind_input(context, INPUTS, kX, 24));
  CHECK_STATUS(MEGCC_ERR_INDEX, megcc_bind_output(context, OUTPUTS, arena, 24));
  CHECK_STATUS(MEGCC_ERR_NULL, megcc_bind_input(NULL, X, kX, 24));
  CHECK_STATUS(MEGCC_ERR_UNBOUND, megcc_copy_input(context, X, kX, 24));
  CHECK_STATUS(MEGCC_OK, megcc_bind_input(context, X, kX, 24));
  CHECK_STATUS(MEGCC_OK, megcc_bind_input(context, S, &kS, 4));
  CHECK_STATUS(MEGCC_OK, megcc_bind_input(context, EMPTY, NULL, 0));
  CHECK_STATUS(MEGCC_OK, megcc_bind_input(context, A, kA, 24));
  for (i = 0; i < OUTPUTS; ++i) {
    megcc_tensor_info_t info;
    CHECK_STATUS(MEGCC_OK, megcc_output_info(context, i, &info));
    out[i] = (float *)test_alloc(info.bytes);
    if (i == SUM) continue;
    CHECK_STATUS(MEGCC_ERR_UNBOUND, megcc_run(context));
    CHECK_STATUS(MEGCC_OK, megcc_bind_output(context, i, out[i], info.bytes));
  }
  CHECK_STATUS(MEGCC_ERR_NOT_RUN, megcc_output_data(context, Y, &data));
  CHECK(data == NULL);
  CHECK_STATUS(MEGCC_ERR_NOT_RUN, megcc_read_output(context, Y, out[Y], 24));
  for (run = 0; run < 3; ++run) {
    memset(arena, 0x5A, 256);
    CHECK_STATUS(MEGCC_OK, megcc_run(context));
    CHECK_STATUS(MEGCC_OK, megcc_output_data(context, SUM, &data));
    CHECK(data == arena + 16);  // where the plan put it
    check_sum((const float *)data);
    check_sum(out[SUM_AGAIN]);
    CHECK(!memcmp(out[X_THROUGH], kX, 24) && !memcmp(out[A_THROUGH], kA, 24));
    CHECK(!memcmp(out[WEIGHT], kW, 24));
  }
  CHECK_STATUS(MEGCC_OK, megcc_output_data(context, Y, &data));
  CHECK(data == out[Y]);
  CHECK_STATUS(MEGCC_ERR_SIZE, megcc_read_output(context, Y, &empty, 4));
  CHECK_STATUS(MEGCC_ERR_NULL, megcc_read_output(context, Y, NULL, 24));
  CHECK_STATUS(MEGCC_OK, megcc_read_output(context, EMPTY_OUT, NULL, 0));
  CHECK_STATUS(MEGCC_ERR_INDEX, megcc_output_data(context, OUTPUTS, &data));
  CHECK_STATUS(MEGCC_ERR_NULL, megcc_output_data(context, Y, NULL));

  // The arena's output may be bound, too.
  CHECK_STATUS(MEGCC_OK, megcc_bind_output(context, SUM, out[SUM], 12));
  CHECK_STATUS(MEGCC_OK, megcc_run(context));
  CHECK_STATUS(MEGCC_OK, megcc_output_data(context, SUM, &data));
  CHECK(data == out[SUM]);
  check_sum(out[SUM]);
  for (i = 0; i < OUTPUTS; ++i) free(out[i]);
  free(arena);
  free(context);
}

// Everything is copied: the caller keeps no buffers.
static void test_copy(const megcc_model_t *model) {
  megcc_context_t *context = make_context(model);
  float *arena = (float *)test_alloc(256), value[6];
  size_t bytes = 0;
  void *io;
  CHECK_STATUS(MEGCC_ERR_NO_ARENA, megcc_copy_input(context, A, kA, 24));
  CHECK_STATUS(MEGCC_OK, megcc_set_arena(context, arena, 256));
  CHECK_STATUS(MEGCC_OK, megcc_io_bytes(context, &bytes));
  CHECK(bytes > 0 && bytes % MEGCC_ALIGNMENT == 0);
  io = test_alloc(bytes);
  CHECK_STATUS(MEGCC_ERR_MEMORY, megcc_set_io(context, io, bytes - 1));
  CHECK_STATUS(MEGCC_ERR_NULL, megcc_set_io(context, NULL, bytes));
  CHECK_STATUS(MEGCC_ERR_ALIGNMENT, megcc_set_io(context, (char *)io + 8, bytes));
  CHECK_STATUS(MEGCC_OK, megcc_set_io(context, io, bytes));
  CHECK_STATUS(MEGCC_OK, megcc_copy_input(context, X, kX, 24));
  CHECK_STATUS(MEGCC_OK, megcc_copy_input(context, S, &kS, 4));
  CHECK_STATUS(MEGCC_OK, megcc_copy_input(context, EMPTY, NULL, 0));
  CHECK_STATUS(MEGCC_ERR_UNBOUND, megcc_run(context));  // A is in the arena, and not there yet
  CHECK_STATUS(MEGCC_ERR_SIZE, megcc_copy_input(context, A, kA, 20));
  CHECK_STATUS(MEGCC_ERR_NULL, megcc_copy_input(context, A, NULL, 24));
  CHECK_STATUS(MEGCC_ERR_INDEX, megcc_copy_input(context, INPUTS, kA, 24));
  CHECK_STATUS(MEGCC_OK, megcc_copy_input(context, A, kA, 24));
  CHECK_STATUS(MEGCC_OK, megcc_run(context));
  CHECK_STATUS(MEGCC_OK, megcc_read_output(context, SUM, value, 12));
  check_sum(value);
  CHECK_STATUS(MEGCC_OK, megcc_read_output(context, A_THROUGH, value, 24));
  CHECK(!memcmp(value, kA, 24));
  CHECK_STATUS(MEGCC_ERR_UNBOUND, megcc_run(context));  // the run used A's place
  CHECK_STATUS(MEGCC_OK, megcc_copy_input(context, A, kA, 24));
  CHECK_STATUS(MEGCC_OK, megcc_run(context));
  CHECK_STATUS(MEGCC_OK, megcc_read_output(context, SUM_AGAIN, value, 12));
  check_sum(value);
  free(io);
  free(arena);
  free(context);
}

struct trace {
  int begun, ended, splits;
  char names[256];
};

static void on_call(void *user, megcc_event_t event, uint32_t call, const char *name,
                    const char *kernel) {
  struct trace *t = (struct trace *)user;
  CHECK(strstr(kernel, "t_") == kernel);
  if (event == MEGCC_CALL_BEGIN) {
    CHECK((int)call == t->begun);
    ++t->begun;
    strcat(strcat(t->names, name), ";");
  } else {
    ++t->ended;
  }
}

// A pool of one thread that takes the pieces last to first.
static void in_pieces(void *user, megcc_range_fn range, const void *task, int32_t work,
                      int32_t grain, uint32_t workers) {
  int32_t end;
  CHECK(grain == 1 && workers == 255);
  ++((struct trace *)user)->splits;
  for (end = work; end > 0; --end) range(task, 0, end - 1, end);
}

static void test_hooks(const megcc_model_t *model) {
  megcc_context_t *context = make_context(model);
  float *arena = (float *)test_alloc(256), value[3];
  struct trace trace = {0, 0, 0, ""};
  size_t bytes = 0;
  void *io;
  CHECK_STATUS(MEGCC_OK, megcc_io_bytes(context, &bytes));
  io = test_alloc(bytes);
  CHECK_STATUS(MEGCC_OK, megcc_set_io(context, io, bytes));
  CHECK_STATUS(MEGCC_OK, megcc_set_arena(context, arena, 256));
  CHECK_STATUS(MEGCC_OK, megcc_set_profile(context, on_call, &trace));
  CHECK_STATUS(MEGCC_OK, megcc_set_parallel(context, in_pieces, &trace));
  CHECK_STATUS(MEGCC_ERR_NULL, megcc_set_profile(NULL, on_call, &trace));
  CHECK_STATUS(MEGCC_ERR_NULL, megcc_set_parallel(NULL, in_pieces, &trace));
  CHECK_STATUS(MEGCC_OK, megcc_copy_input(context, X, kX, 24));
  CHECK_STATUS(MEGCC_OK, megcc_copy_input(context, S, &kS, 4));
  CHECK_STATUS(MEGCC_OK, megcc_bind_input(context, A, kA, 24));
  CHECK_STATUS(MEGCC_OK, megcc_run(context));
  CHECK_STATUS(MEGCC_OK, megcc_read_output(context, SUM, value, 3 * sizeof *value));
  check_sum(value);
  CHECK(trace.begun == 6 && trace.ended == 6);
  CHECK(trace.splits == 4);  // not the call with a workspace, not the one without work
  CHECK(!strcmp(trace.names, "x + w;affine;y + a;+ shift;split;no work;"));
  CHECK_STATUS(MEGCC_OK, megcc_set_profile(context, NULL, NULL));
  CHECK_STATUS(MEGCC_OK, megcc_run(context));
  CHECK(trace.begun == 6);
  free(io);
  free(arena);
  free(context);
}

static void test_names(void) {
  int i;
  for (i = 0; i < 64; ++i) {
    const char *text = megcc_status_string((megcc_status_t)i);
    CHECK(text != NULL && strlen(text) > 4);
    CHECK((i <= MEGCC_ERR_OVERLAP) == (strcmp(text, "unknown status") != 0));
    CHECK((megcc_dtype_bytes((megcc_dtype_t)i) != 0) ==
          (strcmp(megcc_dtype_name((megcc_dtype_t)i), "?") != 0));
  }
  CHECK_STATUS(MEGCC_ERR_NULL, megcc_run(NULL));
}

int main(void) {
  void *memory = test_alloc(MEGCC_MODEL_BYTES);
  megcc_model_t *model = open_model(memory);
  test_open();
  test_queries(model);
  test_create(model);
  test_bind(model);
  test_copy(model);
  test_hooks(model);
  test_names();
  free(memory);
  return 0;
}
