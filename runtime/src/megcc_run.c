// A run: whether all has its memory, and the loop over the program.
#include "megcc_port.h"

megcc_status_t megcc_set_profile(megcc_context_t *c, megcc_profile_fn profile, void *user) {
  if (c == NULL) return MEGCC_ERR_NULL;
  c->profile = profile;
  c->profile_user = user;
  return MEGCC_OK;
}

megcc_status_t megcc_set_parallel(megcc_context_t *c, megcc_parallel_fn parallel, void *user) {
  if (c == NULL) return MEGCC_ERR_NULL;
  c->parallel = parallel;
  c->parallel_user = user;
  return MEGCC_OK;
}

// Finds out whether everything has its memory, before anything is written.
static megcc_status_t check_memory(megcc_context_t *c) {
  const megcc_model_t *m = c->model;
  uint32_t i;
  for (i = 0; i < m->count[MEGCC_S_POOLS]; ++i) {
    if (*megcc_pool(c, i) != NULL) continue;
    if (c->shaped != NULL && c->shaped->arena_bytes > c->shaped->arena_capacity) {
      return c->shaped->arena == NULL ? MEGCC_ERR_NO_ARENA : MEGCC_ERR_MEMORY;
    }
    if (m->pool_bytes[i] > 0) return MEGCC_ERR_NO_ARENA;
    *megcc_pool(c, i) = (uint8_t *)c;  // empty tensors only; kernels get no null
  }
  for (i = 0; i < m->count[MEGCC_S_INPUTS]; ++i) {
    const struct port p = megcc_port_at(c, MEGCC_S_INPUTS, i);
    if (p.state->bound == NULL && !(p.state->flags & MEGCC_PORT_FILLED)) return MEGCC_ERR_UNBOUND;
  }
  for (i = 0; i < m->count[MEGCC_S_OUTPUTS]; ++i) {
    const struct port p = megcc_port_at(c, MEGCC_S_OUTPUTS, i);
    if (p.state->bound == NULL && p.tensor.space != MEGCC_ARENA) return MEGCC_ERR_UNBOUND;
  }
  return MEGCC_OK;
}

static void load_arena_inputs(megcc_context_t *c) {
  uint32_t i;
  for (i = 0; i < c->model->count[MEGCC_S_INPUTS]; ++i) {
    const struct port p = megcc_port_at(c, MEGCC_S_INPUTS, i);
    if (p.tensor.space != MEGCC_ARENA) continue;
    if (p.state->bound != NULL) {
      megcc_copy(*megcc_pool(c, p.tensor.index) + p.tensor.offset, p.state->bound, p.tensor.bytes);
    }
    p.state->flags = 0;  // the run may overwrite the input
  }
}

static void store_arena_outputs(megcc_context_t *c) {
  uint32_t i;
  for (i = 0; i < c->model->count[MEGCC_S_OUTPUTS]; ++i) {
    const struct port p = megcc_port_at(c, MEGCC_S_OUTPUTS, i);
    if (p.tensor.space == MEGCC_ARENA && p.state->bound != NULL) {
      megcc_copy(p.state->bound, *megcc_pool(c, p.tensor.index) + p.tensor.offset, p.tensor.bytes);
    }
  }
}

megcc_status_t megcc_begin_run(megcc_context_t *c) {
  megcc_status_t status;
  if (c == NULL) return MEGCC_ERR_NULL;
  c->next = NULL;
  if ((status = megcc_ready(c)) != MEGCC_OK) return status;
  if ((status = check_memory(c)) != MEGCC_OK) return status;
#if defined(MEGCC_DEBUG)
  megcc_poison_arena(c);
#endif
  load_arena_inputs(c);
  c->call = 0;
  c->has_run = 0;
  return MEGCC_OK;
}

megcc_status_t megcc_end_run(megcc_context_t *c) {
  if (c->shaped != NULL && !c->model->kernels->shapes->complete(c)) return MEGCC_ERR_DATA;
  store_arena_outputs(c);
  c->has_run = 1;
  return MEGCC_OK;
}

megcc_status_t megcc_run(megcc_context_t *c) {
  const uint32_t *code;
  megcc_status_t status = megcc_begin_run(c);
  if (status != MEGCC_OK) return status;
  for (code = c->model->section[MEGCC_S_CODE]; (*code & 0xFF) != MEGCC_OP_END; code = c->next) {
    c->next = code + (*code >> 8);
    status = c->model->kernels->op[*code & 0xFF]->run(c, code);
    if (status != MEGCC_OK) {
      c->next = code;
      return status;
    }
  }
  return megcc_end_run(c);
}
