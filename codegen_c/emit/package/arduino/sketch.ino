// One inference per second, with inputs of zeros: fill `input` with what the model is to see.
#include <@IDENT@.h>

// Attributes of the arena, as DMAMEM on a Teensy.
#ifndef MEGCC_FAST_DATA
#define MEGCC_FAST_DATA
#endif

static union {
  char bytes[MEGCC_MODEL_BYTES];
  void *align;
} model_memory;
static union {
  char bytes[@UPPER@_CONTEXT_BYTES];
  void *align;
} context_memory;
MEGCC_FAST_DATA static char arena[@UPPER@_ARENA_BYTES + MEGCC_ALIGNMENT];

// All inputs and all outputs one after another, each at a multiple of 8 bytes.
static union {
  char bytes[@INPUT_BYTES@];
  uint64_t align;
} input;
static union {
  char bytes[@OUTPUT_BYTES@];
  uint64_t align;
} output;

static megcc_model_t *model;
static megcc_context_t *context;

static void check(megcc_status_t status) {
  if (status == MEGCC_OK) return;
  Serial.println(megcc_status_string(status));
  for (;;) delay(1000);
}

void setup() {
  uint32_t count, k;
  megcc_tensor_info_t info;
  char *place = input.bytes;
  const size_t past = (size_t)((uintptr_t)arena % MEGCC_ALIGNMENT);
  Serial.begin(115200);
  check(megcc_model_open(&@IDENT@_image, &@IDENT@_kernels, &model_memory, sizeof model_memory,
                         &model));
  check(megcc_context_create(model, &context_memory, sizeof context_memory, &context));
  check(megcc_set_arena(context, arena + (MEGCC_ALIGNMENT - past) % MEGCC_ALIGNMENT,
                        @UPPER@_ARENA_BYTES));
  check(megcc_input_count(model, &count));
  for (k = 0; k < count; ++k) {
    check(megcc_input_info(context, k, &info));
    check(megcc_bind_input(context, k, place, info.bytes));
    place += (info.bytes + 7) / 8 * 8;
  }
  place = output.bytes;
  check(megcc_output_count(model, &count));
  for (k = 0; k < count; ++k) {
    check(megcc_output_info(context, k, &info));
    check(megcc_bind_output(context, k, place, info.bytes));
    place += (info.bytes + 7) / 8 * 8;
  }
}

void loop() {
  const unsigned long begin = micros();
  check(megcc_run(context));
  Serial.println(micros() - begin);
  delay(1000);
}
