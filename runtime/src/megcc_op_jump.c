// JUMP: go on at another instruction.
//
//   word 1 counter (a tensor, i64) that is one more then, or NONE, 2 where to: words from here,
//   with sign; backwards only to a BRANCH, where a loop ends; 3 number of the call that comes next
//   there.
#include "megcc_vm.h"

enum { COUNTER = 1, TARGET, CALL };

static megcc_status_t check(const megcc_model_t *m, const uint32_t *code, uint32_t words) {
  const uint32_t *target;
  uint32_t calls = 0;
  if (words != 4) return MEGCC_ERR_CORRUPT;
  if (code[COUNTER] != MEGCC_NONE) {
    if (!megcc_is_counter(m, code[COUNTER])) return MEGCC_ERR_CORRUPT;
    if (!megcc_tensor_is_writable(m, code[COUNTER])) return MEGCC_ERR_CORRUPT;
  }
  target = megcc_instruction(m, code, (int32_t)code[TARGET], &calls);
  if (target == NULL || target == code || code[CALL] != calls) return MEGCC_ERR_CORRUPT;
  if (target < code && (*target & 0xFF) != MEGCC_OP_BRANCH) return MEGCC_ERR_CORRUPT;
  return MEGCC_OK;
}

static megcc_status_t run(megcc_context_t *c, const uint32_t *code) {
  if (code[COUNTER] != MEGCC_NONE) {
    int64_t next;
    if (!megcc_has_memory(c, code + COUNTER, 1)) return MEGCC_ERR_DATA;
    next = megcc_counter(c, code[COUNTER]);
    if (next < INT64_MAX) ++next;
    megcc_copy(megcc_tensor_data(c, code[COUNTER]), &next, sizeof next);
  }
  c->next = code + (int32_t)code[TARGET];
  c->call = code[CALL];
  return MEGCC_OK;
}

const megcc_op_t megcc_op_jump = {check, run};
