// One inference on memory that is there from the start; prints the bytes of every output in
// hexadecimal, a line each. `case.h` is written by the test: the package's names and the inputs.
#include "board.h"
#include "case.h"

#include "marks.h"

static union {
  char bytes[MEGCC_MODEL_BYTES];
  void *align;
} model_memory;
static union {
  char bytes[CONTEXT_BYTES];
  void *align;
} context_memory;
static char arena[ARENA_BYTES + MEGCC_ALIGNMENT];
static char outputs[OUTPUT_BYTES + 8 * OUTPUTS] __attribute__((aligned(8)));

static void check(megcc_status_t status) {
  if (status == MEGCC_OK) return;
  board_print(megcc_status_string(status));
  board_exit(2);
}

static void print(const unsigned char *bytes, size_t count) {
  char two[3] = "";
  for (size_t k = 0; k < count; ++k) {
    two[0] = "0123456789abcdef"[bytes[k] >> 4];
    two[1] = "0123456789abcdef"[bytes[k] & 15];
    board_print(two);
  }
  board_print("\n");
}

int main(void) {
  megcc_model_t *model;
  megcc_context_t *context;
  megcc_tensor_info_t info;
  char *to = outputs;
  check(megcc_model_open(&IMAGE, &KERNELS, &model_memory, sizeof model_memory, &model));
  check(megcc_context_create(model, &context_memory, sizeof context_memory, &context));
  check(megcc_set_arena(
      context, arena + (MEGCC_ALIGNMENT - (uintptr_t)arena % MEGCC_ALIGNMENT) % MEGCC_ALIGNMENT,
      ARENA_BYTES));
  for (uint32_t k = 0; k < INPUTS; ++k) check(megcc_bind_input(context, k, input[k], bytes[k]));
  for (uint32_t k = 0; k < OUTPUTS; ++k) {
    check(megcc_output_info(context, k, &info));
    check(megcc_bind_output(context, k, to, info.bytes));
    to += (info.bytes + 7) / 8 * 8;
  }
  MEGCC_COUNT_BEGIN();
  check(megcc_run(context));
  MEGCC_COUNT_END();
  to = outputs;
  for (uint32_t k = 0; k < OUTPUTS; ++k) {
    check(megcc_output_info(context, k, &info));
    print((const unsigned char *)to, info.bytes);
    to += (info.bytes + 7) / 8 * 8;
  }
  return 0;
}
