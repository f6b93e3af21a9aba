// Forged images: what opens can be resolved and run (kernels aside) without a step outside the
// memory given. It may run for ever, where it has loops: then a kernel ends it after many calls.
//
// The including test defines FORGED_KERNELS, the model's kernels, and set_shapes, which gives its
// inputs the shapes for a size. It is called with the path of the model's model_<arch>.bin.
#ifndef MEGCC_TEST_FORGE_H
#define MEGCC_TEST_FORGE_H

#include <setjmp.h>

#include "check.h"
#include "megcc_vm.h"

enum { LIMIT = 1 << 18, MANY = 1000 };

static void set_shapes(megcc_context_t *c, int32_t n);

static char memory[MEGCC_MODEL_BYTES] __attribute__((aligned(64)));
static float values[LIMIT];

static void *allocate(void *user, size_t bytes) {
  (void)user;
  return bytes < LIMIT ? aligned_alloc(64, (bytes + 63) / 64 * 64) : NULL;
}

static void give_back(void *user, void *data, size_t bytes) {
  (void)user;
  (void)bytes;
  free(data);
}

static jmp_buf too_long;
static uint32_t calls;
static char *arena;

static void bind_all(megcc_context_t *c, const megcc_model_t *model) {
  uint32_t i, count = 0;
  megcc_tensor_info_t info;
  CHECK_STATUS(MEGCC_OK, megcc_input_count(model, &count));
  for (i = 0; i < count; ++i) {
    CHECK_STATUS(MEGCC_OK, megcc_input_info(c, i, &info));
    if (info.bytes <= sizeof values) (void)megcc_bind_input(c, i, values, info.bytes);
  }
  CHECK_STATUS(MEGCC_OK, megcc_output_count(model, &count));
  for (i = 0; i < count; ++i) {
    CHECK_STATUS(MEGCC_OK, megcc_output_info(c, i, &info));
    if (info.bytes <= sizeof values) (void)megcc_bind_output(c, i, values, info.bytes);
  }
}

static void run_at(megcc_context_t *c, const megcc_model_t *model, int32_t n) {
  size_t bytes = 0, i;
  uint32_t count = 0;
  megcc_status_t status;
  set_shapes(c, n);
  if (megcc_arena_bytes(c, &bytes) != MEGCC_OK || bytes > LIMIT) return;
  arena = (char *)aligned_alloc(64, bytes / 64 * 64 + 64);
  // Small numbers, in case they are read as sizes.
  for (i = 0; i < bytes; ++i) arena[i] = i % 8 == 0 ? (char)(i / 8 % 3) : 0;
  CHECK_STATUS(MEGCC_OK, megcc_set_arena(c, arena, bytes));
  bind_all(c, model);
  calls = 0;
  status = setjmp(too_long) == 0 ? megcc_run(c) : MEGCC_ERR_DATA;
  if (status == MEGCC_OK) {
    CHECK_STATUS(MEGCC_OK, megcc_output_count(model, &count));
    for (i = 0; i < count; ++i) {
      megcc_tensor_info_t info;
      CHECK_STATUS(MEGCC_OK, megcc_output_info(c, (uint32_t)i, &info));
      if (info.bytes <= sizeof values) {
        CHECK_STATUS(MEGCC_OK, megcc_read_output(c, (uint32_t)i, values, info.bytes));
      }
    }
  }
  free(arena);
}

static int try_image(const void *data, size_t bytes, const megcc_kernels_t *kernels) {
  megcc_image_t image;
  megcc_model_t *model;
  megcc_context_t *context;
  size_t context_bytes = 0;
  void *mem;
  if (megcc_image_from_bytes(data, bytes, &image) != MEGCC_OK) return 0;
  if (megcc_model_open(&image, kernels, memory, sizeof memory, &model) != MEGCC_OK) return 0;
  CHECK_STATUS(MEGCC_OK, megcc_context_bytes(model, &context_bytes));
  if (context_bytes > LIMIT) return 1;
  mem = test_alloc(context_bytes);
  CHECK_STATUS(MEGCC_OK, megcc_context_create(model, mem, context_bytes, &context));
  CHECK_STATUS(MEGCC_OK, megcc_set_allocator(context, allocate, give_back, NULL));
  run_at(context, model, 3);
  run_at(context, model, 0);
  run_at(context, model, 8);
  CHECK_STATUS(MEGCC_OK, megcc_release(context));
  free(mem);
  return 1;
}

static void idle(void *const *ptr, const int32_t *attr, void *ws, int32_t begin, int32_t end) {
  (void)ptr, (void)attr, (void)ws, (void)begin, (void)end;
  if (++calls > MANY) longjmp(too_long, 1);
}

int main(int argc, char **argv) {
  megcc_kernel_fn idles[64];
  megcc_kernels_t harmless = FORGED_KERNELS;
  size_t bytes = 0, i, program_bytes, opened = 0;
  char *whole;
  uint32_t *word;
  CHECK(argc == 2 && harmless.count <= 64);
  for (i = 0; i < 64; ++i) idles[i] = idle;
  harmless.fn = idles;
  whole = test_read_file(argv[1], &bytes);
  word = (uint32_t *)(void *)whole;
  program_bytes = word[MEGCC_H_BYTES];
  CHECK(try_image(whole, bytes, &FORGED_KERNELS));
  for (i = 16; i < program_bytes; ++i) {
    static const unsigned char flips[] = {1, 2, 3, 4, 8, 16, 64, 128, 255};
    const uint32_t checksum = word[MEGCC_H_CHECKSUM];
    size_t f;
    for (f = 0; f < sizeof flips; ++f) {
      whole[i] = (char)(whole[i] ^ flips[f]);
      word[MEGCC_H_CHECKSUM] = megcc_crc32(whole + 16, program_bytes - 16);
      opened += (size_t)try_image(whole, bytes, &harmless);
      whole[i] = (char)(whole[i] ^ flips[f]);
    }
    word[MEGCC_H_CHECKSUM] = checksum;
  }
  printf("%lu of the forged images opened\n", (unsigned long)opened);
  free(whole);
  return 0;
}

#endif  // MEGCC_TEST_FORGE_H
