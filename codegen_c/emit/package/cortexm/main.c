// One inference on memory that is there from the start. Prints the bytes of every output in
// hexadecimal, a line each, and how much of the stack was used.
#include "board.h"
#include "model.h"

#include MEGCC_EXAMPLE_HEADER

// Bits of the inputs whose images come in by rows.
#if defined(MEGCC_EXAMPLE_ROWS)
#include "megcc_step.h"
#define ZEROS static const  // in the flash: no memory has room for the image
#else
#define MEGCC_EXAMPLE_ROWS 0
#define ZEROS static
#endif

// Put around the run by the compiler's command line (-include hooks.h), to measure it.
#ifndef MEGCC_BENCH_BEGIN
#define MEGCC_BENCH_BEGIN() ((void)0)
#endif
#ifndef MEGCC_BENCH_END
#define MEGCC_BENCH_END() ((void)0)
#endif

// Attributes of the arena, as __attribute__((section(".x"))) for a memory without wait states.
#ifndef MEGCC_FAST_DATA
#define MEGCC_FAST_DATA
#endif

// Unions give memory an alignment that C99 has no word for.
static union {
  char bytes[MEGCC_MODEL_BYTES];
  void *align;
} model_memory;
static union {
  char bytes[MEGCC_EXAMPLE_CONTEXT_BYTES];
  void *align;
} context_memory;
MEGCC_FAST_DATA static char arena[MEGCC_EXAMPLE_ARENA_BYTES + MEGCC_ALIGNMENT];
static union {
  char bytes[MEGCC_EXAMPLE_OUTPUT_BYTES];
  uint64_t align;
} outputs;

// The inputs, each at a multiple of 8 bytes: of a file (make INPUTS=FILE), or zeros.
#if defined(INPUTS)
extern const char inputs[];
__asm__(
    ".section .rodata.inputs,\"a\",%progbits\n.balign 8\n"
    "inputs: .incbin \"" INPUTS "\"\n.text\n");
#else
ZEROS union {
  char bytes[MEGCC_EXAMPLE_INPUT_BYTES];
  uint64_t align;
} zeros;
#define inputs zeros.bytes
#endif

static void check(megcc_status_t status) {
  if (status == MEGCC_OK) return;
  board_print(megcc_status_string(status));
  board_print("\n");
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

static size_t up(size_t bytes) { return (bytes + 7) / 8 * 8; }

#if MEGCC_EXAMPLE_ROWS
// Copies rows of an image in memory to where the run wants them.
static megcc_status_t put_rows(megcc_stepper_t *stepper, const megcc_rows_t *rows,
                               const char *input) {
  const size_t plane_bytes = rows->height * rows->row_bytes;
  char *to = rows->data;
  for (uint32_t row = rows->first; row < rows->first + rows->count; ++row) {
    for (uint32_t plane = 0; plane < rows->planes; ++plane) {
      const char *from = input + (rows->image * rows->planes + plane) * plane_bytes;
      for (size_t i = 0; i < rows->row_bytes; ++i) *to++ = from[row * rows->row_bytes + i];
    }
  }
  return megcc_put_rows(stepper, rows->input, rows->data, rows->count);
}

// A run that is given the rows of its images as it wants them; a camera would write them.
static megcc_status_t run(megcc_context_t *context) {
  megcc_stepper_t stepper;
  megcc_step_state_t state = MEGCC_STEP_MORE;
  megcc_status_t status = megcc_stepper_init(&stepper, context);
  while (status == MEGCC_OK && state != MEGCC_STEP_DONE) {
    status = megcc_step(&stepper, UINT32_MAX, &state);
    if (status == MEGCC_OK && state == MEGCC_STEP_ROWS) {
      const char *from = inputs;
      megcc_tensor_info_t info;
      megcc_rows_t rows;
      check(megcc_rows_wanted(&stepper, &rows));
      for (uint32_t k = 0; k < rows.input; ++k) {
        check(megcc_input_info(context, k, &info));
        from += up(info.bytes);
      }
      status = put_rows(&stepper, &rows, from);
    }
  }
  return status;
}
#else
#define run megcc_run
#endif

// Copies the value of the input that shares the memory of an output to where the output will be.
static void take_state(const megcc_model_t *model, uint32_t output, char *to, uint32_t input_count,
                       const megcc_context_t *context) {
  const char *from = inputs;
  for (uint32_t k = 0; k < input_count; ++k) {
    megcc_tensor_info_t info;
    uint32_t partner;
    check(megcc_input_info(context, k, &info));
    if (megcc_state_output(model, k, &partner) == MEGCC_OK && partner == output) {
      for (size_t i = 0; i < info.bytes; ++i) to[i] = from[i];
    }
    from += up(info.bytes);
  }
}

int main(void) {
  megcc_model_t *model;
  megcc_context_t *context;
  megcc_tensor_info_t info;
  uint32_t input_count, output_count;
  const char *from = inputs;
  char *to = outputs.bytes;
  check(megcc_model_open(&MEGCC_EXAMPLE_IMAGE, &MEGCC_EXAMPLE_KERNELS, &model_memory,
                         sizeof model_memory, &model));
  check(megcc_context_create(model, &context_memory, sizeof context_memory, &context));
  check(megcc_set_arena(
      context, arena + (MEGCC_ALIGNMENT - (uintptr_t)arena % MEGCC_ALIGNMENT) % MEGCC_ALIGNMENT,
      MEGCC_EXAMPLE_ARENA_BYTES));
  check(megcc_input_count(model, &input_count));
  for (uint32_t k = 0; k < input_count; ++k) {
    check(megcc_input_info(context, k, &info));
    if (!(MEGCC_EXAMPLE_ROWS >> k & 1)) check(megcc_bind_input(context, k, from, info.bytes));
    from += up(info.bytes);
  }
  check(megcc_output_count(model, &output_count));
  for (uint32_t k = 0; k < output_count; ++k) {
    check(megcc_output_info(context, k, &info));
    take_state(model, k, to, input_count, context);
    check(megcc_bind_output(context, k, to, info.bytes));
    to += up(info.bytes);
  }
  MEGCC_BENCH_BEGIN();
  check(run(context));
  MEGCC_BENCH_END();
  to = outputs.bytes;
  for (uint32_t k = 0; k < output_count; ++k) {
    check(megcc_output_info(context, k, &info));
    print((const unsigned char *)to, info.bytes);
    to += up(info.bytes);
  }
  board_print("stack: ");
  board_print_number(board_stack_bytes());
  board_print(" bytes\n");
  return 0;
}
