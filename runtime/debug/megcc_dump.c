// Writes each call's outputs to a file, right after the call: a later one may reuse the memory.
//
// A record: the line "function call output dtype rank dims... bytes\n", the call's name and its
// kernel's, each ended by a zero byte, then the bytes. Of a call in bands of rows each band is a
// record of its own, whose dims are rows and bytes of a row.
#include "megcc_dump.h"

#include <stdio.h>
#include <stdlib.h>

#include "megcc_vm.h"

static FILE *file;

static void stop(const char *what) {
  fprintf(stderr, "run: error: MEGCC_DUMP: %s\n", what);
  exit(1);
}

static int is_band(const uint32_t *code) {
  return (*code & 0xFF) == MEGCC_OP_BAND || (*code & 0xFF) == MEGCC_OP_BAND_SIZED;
}

// What a word of a band says that may be the number of a value.
static uint32_t size_of(const megcc_context_t *c, const uint32_t *code, uint32_t word) {
  return (*code & 0xFF) == MEGCC_OP_BAND_SIZED ? (uint32_t)c->shaped->value[word] : word;
}

// The instruction of a call; calls are numbered as they stand in the code.
static const uint32_t *code_of(const megcc_model_t *m, uint32_t call) {
  const uint32_t *code = m->section[MEGCC_S_CODE];
  for (;; code += *code >> 8) {
    const uint32_t opcode = *code & 0xFF;
    if (opcode == MEGCC_OP_END) stop("there is no such call");
    if (opcode != MEGCC_OP_CALL && opcode != MEGCC_OP_CALL_SIZED && !is_band(code)) continue;
    if (call-- == 0) return code;
  }
}

static void begin_record(const megcc_context_t *context, uint32_t call, uint32_t output,
                         uint32_t dtype, uint32_t rank) {
  fprintf(file, "%lu %lu %lu %s %lu", (unsigned long)context->model->function, (unsigned long)call,
          (unsigned long)output, megcc_dtype_name((megcc_dtype_t)dtype), (unsigned long)rank);
}

static void end_record(const char *name, const char *kernel, const void *data, size_t bytes) {
  fprintf(file, " %lu\n%s%c%s%c", (unsigned long)bytes, name, 0, kernel, 0);
  if (bytes > 0 && fwrite(data, 1, bytes, file) != bytes) stop("cannot be written");
}

// The rows that a BAND has computed, which are where its last operand pointed to. A result that is
// no band, but adds up all of them, is complete after the last one.
static void write_band(const megcc_context_t *c, const uint32_t *code, uint32_t call,
                       const char *name, const char *kernel) {
  const uint32_t last = code[MEGCC_C_OPERANDS] - 1;
  const uint32_t *band = code + MEGCC_BAND_OPERANDS + code[MEGCC_C_OPERANDS];
  megcc_path_t out = megcc_path_of(code + MEGCC_BAND_OUTPUT);
  const uint8_t *data = (const uint8_t *)c->operand[last];
  const megcc_tensor_t result = megcc_tensor_in(c, code[MEGCC_BAND_OPERANDS + last]);
  const uint32_t period = code[MEGCC_BAND_PERIOD];
  int64_t t, image = 0;
  int32_t lo, rows;
  uint32_t row_bytes, bands = code[MEGCC_BAND_BANDS];
  for (; bands > 0 && (band[0] & 0xFFFF) != last; --bands) band += MEGCC_BAND_WORDS;
  out.height = (int32_t)size_of(c, code, (uint32_t)out.height);
  megcc_copy(&t, megcc_tensor_data(c, code[MEGCC_BAND_COUNTER]), sizeof t);
  if (period != 0) image = t / period, t %= period;
  lo = megcc_row_at(&out, t);
  rows = megcc_row_at(&out, t + 1) - lo;
  if (bands == 0) {
    if (megcc_row_at(&out, t + 1) < out.height) return;
    lo = 0, rows = 1, row_bytes = (uint32_t)result.bytes;
  } else {
    row_bytes = size_of(c, code, band[1]);
  }
  // A kernel that does a part of its work has a pointer to where row 0 of the first image would be.
  if (code[MEGCC_BAND_BLOCK] == 0)
    data = (const uint8_t *)((uintptr_t)data + (uintptr_t)(image * out.height + lo) * row_bytes);
  begin_record(c, call, 0, result.dtype, 2);
  fprintf(file, " %ld %lu", (long)rows, (unsigned long)row_bytes);
  end_record(name, kernel, data, (size_t)rows * row_bytes);
}

static void on_call(void *user, megcc_event_t event, uint32_t call, const char *name,
                    const char *kernel) {
  const megcc_context_t *context = (const megcc_context_t *)user;
  const uint32_t *code;
  uint32_t i, first, d;
  if (event != MEGCC_CALL_END) return;
  code = code_of(context->model, call);
  if (is_band(code)) {
    write_band(context, code, call, name, kernel);
    return;
  }
  // CALL_SIZED has two words more before its operands.
  first = MEGCC_C_FIRST + ((*code & 0xFF) == MEGCC_OP_CALL_SIZED ? 2 : 0);
  first += code[MEGCC_C_OPERANDS] - code[MEGCC_C_OUTPUTS];
  for (i = 0; i < code[MEGCC_C_OUTPUTS]; ++i) {
    const uint32_t id = code[first + i];
    const megcc_tensor_t t = megcc_tensor_in(context, id);
    begin_record(context, call, i, t.dtype, t.rank);
    for (d = 0; d < t.rank; ++d) {
      const int32_t dim = t.dims[d];
      fprintf(file, " %ld", (long)(dim < 0 ? context->shaped->value[-1 - dim] : dim));
    }
    end_record(name, kernel, megcc_tensor_data(context, id), t.bytes);
  }
}

void megcc_dump_begin(megcc_context_t *context) {
  const char *path = getenv("MEGCC_DUMP");
  file = path != NULL ? fopen(path, "wb") : NULL;
  if (file == NULL) stop("cannot be opened");
  if (megcc_set_profile(context, on_call, context) != MEGCC_OK) stop("no context");
}

void megcc_dump_end(megcc_context_t *context) {
  (void)megcc_set_profile(context, NULL, NULL);
  if (fclose(file) != 0) stop("cannot be written");
}
