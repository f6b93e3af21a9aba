// CALL_SIZED: run a kernel whose work or attributes follow from the shapes.
//
//   words 1 ... 7 as CALL, but 3 is the value that says the work; 8 the value of the first
//   attribute, 9 the number of attributes (consecutive values), then the operands.
#include "megcc_vm.h"

enum { ATTR = MEGCC_C_FIRST, ATTRS, OPERANDS = MEGCC_C_FIRST_OF_SIZED };

static megcc_status_t check(const megcc_model_t *m, const uint32_t *code, uint32_t words) {
  const uint32_t values = m->count[MEGCC_S_VALUES];
  const megcc_status_t status = megcc_check_call(m, code, words, OPERANDS);
  if (status != MEGCC_OK) return status;
  if (code[MEGCC_C_WORK] >= values) return MEGCC_ERR_CORRUPT;
  if (code[ATTR] > values || code[ATTRS] > values - code[ATTR]) return MEGCC_ERR_CORRUPT;
  return MEGCC_OK;
}

static megcc_status_t run(megcc_context_t *context, const uint32_t *code) {
  const int32_t *value = context->shaped->value;
  if (!megcc_call_has_memory(context, code, code + OPERANDS)) return MEGCC_ERR_DATA;
  return megcc_call(context, code, 0, value[code[MEGCC_C_WORK]], value + code[ATTR],
                    code + OPERANDS);
}

const megcc_op_t megcc_op_call_sized = {check, run};
