// A model in two pools (programs.in_two_pools): each gets memory of its own, in any order.
#include "check.h"
#include "corners.h"

enum { X, S, EMPTY, A };
enum { SUM = 2 };

static const float kX[6] = {1, 2, 3, 4, 5, 6}, kS = 0.25f, kA[6] = {6, 5, 4, 3, 2, 1};

static void test_queries(const megcc_model_t *model, megcc_context_t *context) {
  const char *name = NULL;
  uint32_t count = 0;
  size_t bytes = 0;
  CHECK_STATUS(MEGCC_OK, megcc_pool_count(model, &count));
  CHECK(count == 2);
  CHECK_STATUS(MEGCC_ERR_NULL, megcc_pool_count(NULL, &count));
  CHECK_STATUS(MEGCC_ERR_NULL, megcc_pool_count(model, NULL));
  CHECK_STATUS(MEGCC_OK, megcc_pool_info(context, CORNERS_POOL_SRAM, &name, &bytes));
  CHECK(!strcmp(name, "sram") && bytes == 128 && bytes == CORNERS_POOL_SRAM_BYTES);
  CHECK_STATUS(MEGCC_OK, megcc_pool_info(context, CORNERS_POOL_PS_RAM_2, &name, &bytes));
  CHECK(!strcmp(name, "ps-ram 2") && bytes == 128 && bytes == CORNERS_POOL_PS_RAM_2_BYTES);
  CHECK(CORNERS_ARENA_BYTES == CORNERS_POOL_SRAM_BYTES + CORNERS_POOL_PS_RAM_2_BYTES);
  CHECK_STATUS(MEGCC_ERR_INDEX, megcc_pool_info(context, 2, &name, &bytes));
  CHECK_STATUS(MEGCC_ERR_INDEX, megcc_pool_info(context, UINT32_MAX, &name, &bytes));
  CHECK_STATUS(MEGCC_ERR_NULL, megcc_pool_info(NULL, 0, &name, &bytes));
  CHECK_STATUS(MEGCC_ERR_NULL, megcc_pool_info(context, 0, NULL, &bytes));
  CHECK_STATUS(MEGCC_ERR_NULL, megcc_pool_info(context, 0, &name, NULL));
}

// What speaks of one arena has no answer here.
static void test_refusals(megcc_context_t *context, char *memory) {
  size_t bytes = 77;
  CHECK_STATUS(MEGCC_ERR_POOLS, megcc_arena_bytes(context, &bytes));
  CHECK_STATUS(MEGCC_ERR_POOLS, megcc_set_arena(context, memory, 256));
  CHECK_STATUS(MEGCC_ERR_NULL, megcc_set_pool(NULL, 0, memory, 128));
  CHECK_STATUS(MEGCC_ERR_INDEX, megcc_set_pool(context, 2, memory, 128));
  CHECK_STATUS(MEGCC_ERR_MEMORY, megcc_set_pool(context, 1, memory, 127));
  CHECK_STATUS(MEGCC_ERR_NULL, megcc_set_pool(context, 1, NULL, 128));
  CHECK_STATUS(MEGCC_ERR_ALIGNMENT, megcc_set_pool(context, 1, memory + 4, 128));
  CHECK_STATUS(MEGCC_ERR_NO_ARENA, megcc_run(context));
}

int main(void) {
  void *memory = test_alloc(MEGCC_MODEL_BYTES), *mem, *io;
  char *sram = (char *)test_alloc(128), *psram = (char *)test_alloc(128);
  megcc_model_t *model = NULL;
  megcc_context_t *context = NULL;
  const void *data = NULL;
  size_t bytes = 0;
  float first[3], again[3];
  int i;
  CHECK_STATUS(MEGCC_OK, megcc_model_open(&corners_image, &corners_kernels, memory,
                                          MEGCC_MODEL_BYTES, &model));
  CHECK_STATUS(MEGCC_OK, megcc_context_bytes(model, &bytes));
  CHECK(bytes <= CORNERS_CONTEXT_BYTES);
  mem = test_alloc(bytes);
  CHECK_STATUS(MEGCC_OK, megcc_context_create(model, mem, bytes, &context));
  test_queries(model, context);
  test_refusals(context, psram);

  CHECK_STATUS(MEGCC_OK, megcc_io_bytes(context, &bytes));
  io = test_alloc(bytes);
  CHECK_STATUS(MEGCC_OK, megcc_set_io(context, io, bytes));
  CHECK_STATUS(MEGCC_OK, megcc_copy_input(context, X, kX, 24));
  CHECK_STATUS(MEGCC_OK, megcc_copy_input(context, S, &kS, 4));
  CHECK_STATUS(MEGCC_OK, megcc_copy_input(context, EMPTY, NULL, 0));
  CHECK_STATUS(MEGCC_OK, megcc_set_pool(context, CORNERS_POOL_SRAM, sram, 128));
  CHECK_STATUS(MEGCC_ERR_NO_ARENA, megcc_copy_input(context, A, kA, 24));  // A is in psram
  CHECK_STATUS(MEGCC_ERR_NO_ARENA, megcc_run(context));
  CHECK_STATUS(MEGCC_OK, megcc_set_pool(context, CORNERS_POOL_PS_RAM_2, psram, 128));
  CHECK_STATUS(MEGCC_ERR_UNBOUND, megcc_run(context));
  CHECK_STATUS(MEGCC_OK, megcc_copy_input(context, A, kA, 24));
  CHECK(!memcmp(psram + 64, kA, 24));
  CHECK_STATUS(MEGCC_OK, megcc_run(context));
  CHECK_STATUS(MEGCC_OK, megcc_output_data(context, SUM, &data));
  CHECK((const char *)data == sram + 64);
  memcpy(first, data, sizeof first);
  for (i = 0; i < 3; ++i) CHECK(first[i] > -100 && first[i] < 100);

  // Other memory: the output of the last run is gone, the value that waits in the arena, too.
  CHECK_STATUS(MEGCC_OK, megcc_copy_input(context, A, kA, 24));
  CHECK_STATUS(MEGCC_OK, megcc_set_pool(context, CORNERS_POOL_PS_RAM_2, sram, 128));
  CHECK_STATUS(MEGCC_OK, megcc_set_pool(context, CORNERS_POOL_SRAM, psram, 128));
  CHECK_STATUS(MEGCC_ERR_NOT_RUN, megcc_output_data(context, SUM, &data));
  CHECK_STATUS(MEGCC_ERR_UNBOUND, megcc_run(context));
  CHECK_STATUS(MEGCC_OK, megcc_bind_input(context, A, kA, 24));
  CHECK_STATUS(MEGCC_OK, megcc_run(context));
  CHECK_STATUS(MEGCC_OK, megcc_read_output(context, SUM, again, sizeof again));
  CHECK(!memcmp(first, again, sizeof first));

  // Two pools in one memory, and an input within the second of them.
  CHECK_STATUS(MEGCC_OK, megcc_set_pool(context, CORNERS_POOL_SRAM, sram, 128));
  CHECK_STATUS(MEGCC_ERR_OVERLAP, megcc_run(context));
  CHECK_STATUS(MEGCC_OK, megcc_set_pool(context, CORNERS_POOL_SRAM, psram, 128));
  CHECK_STATUS(MEGCC_OK, megcc_run(context));
  CHECK_STATUS(MEGCC_OK, megcc_bind_input(context, A, sram + 104, 24));
  CHECK_STATUS(MEGCC_ERR_OVERLAP, megcc_run(context));
  free(io);
  free(mem);
  free(sram);
  free(psram);
  free(memory);
  return 0;
}
