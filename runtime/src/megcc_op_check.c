// CHECK: end the run unless a condition holds.
//
//   word 1 name, 2 condition (a tensor, one bool).
#include "megcc_vm.h"

enum { NAME = 1, CONDITION };

static megcc_status_t check(const megcc_model_t *m, const uint32_t *code, uint32_t words) {
  megcc_tensor_t t;
  if (words != 3 || code[NAME] >= m->count[MEGCC_S_STRINGS]) return MEGCC_ERR_CORRUPT;
  if (!megcc_find_tensor(m, code[CONDITION], &t)) return MEGCC_ERR_CORRUPT;
  return t.dtype == MEGCC_BOOL && t.bytes == 1 ? MEGCC_OK : MEGCC_ERR_CORRUPT;
}

static megcc_status_t run(megcc_context_t *c, const uint32_t *code) {
  if (!megcc_has_memory(c, code + CONDITION, 1)) return MEGCC_ERR_DATA;
  return *megcc_tensor_data(c, code[CONDITION]) != 0 ? MEGCC_OK : MEGCC_ERR_DATA;
}

const megcc_op_t megcc_op_check = {check, run};
