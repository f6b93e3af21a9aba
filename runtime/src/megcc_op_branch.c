// BRANCH: go on only if a condition holds, else at another instruction.
//
//   word 1 condition (a tensor, bool) or NONE, 2 counter and 3 limit (tensors, i64) or NONE, 4
//   where to go otherwise: words from here, forward; 5 number of the call that comes next there.
//
// The condition holds where the bool is true and the counter is less than the limit.
#include "megcc_vm.h"

enum { CONDITION = 1, COUNTER, LIMIT, TARGET, CALL };

static megcc_status_t check(const megcc_model_t *m, const uint32_t *code, uint32_t words) {
  const uint32_t *target;
  uint32_t calls = 0;
  if (words != 6) return MEGCC_ERR_CORRUPT;
  if (code[CONDITION] != MEGCC_NONE) {
    megcc_tensor_t t;
    if (!megcc_find_tensor(m, code[CONDITION], &t)) return MEGCC_ERR_CORRUPT;
    if (t.dtype != MEGCC_BOOL || t.bytes != 1) return MEGCC_ERR_CORRUPT;
  }
  if ((code[COUNTER] == MEGCC_NONE) != (code[LIMIT] == MEGCC_NONE)) return MEGCC_ERR_CORRUPT;
  if (code[COUNTER] != MEGCC_NONE) {
    if (!megcc_is_counter(m, code[COUNTER])) return MEGCC_ERR_CORRUPT;
    if (!megcc_is_counter(m, code[LIMIT])) return MEGCC_ERR_CORRUPT;
  }
  if (code[TARGET] > INT32_MAX) return MEGCC_ERR_CORRUPT;
  target = megcc_instruction(m, code, (int32_t)code[TARGET], &calls);
  return target != NULL && code[CALL] == calls ? MEGCC_OK : MEGCC_ERR_CORRUPT;
}

static megcc_status_t run(megcc_context_t *c, const uint32_t *code) {
  int holds;
  if (!megcc_has_memory(c, code + CONDITION, 3)) return MEGCC_ERR_DATA;
  holds = code[CONDITION] == MEGCC_NONE || *megcc_tensor_data(c, code[CONDITION]) != 0;
  if (holds && code[COUNTER] != MEGCC_NONE) {
    holds = megcc_counter(c, code[COUNTER]) < megcc_counter(c, code[LIMIT]);
  }
  if (!holds) {
    c->next = code + code[TARGET];
    c->call = code[CALL];
  }
  return MEGCC_OK;
}

const megcc_op_t megcc_op_branch = {check, run};
