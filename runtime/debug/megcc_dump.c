// Writes each call's outputs to a file, right after the call: a later one may reuse the memory.
//
// A record: the line "call output dtype rank dims... bytes\n", the call's name and its kernel's,
// each ended by a zero byte, then the bytes.
#include "megcc_dump.h"

#include <stdio.h>
#include <stdlib.h>

#include "megcc_vm.h"

static FILE *file;

static void stop(const char *what) {
  fprintf(stderr, "run: error: MEGCC_DUMP: %s\n", what);
  exit(1);
}

// The instruction of a call; calls are numbered as they stand in the code.
static const uint32_t *code_of(const megcc_model_t *m, uint32_t call) {
  const uint32_t *code = m->section[MEGCC_S_CODE];
  for (;; code += *code >> 8) {
    const uint32_t opcode = *code & 0xFF;
    if (opcode == MEGCC_OP_END) stop("there is no such call");
    if ((opcode == MEGCC_OP_CALL || opcode == MEGCC_OP_CALL_SIZED) && call-- == 0) return code;
  }
}

static void on_call(void *user, megcc_event_t event, uint32_t call, const char *name,
                    const char *kernel) {
  const megcc_context_t *context = (const megcc_context_t *)user;
  const uint32_t *code;
  uint32_t i, first, d;
  if (event != MEGCC_CALL_END) return;
  code = code_of(context->model, call);
  // CALL_SIZED has two words more before its operands.
  first = MEGCC_C_FIRST + ((*code & 0xFF) == MEGCC_OP_CALL_SIZED ? 2 : 0);
  first += code[MEGCC_C_OPERANDS] - code[MEGCC_C_OUTPUTS];
  for (i = 0; i < code[MEGCC_C_OUTPUTS]; ++i) {
    const uint32_t id = code[first + i];
    const megcc_tensor_t t = megcc_tensor_in(context, id);
    fprintf(file, "%lu %lu %s %lu", (unsigned long)call, (unsigned long)i,
            megcc_dtype_name((megcc_dtype_t)t.dtype), (unsigned long)t.rank);
    for (d = 0; d < t.rank; ++d) {
      const int32_t dim = t.dims[d];
      fprintf(file, " %ld", (long)(dim < 0 ? context->shaped->value[-1 - dim] : dim));
    }
    fprintf(file, " %lu\n%s%c%s%c", (unsigned long)t.bytes, name, 0, kernel, 0);
    if (t.bytes > 0 && fwrite(megcc_tensor_data(context, id), 1, t.bytes, file) != t.bytes) {
      stop("cannot be written");
    }
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
