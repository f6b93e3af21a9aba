// DRAW: key and number of a draw, from which its random numbers follow.
//
//   word 1 destination (a tensor, u32[4]), 2 and 3 the key (low, high), 4 whether it is this one
//   (1) or that of the context (0).
//
// The destination becomes key and number of the draw, both the low word first; kernels make numbers
// of them. The next draw of the context, also by the same instruction, has the next number.
#include "megcc_vm.h"

enum { TO = 1, KEY, OWN = 4 };
enum { SEED, DRAWS = 2, WORDS = 4 };

// Seed and counter of a context, in the last of its pointers to operands: the encoder counts
// MEGCC_DRAW_OPERANDS more of these than calls have. Null where a forged image does not.
static uint32_t *state_of(const megcc_context_t *c) {
  void *const end = c->port;
  void **const after = end;
  uint32_t *const words = end;
  if (after - c->operand < MEGCC_DRAW_OPERANDS) return NULL;
  return words - WORDS;
}

megcc_status_t megcc_set_seed(megcc_context_t *c, int64_t seed) {
  uint32_t *state;
  if (c == NULL) return MEGCC_ERR_NULL;
  state = state_of(c);
  if (state == NULL) return MEGCC_OK;  // a model that draws nothing
  state[SEED] = (uint32_t)seed;
  state[SEED + 1] = (uint32_t)((uint64_t)seed >> 32);
  state[DRAWS] = state[DRAWS + 1] = 0;
  return MEGCC_OK;
}

static megcc_status_t check(const megcc_model_t *m, const uint32_t *code, uint32_t words) {
  megcc_tensor_t t;
  if (words != 5 || code[OWN] > 1) return MEGCC_ERR_CORRUPT;
  if (!megcc_tensor_is_writable(m, code[TO])) return MEGCC_ERR_CORRUPT;
  if (m->record[MEGCC_F_MAX_OPERANDS] < MEGCC_DRAW_OPERANDS) return MEGCC_ERR_CORRUPT;
  t = megcc_tensor_at(m, code[TO]);
  return t.dtype == MEGCC_U32 && t.rank == 1 && t.dims[0] == WORDS ? MEGCC_OK : MEGCC_ERR_CORRUPT;
}

static megcc_status_t run(megcc_context_t *c, const uint32_t *code) {
  uint32_t *state = state_of(c), *to;
  if (state == NULL || !megcc_has_memory(c, code + TO, 1)) return MEGCC_ERR_DATA;
  to = (uint32_t *)(void *)megcc_tensor_data(c, code[TO]);
  megcc_copy(to, code[OWN] ? code + KEY : state + SEED, 2 * sizeof *to);
  megcc_copy(to + 2, state + DRAWS, 2 * sizeof *to);
  if (++state[DRAWS] == 0) ++state[DRAWS + 1];
  return MEGCC_OK;
}

const megcc_op_t megcc_op_draw = {check, run};
