// Targets and counters, for BRANCH, JUMP and ROW; only packages with one of them carry this file.
#include "megcc_vm.h"

const uint32_t *megcc_instruction(const megcc_model_t *m, const uint32_t *code, int32_t words,
                                  uint32_t *calls) {
  const uint32_t *at = m->section[MEGCC_S_CODE];
  const int64_t target = (int64_t)(code - at) + words;
  const uint32_t *end;
  *calls = 0;
  if (target < 0 || target >= (int64_t)m->count[MEGCC_S_CODE]) return NULL;
  // Instructions before `code` have been checked, later ones not yet.
  for (end = at + target; at < end; at += *at >> 8) {
    if (*at >> 8 == 0 || *at >> 8 > (uint32_t)(end - at)) return NULL;
    *calls += (*at & 0xFF) == MEGCC_OP_CALL || (*at & 0xFF) == MEGCC_OP_CALL_SIZED;
  }
  return at;
}

int megcc_is_counter(const megcc_model_t *m, uint32_t id) {
  megcc_tensor_t t;
  return megcc_find_tensor(m, id, &t) && t.dtype == MEGCC_I64 && t.bytes == 8;
}

int64_t megcc_counter(const megcc_context_t *c, uint32_t id) {
  int64_t x;
  megcc_copy(&x, megcc_tensor_data(c, id), sizeof x);  // perhaps aligned to 4 only
  return x;
}
