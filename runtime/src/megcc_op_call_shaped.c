// CALL in a package whose shapes can change: what it reads and writes must have its memory by now.
#include "megcc_vm.h"

static megcc_status_t check(const megcc_model_t *m, const uint32_t *code, uint32_t words) {
  return megcc_op_call.check(m, code, words);
}

static megcc_status_t run(megcc_context_t *context, const uint32_t *code) {
  if (!megcc_call_has_memory(context, code, code + MEGCC_C_FIRST)) return MEGCC_ERR_DATA;
  return megcc_op_call.run(context, code);
}

const megcc_op_t megcc_op_call_shaped = {check, run};
