// COPY in a package whose shapes can change: both tensors must have their memory by now, and as
// many bytes.
#include "megcc_vm.h"

static megcc_status_t check(const megcc_model_t *m, const uint32_t *code, uint32_t words) {
  return megcc_op_copy.check(m, code, words);
}

static megcc_status_t run(megcc_context_t *context, const uint32_t *code) {
  if (!megcc_has_memory(context, code + 1, 2)) return MEGCC_ERR_DATA;
  if (megcc_tensor_in(context, code[1]).bytes != megcc_tensor_in(context, code[2]).bytes) {
    return MEGCC_ERR_DATA;
  }
  return megcc_op_copy.run(context, code);
}

const megcc_op_t megcc_op_copy_shaped = {check, run};
