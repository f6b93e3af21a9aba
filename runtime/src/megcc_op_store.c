// STORE: write a size to a tensor; loops count to it.
//
//   word 1 tensor (i64, one element), 2 value.
#include "megcc_vm.h"

enum { TENSOR = 1, VALUE, WORDS };

static megcc_status_t check(const megcc_model_t *m, const uint32_t *code, uint32_t words) {
  if (words != WORDS || !megcc_is_counter(m, code[TENSOR])) return MEGCC_ERR_CORRUPT;
  if (!megcc_tensor_is_writable(m, code[TENSOR])) return MEGCC_ERR_CORRUPT;
  return code[VALUE] < m->count[MEGCC_S_VALUES] ? MEGCC_OK : MEGCC_ERR_CORRUPT;
}

static megcc_status_t run(megcc_context_t *c, const uint32_t *code) {
  const int64_t size = c->shaped->value[code[VALUE]];
  if (!megcc_has_memory(c, code + TENSOR, 1)) return MEGCC_ERR_DATA;
  megcc_copy(megcc_tensor_data(c, code[TENSOR]), &size, sizeof size);
  return MEGCC_OK;
}

const megcc_op_t megcc_op_store = {check, run};
