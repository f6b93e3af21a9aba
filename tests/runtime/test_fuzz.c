// Damaged images: every truncation and every changed byte is a status, never a crash. Called with
// the path of a model_<arch>.bin of the `corners` package, in one pool or two.
#include "check.h"
#include "corners.h"
#include "megcc_vm.h"

static char memory[MEGCC_MODEL_BYTES] __attribute__((aligned(64)));

// Opens `data` with kernels that touch nothing; runs it when it opens.
static megcc_status_t try_image(const void *data, size_t bytes, const megcc_kernels_t *kernels,
                                int run) {
  megcc_image_t image;
  megcc_model_t *model;
  megcc_context_t *context;
  size_t context_bytes = 0, pool_bytes[MEGCC_MAX_POOLS] = {0}, arena_bytes = 0, io_bytes = 0;
  void *context_memory, *pool[MEGCC_MAX_POOLS] = {NULL}, *io = NULL;
  uint32_t k, pools = 0;
  megcc_status_t status = megcc_image_from_bytes(data, bytes, &image);
  if (status != MEGCC_OK) return status;
  status = megcc_model_open(&image, kernels, memory, sizeof memory, &model);
  if (status != MEGCC_OK) return status;
  if (!run) return megcc_model_verify(model);

  CHECK_STATUS(MEGCC_OK, megcc_context_bytes(model, &context_bytes));
  if (context_bytes > 1 << 20) return MEGCC_OK;  // a changed count of operands
  context_memory = test_alloc(context_bytes);
  CHECK_STATUS(MEGCC_OK, megcc_context_create(model, context_memory, context_bytes, &context));
  CHECK_STATUS(MEGCC_OK, megcc_pool_count(model, &pools));
  CHECK(pools >= 1 && pools <= MEGCC_MAX_POOLS);
  CHECK(megcc_arena_bytes(context, &arena_bytes) == (pools == 1 ? MEGCC_OK : MEGCC_ERR_POOLS));
  for (arena_bytes = 0, k = 0; k < pools; ++k) {
    const char *name = NULL;
    CHECK_STATUS(MEGCC_OK, megcc_pool_info(context, k, &name, &pool_bytes[k]));
    CHECK(strlen(name) < 1000);
    if (pool_bytes[k] > arena_bytes) arena_bytes = pool_bytes[k];
  }
  status = megcc_io_bytes(context, &io_bytes);
  if (status == MEGCC_OK && arena_bytes < 1 << 20 && io_bytes < 1 << 20) {
    uint32_t i, count = 0;
    float *value = (float *)test_alloc(1 << 20);
    for (k = 0; k < pools; ++k) {
      if (pool_bytes[k] == 0) continue;
      pool[k] = aligned_alloc(64, (pool_bytes[k] + 63) / 64 * 64);
      CHECK_STATUS(MEGCC_OK, megcc_set_pool(context, k, pool[k], pool_bytes[k]));
    }
    io = aligned_alloc(64, io_bytes + 64);
    CHECK_STATUS(MEGCC_OK, megcc_set_io(context, io, io_bytes));
    CHECK_STATUS(MEGCC_OK, megcc_input_count(model, &count));
    for (i = 0; i < count; ++i) {
      megcc_tensor_info_t info;
      CHECK_STATUS(MEGCC_OK, megcc_input_info(context, i, &info));
      CHECK(strlen(info.name) < 1000);
      CHECK_STATUS(MEGCC_OK, megcc_copy_input(context, i, value, info.bytes));
    }
    status = megcc_run(context);
    CHECK_STATUS(MEGCC_OK, megcc_output_count(model, &count));
    for (i = 0; status == MEGCC_OK && i < count; ++i) {
      megcc_tensor_info_t info;
      CHECK_STATUS(MEGCC_OK, megcc_output_info(context, i, &info));
      CHECK_STATUS(MEGCC_OK, megcc_read_output(context, i, value, info.bytes));
    }
    free(value);
    for (k = 0; k < pools; ++k) free(pool[k]);
    free(io);
  }
  free(context_memory);
  return status;
}

static void idle(void *const *ptr, const int32_t *attr, void *ws, int32_t begin, int32_t end) {
  (void)ptr, (void)attr, (void)ws, (void)begin, (void)end;
}

int main(int argc, char **argv) {
  const megcc_kernel_fn idles[8] = {idle, idle, idle, idle, idle, idle, idle, idle};
  megcc_kernels_t harmless = corners_kernels;
  size_t bytes = 0, i, program_bytes, opened = 0;
  char *whole;
  CHECK(argc == 2);
  whole = test_read_file(argv[1], &bytes);
  CHECK_STATUS(MEGCC_OK, try_image(whole, bytes, &corners_kernels, 0));
  program_bytes = ((uint32_t *)(void *)whole)[MEGCC_H_BYTES];
  CHECK(program_bytes < bytes && corners_kernels.count <= 8);
  harmless.fn = idles;

  // Cut short: in memory of exactly that size.
  for (i = 0; i < bytes; ++i) {
    char *cut = (char *)malloc(i + 1);  // + 1: malloc(0) may be null
    memcpy(cut, whole, i);
    CHECK_STATUS(MEGCC_ERR_TRUNCATED, try_image(cut, i, &corners_kernels, 0));
    free(cut);
  }
  // More than enough is fine: a flash partition is larger than what it holds.
  CHECK_STATUS(MEGCC_ERR_ALIGNMENT, try_image(whole + 4, bytes - 4, &corners_kernels, 0));
  CHECK_STATUS(MEGCC_ERR_NULL, try_image(NULL, bytes, &corners_kernels, 0));

  // One byte changed, in each of its bits and entirely.
  for (i = 0; i < bytes; ++i) {
    static const unsigned char flips[] = {1, 2, 4, 8, 16, 32, 64, 128, 255};
    size_t f;
    for (f = 0; f < sizeof flips; ++f) {
      whole[i] = (char)(whole[i] ^ flips[f]);
      CHECK(try_image(whole, bytes, &corners_kernels, 0) != MEGCC_OK);
      whole[i] = (char)(whole[i] ^ flips[f]);
    }
  }

  // Changed on purpose, with a correct checksum: what opens can be run (kernels aside, which trust
  // their attributes) without a step outside the memory given.
  for (i = 16; i < program_bytes; ++i) {
    static const unsigned char flips[] = {1, 2, 3, 4, 8, 16, 64, 128, 255};
    uint32_t *word = (uint32_t *)(void *)whole;
    const uint32_t checksum = word[MEGCC_H_CHECKSUM];
    size_t f;
    for (f = 0; f < sizeof flips; ++f) {
      whole[i] = (char)(whole[i] ^ flips[f]);
      word[MEGCC_H_CHECKSUM] = megcc_crc32(whole + 16, program_bytes - 16);
      opened += try_image(whole, bytes, &harmless, 1) == MEGCC_OK;
      whole[i] = (char)(whole[i] ^ flips[f]);
    }
    word[MEGCC_H_CHECKSUM] = checksum;
  }
  CHECK_STATUS(MEGCC_OK, try_image(whole, bytes, &corners_kernels, 0));
  CHECK(opened > 0);
  printf("%lu of the forged images opened\n", (unsigned long)opened);
  free(whole);
  return 0;
}
