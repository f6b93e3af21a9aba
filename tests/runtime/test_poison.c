// A debug build of the `corners` program (programs.planned): its own plan changes nothing, and a
// plan that lets any block die one call too early is seen in the outputs.
#include "check.h"
#include "corners.h"
#include "megcc_vm.h"

#ifndef MEGCC_DEBUG
#error "compile with -DMEGCC_DEBUG"
#endif

enum { X, S, EMPTY, A };
enum { SUM = 2, OUTPUTS = 11, VALUES = 64 };
enum { BLOCK_A, BLOCK_H, BLOCK_AGAIN, BLOCK_WS, BLOCKS };  // sum never dies

static const float kX[6] = {1, 2, 3, 4, 5, 6}, kS = 0.25f, kA[6] = {6, 5, 4, 3, 2, 1};

static char model_memory[MEGCC_MODEL_BYTES] __attribute__((aligned(64)));
static char context_memory[CORNERS_CONTEXT_BYTES] __attribute__((aligned(64)));
static unsigned char arena[CORNERS_ARENA_BYTES] __attribute__((aligned(64)));
static float io[1024] __attribute__((aligned(64)));

static megcc_status_t open_with(const megcc_kernels_t *kernels, megcc_model_t **model) {
  return megcc_model_open(&corners_image, kernels, model_memory, sizeof model_memory, model);
}

static megcc_status_t open_plan(const megcc_plan_t *plan) {
  megcc_kernels_t kernels = corners_kernels;
  megcc_model_t *model;
  kernels.plan = plan;
  return open_with(&kernels, &model);
}

// Runs three times with `plan` and collects all the outputs of the last.
static void run(const megcc_plan_t *plan, float *values) {
  megcc_kernels_t kernels = corners_kernels;
  megcc_model_t *model;
  megcc_context_t *context;
  uint32_t i, k;
  kernels.plan = plan;
  CHECK_STATUS(MEGCC_OK, open_with(&kernels, &model));
  CHECK_STATUS(MEGCC_OK,
               megcc_context_create(model, context_memory, sizeof context_memory, &context));
  memset(arena, 0, sizeof arena);
  CHECK_STATUS(MEGCC_OK, megcc_set_arena(context, arena, sizeof arena));
  CHECK_STATUS(MEGCC_OK, megcc_set_io(context, io, sizeof io));
  for (k = 0; k < 3; ++k) {
    CHECK_STATUS(MEGCC_OK, megcc_copy_input(context, X, kX, 24));
    CHECK_STATUS(MEGCC_OK, megcc_copy_input(context, S, &kS, 4));
    CHECK_STATUS(MEGCC_OK, megcc_copy_input(context, A, kA, 24));  // waits in the arena
    CHECK_STATUS(MEGCC_OK, megcc_run(context));
  }
  memset(values, 0, VALUES * sizeof *values);
  for (i = 0; i < OUTPUTS; ++i) {
    megcc_tensor_info_t info;
    CHECK_STATUS(MEGCC_OK, megcc_output_info(context, i, &info));
    CHECK_STATUS(MEGCC_OK, megcc_read_output(context, i, values, info.bytes));
    values += info.bytes / sizeof *values;
  }
}

static int is_poison(const unsigned char *data, size_t bytes) {
  while (bytes-- > 0) {
    if (*data++ != 0xFF) return 0;
  }
  return 1;
}

// The first run in fresh memory, an input bound: all of the arena but the output is dead at the
// end.
static void test_arena_afterwards(void) {
  float values[VALUES];
  run(corners_kernels.plan, values);
  CHECK(is_poison(arena, 64) && is_poison(arena + 128, 128));      // h; ws, again
  CHECK(!is_poison(arena + 64, 12) && is_poison(arena + 76, 52));  // sum, then nothing
}

static void test_early_deaths(void) {
  // The last reader of each block, moved one call ahead; ws has none but its own call.
  static const int mortal[] = {BLOCK_A, BLOCK_H, BLOCK_AGAIN};
  float right[VALUES], unplanned[VALUES], wrong[VALUES];
  megcc_block_t blocks[BLOCKS];
  megcc_plan_t plan = *corners_kernels.plan;
  size_t i;
  CHECK(plan.count == BLOCKS);
  run(&plan, right);
  for (i = 0; i < VALUES; ++i) CHECK(right[i] == right[i]);
  plan.count = 0;
  run(&plan, unplanned);
  CHECK(!memcmp(right, unplanned, sizeof right));

  plan.count = BLOCKS;
  plan.blocks = blocks;
  for (i = 0; i < sizeof mortal / sizeof *mortal; ++i) {
    int nan = 0, v;
    memcpy(blocks, corners_kernels.plan->blocks, sizeof blocks);
    --blocks[mortal[i]].last;
    run(&plan, wrong);
    for (v = 0; v < VALUES; ++v) nan += wrong[v] != wrong[v];
    CHECK(nan > 0);
  }
  // An output that dies with the call that makes it, and a place given away while it is read.
  memcpy(blocks, corners_kernels.plan->blocks, sizeof blocks);
  blocks[BLOCK_WS].offset = 64;
  run(&plan, wrong);
  CHECK(memcmp(right, wrong, sizeof right));
  memcpy(blocks, corners_kernels.plan->blocks, sizeof blocks);
  blocks[BLOCK_WS].last = 4;
  blocks[BLOCK_WS].offset = 192;
  run(&plan, wrong);
  CHECK(memcmp(right, wrong, sizeof right));
}

static void test_refusals(void) {
  megcc_kernels_t kernels = corners_kernels;
  megcc_model_t *model;
  megcc_block_t block = {0, 1, 0, 192, 64};
  megcc_plan_t plan = {corners_kernels.plan->checksum, 1, &block};
  CHECK_STATUS(MEGCC_OK, open_plan(&plan));
  plan.checksum ^= 1;
  CHECK_STATUS(MEGCC_ERR_KERNELS, open_plan(&plan));
  plan.checksum ^= 1;
  block.bytes = 65;
  CHECK_STATUS(MEGCC_ERR_CORRUPT, open_plan(&plan));
  block.bytes = UINT64_MAX;
  CHECK_STATUS(MEGCC_ERR_CORRUPT, open_plan(&plan));
  block.bytes = 0;
  block.offset = 257;
  CHECK_STATUS(MEGCC_ERR_CORRUPT, open_plan(&plan));
  block.offset = 0;
  block.pool = 1;
  CHECK_STATUS(MEGCC_ERR_CORRUPT, open_plan(&plan));
  // Kernels of a release build have no plan: these structs differ.
  kernels.abi = MEGCC_ABI;
  CHECK_STATUS(MEGCC_ERR_VERSION, open_with(&kernels, &model));
}

int main(void) {
  test_arena_afterwards();
  test_early_deaths();
  test_refusals();
  return 0;
}
