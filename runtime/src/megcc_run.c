// A run: the check of its memory, and the loop over the program.
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

// Memory of a run has numbers: ports, then pools. Where it begins; null for a port that is not
// bound.
static inline uintptr_t start_of(const megcc_context_t *c, uint32_t ports, uint32_t i) {
  return (uintptr_t)(i < ports ? c->port[i].bound : *megcc_pool(c, i - ports));
}

static MEGCC_NOINLINE size_t bytes_of(const megcc_context_t *c, uint32_t ports, uint32_t i) {
  struct port p;
  if (i >= ports) {
    return c->shaped != NULL ? c->shaped->arena_bytes : megcc_pool_bytes(c->model, i - ports);
  }
  megcc_find_port(c, i, &p);
  return p.tensor.bytes;
}

// Whether other memory begins within memory `i`: of two that overlap, one begins within the other.
// Inputs may share theirs with inputs, and the ports of a pair have one.
static int is_shared(const megcc_context_t *c, uint32_t ports, uint32_t i, size_t bytes) {
  const uint32_t inputs = c->model->count[MEGCC_S_INPUTS];
  const uint32_t first = i < inputs ? inputs : 0;
  const uintptr_t start = start_of(c, ports, i);
  const uint32_t partner = i < ports ? megcc_partner(c->model, i) : MEGCC_NONE;
  uint32_t k = ports + c->model->count[MEGCC_S_POOLS];
  while (k-- > first) {
    if (start_of(c, ports, k) - start >= bytes || k == i) continue;
    if (k == partner && start_of(c, ports, k) == start) continue;
    if (bytes_of(c, ports, k) > 0) return 1;
  }
  return 0;
}

// Checks that ports and pools have memory that does not overlap, before anything is written.
static megcc_status_t check_memory(megcc_context_t *c) {
  const megcc_model_t *m = c->model;
  const uint32_t ports = megcc_port_count(m);
  uint32_t i = ports + m->count[MEGCC_S_POOLS];
  if (c->shaped != NULL) {
    const megcc_status_t status = c->shaped->ops->begin(c);
    if (status != MEGCC_OK) return status;
  }
  while (i-- > 0) {
    size_t bytes;
    if (i >= ports) {
      uint8_t **pool = megcc_pool(c, i - ports);
      if (*pool == NULL && megcc_pool_bytes(m, i - ports) > 0) return MEGCC_ERR_NO_ARENA;
      if (*pool == NULL) *pool = (uint8_t *)c;  // empty tensors only; kernels get no null
      bytes = bytes_of(c, ports, i);
    } else {
      struct port p;
      megcc_find_port(c, i, &p);
      bytes = p.tensor.bytes;
      if (p.state->bound == NULL) {
        if (p.state->flags & (MEGCC_PORT_FILLED | MEGCC_PORT_ROWS)) continue;
        // An output in the arena is read there.
        if (i >= m->count[MEGCC_S_INPUTS] && p.tensor.space == MEGCC_ARENA) continue;
        return MEGCC_ERR_UNBOUND;
      }
    }
    if (!c->is_apart && is_shared(c, ports, i, bytes)) return MEGCC_ERR_OVERLAP;
  }
  c->is_apart = 1;
  return MEGCC_OK;
}

enum direction { LOAD, STORE };

// Copies ports in the arena from or to the memory that they are bound to; the run may overwrite
// what was filled in.
static void copy_ports(megcc_context_t *c, enum direction how, uint32_t first, uint32_t last) {
  while (last-- > first) {
    struct port p;
    megcc_find_port(c, last, &p);
    if (p.tensor.space != MEGCC_ARENA) continue;
    p.state->flags = 0;
    if (p.state->bound == NULL) continue;
    megcc_copy(how == LOAD ? p.data : p.state->bound, how == LOAD ? p.state->bound : p.data,
               p.tensor.bytes);
  }
}

megcc_status_t megcc_begin_run(megcc_context_t *c) {
  megcc_status_t status = megcc_ready(c);
  if (status != MEGCC_OK) return status;
  c->next = NULL;
  if ((status = check_memory(c)) != MEGCC_OK) return status;
#if defined(MEGCC_DEBUG)
  megcc_poison_arena(c);
#endif
  if (c->shaped != NULL) c->shaped->ops->settle(c);
  copy_ports(c, LOAD, 0, c->model->count[MEGCC_S_INPUTS]);
  c->next = c->model->section[MEGCC_S_CODE];
  c->call = 0;
  c->has_run = 0;
  return MEGCC_OK;
}

megcc_status_t megcc_end_run(megcc_context_t *c) {
  if (c->shaped != NULL && !c->shaped->ops->complete(c)) return MEGCC_ERR_DATA;
  copy_ports(c, STORE, c->model->count[MEGCC_S_INPUTS], megcc_port_count(c->model));
  c->has_run = 1;
  return MEGCC_OK;
}

megcc_status_t megcc_run(megcc_context_t *c) {
  megcc_status_t status = megcc_begin_run(c);
  while (status == MEGCC_OK) {
    const uint32_t *code = c->next;
    if ((*code & 0xFF) == MEGCC_OP_END) return megcc_end_run(c);
    c->next = code + (*code >> 8);
    status = c->model->kernels->op[*code & 0xFF]->run(c, code);
    if (status != MEGCC_OK) c->next = code;
  }
  return status;
}
