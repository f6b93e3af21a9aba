// The memory of a context: pools, inputs and outputs.
#include "megcc_port.h"

uint8_t *megcc_tensor_data(const megcc_context_t *c, uint32_t id) {
  const uint32_t *t = megcc_tensor_words(c->model, id);
  const uintptr_t base = (uintptr_t)c->place[t[0] >> 8 & 0xFF][t[2]];  // perhaps null
  return (uint8_t *)(base + (uintptr_t)megcc_u64(t + 3));
}

void megcc_measure_tensor(const megcc_context_t *c, uint32_t id, megcc_tensor_t *t) {
  (void)megcc_find_tensor(c->model, id, t);
  if (c->shaped != NULL) c->shaped->ops->measure(c, t);
}

void megcc_find_port(const megcc_context_t *c, uint32_t number, struct port *p) {
  const uint32_t *words = megcc_port_words(c->model, number);
  p->name = megcc_string(c->model, words[0]);
  p->state = c->port + number;
  p->place = c->place[MEGCC_INPUT] + number;
  p->data = megcc_tensor_data(c, words[1]);
  megcc_measure_tensor(c, words[1], &p->tensor);
}

// ---- arena ---------------------------------------------------------------------------------

static megcc_status_t pool_bytes(const megcc_context_t *c, uint32_t index, size_t *bytes) {
  const megcc_status_t status = megcc_ready(c);
  if (status != MEGCC_OK) return status;
  if (bytes == NULL) return MEGCC_ERR_NULL;
  if (index >= c->model->count[MEGCC_S_POOLS]) return MEGCC_ERR_INDEX;
  *bytes = c->shaped != NULL ? c->shaped->arena_bytes : megcc_pool_bytes(c->model, index);
  return MEGCC_OK;
}

megcc_status_t megcc_pool_info(const megcc_context_t *c, uint32_t index, const char **name,
                               size_t *bytes) {
  const megcc_status_t status = pool_bytes(c, index, bytes);
  if (status != MEGCC_OK) return status;
  if (name == NULL) return MEGCC_ERR_NULL;
  *name = megcc_string(c->model, c->model->section[MEGCC_S_POOLS][index * MEGCC_POOL_WORDS]);
  return MEGCC_OK;
}

// Checks size and alignment of memory from the caller.
static MEGCC_NOINLINE megcc_status_t check_memory(const void *mem, size_t bytes, size_t needed) {
  if (bytes < needed) return MEGCC_ERR_MEMORY;
  if (mem == NULL && needed > 0) return MEGCC_ERR_NULL;
  return (uintptr_t)mem % MEGCC_ALIGNMENT != 0 ? MEGCC_ERR_ALIGNMENT : MEGCC_OK;
}

megcc_status_t megcc_set_pool(megcc_context_t *c, uint32_t index, void *mem, size_t bytes) {
  size_t needed;
  uint32_t i;
  megcc_status_t status;
  if ((status = pool_bytes(c, index, &needed)) != MEGCC_OK) return status;
  if ((status = check_memory(mem, bytes, needed)) != MEGCC_OK) return status;
  *megcc_pool(c, index) = (uint8_t *)mem;
  for (i = c->model->count[MEGCC_S_INPUTS]; i-- > 0;) {
    c->port[i].flags &= ~(uint32_t)MEGCC_PORT_FILLED;
  }
  c->has_run = c->is_apart = 0;
  if (c->shaped != NULL) c->shaped->ops->set_arena(c, mem, bytes);
  return MEGCC_OK;
}

static int has_pools(const megcc_context_t *c) {
  return c != NULL && c->model->count[MEGCC_S_POOLS] != 1;
}

megcc_status_t megcc_arena_bytes(const megcc_context_t *c, size_t *bytes) {
  return has_pools(c) ? MEGCC_ERR_POOLS : pool_bytes(c, 0, bytes);
}

megcc_status_t megcc_set_arena(megcc_context_t *c, void *mem, size_t bytes) {
  return has_pools(c) ? MEGCC_ERR_POOLS : megcc_set_pool(c, 0, mem, bytes);
}

// ---- inputs and outputs --------------------------------------------------------------------

// The number of a port among all of them.
static MEGCC_NOINLINE megcc_status_t number_of(const megcc_context_t *c, uint32_t *index,
                                               uint32_t section) {
  uint32_t number;
  if (c == NULL) return MEGCC_ERR_NULL;
  number = *index;
  if (number >= c->model->count[section]) return MEGCC_ERR_INDEX;
  if (section == MEGCC_S_OUTPUTS) number += c->model->count[MEGCC_S_INPUTS];
  *index = number;
  return MEGCC_OK;
}

static megcc_status_t port_info(const megcc_context_t *c, uint32_t index, megcc_tensor_info_t *info,
                                uint32_t section) {
  struct port p;
  const megcc_status_t status = number_of(c, &index, section);
  if (status != MEGCC_OK) return status;
  if (info == NULL) return MEGCC_ERR_NULL;
  // Before all shapes are set, the info has what is known.
  (void)megcc_ready(c);
  megcc_find_port(c, index, &p);
  info->name = p.name;
  info->dtype = (megcc_dtype_t)p.tensor.dtype;
  info->rank = (int32_t)p.tensor.rank;
  info->dims = p.tensor.dims;
  info->bytes = p.tensor.bytes;
  if (c->shaped != NULL) c->shaped->ops->describe(c, index, info);
  return MEGCC_OK;
}

megcc_status_t megcc_input_info(const megcc_context_t *c, uint32_t index,
                                megcc_tensor_info_t *info) {
  return port_info(c, index, info, MEGCC_S_INPUTS);
}

megcc_status_t megcc_output_info(const megcc_context_t *c, uint32_t index,
                                 megcc_tensor_info_t *info) {
  return port_info(c, index, info, MEGCC_S_OUTPUTS);
}

megcc_status_t megcc_set_input_shape(megcc_context_t *c, uint32_t index, int32_t rank,
                                     const int32_t *dims) {
  struct port p;
  const megcc_status_t status = number_of(c, &index, MEGCC_S_INPUTS);
  if (status != MEGCC_OK) return status;
  if (dims == NULL && rank != 0) return MEGCC_ERR_NULL;
  if (c->shaped != NULL) return c->shaped->ops->set(c, index, rank, dims);
  megcc_find_port(c, index, &p);
  if ((uint32_t)rank != p.tensor.rank) return MEGCC_ERR_SHAPE;
  while (rank-- > 0) {
    if (dims[rank] != p.tensor.dims[rank]) return MEGCC_ERR_SHAPE;
  }
  return MEGCC_OK;
}

// Finds a port for which the caller has `bytes`, as many as the port.
static megcc_status_t find_for(const megcc_context_t *c, uint32_t index, const void *data,
                               size_t bytes, uint32_t section, struct port *p) {
  megcc_status_t status;
  if ((status = number_of(c, &index, section)) != MEGCC_OK) return status;
  if ((status = megcc_ready(c)) != MEGCC_OK) return status;
  megcc_find_port(c, index, p);
  // A state has the bytes of its input, wherever a run makes the output before it is stored.
  if (c->shaped != NULL && megcc_partner(c->model, index) == MEGCC_NONE &&
      c->shaped->ops->waits(c->model, &p->tensor)) {
    return MEGCC_ERR_DATA;
  }
  if (bytes != p->tensor.bytes) return MEGCC_ERR_SIZE;
  return data == NULL && bytes > 0 ? MEGCC_ERR_NULL : MEGCC_OK;
}

// Gives a port, whose number counts all of them, its memory.
static MEGCC_NOINLINE void set_place(megcc_context_t *c, uint32_t number, void *data,
                                     uint32_t flags) {
  c->port[number].bound = data;
  c->port[number].flags = flags;
  c->place[MEGCC_INPUT][number] = (uint8_t *)data;  // those of outputs follow
}

static megcc_status_t bind(megcc_context_t *c, uint32_t index, void *data, size_t bytes,
                           uint32_t section) {
  struct port p;
  uint32_t number, partner;
  const megcc_status_t status = find_for(c, index, data, bytes, section, &p);
  if (status != MEGCC_OK) return status;
  if (((uintptr_t)data & (p.tensor.element - 1)) != 0) return MEGCC_ERR_ALIGNMENT;
  if (data == NULL) data = c;  // nothing is read or written there, but kernels get no null
  c->is_apart = 0;
  number = (uint32_t)(p.state - c->port);
  partner = megcc_partner(c->model, number);
  set_place(c, number, data, 0);
  set_place(c, partner == MEGCC_NONE ? number : partner, data, 0);
  return MEGCC_OK;
}

megcc_status_t megcc_bind_input(megcc_context_t *c, uint32_t index, const void *data,
                                size_t bytes) {
  return bind(c, index, (void *)(uintptr_t)data, bytes, MEGCC_S_INPUTS);
}

megcc_status_t megcc_bind_output(megcc_context_t *c, uint32_t index, void *data, size_t bytes) {
  return bind(c, index, data, bytes, MEGCC_S_OUTPUTS);
}

// Adds up, and with `mem` hands out, the memory of the ports outside the arena; SIZE_MAX where it
// does not fit.
static size_t lay_out_io(const megcc_context_t *c, uint8_t *mem) {
  size_t at = 0;
  uint32_t i;
  for (i = 0; i < megcc_port_count(c->model); ++i) {
    struct port p;
    size_t padded;
    const uint32_t partner = megcc_partner(c->model, i);
    if (partner < i) {  // an input's, which comes before
      if (mem != NULL) set_place((megcc_context_t *)(uintptr_t)c, i, c->port[partner].bound, 0);
      continue;
    }
    megcc_find_port(c, i, &p);
    if (p.tensor.space == MEGCC_ARENA) continue;
    if (mem != NULL) set_place((megcc_context_t *)(uintptr_t)c, i, mem + at, MEGCC_PORT_OWNED);
    padded = (p.tensor.bytes - (p.tensor.bytes > 0)) | (MEGCC_ALIGNMENT - 1);
    if (padded >= SIZE_MAX - at) return SIZE_MAX;
    at += padded + 1;
  }
  return at;
}

megcc_status_t megcc_io_bytes(const megcc_context_t *c, size_t *bytes) {
  const megcc_status_t status = megcc_ready(c);
  if (status != MEGCC_OK) return status;
  if (bytes == NULL) return MEGCC_ERR_NULL;
  *bytes = lay_out_io(c, NULL);
  return *bytes == SIZE_MAX ? MEGCC_ERR_PLATFORM : MEGCC_OK;
}

megcc_status_t megcc_set_io(megcc_context_t *c, void *mem, size_t bytes) {
  size_t needed;
  megcc_status_t status;
  if ((status = megcc_io_bytes(c, &needed)) != MEGCC_OK) return status;
  if ((status = check_memory(mem, bytes, needed)) != MEGCC_OK) return status;
  c->is_apart = 0;
  (void)lay_out_io(c, (uint8_t *)mem);
  return MEGCC_OK;
}

megcc_status_t megcc_copy_input(megcc_context_t *c, uint32_t index, const void *data,
                                size_t bytes) {
  struct port p;
  const megcc_status_t status = find_for(c, index, data, bytes, MEGCC_S_INPUTS, &p);
  if (status != MEGCC_OK) return status;
  if (p.tensor.space == MEGCC_ARENA) {
    // A block has an address where the arena is too small for the shapes, too; the pool has none.
    const uint32_t pool = c->shaped != NULL ? 0 : p.tensor.index;
    if (*megcc_pool(c, pool) == NULL && bytes > 0) return MEGCC_ERR_NO_ARENA;
    p.state->bound = NULL;
    p.state->flags = MEGCC_PORT_FILLED;
  } else if (!(p.state->flags & MEGCC_PORT_OWNED)) {
    return MEGCC_ERR_UNBOUND;
  }
  if (bytes > 0) megcc_copy(p.data, data, bytes);
  return MEGCC_OK;
}

static megcc_status_t find_output(const megcc_context_t *c, uint32_t index, struct port *p) {
  const megcc_status_t status = number_of(c, &index, MEGCC_S_OUTPUTS);
  if (status != MEGCC_OK) return status;
  if (!c->has_run) return MEGCC_ERR_NOT_RUN;
  megcc_find_port(c, index, p);
  if (p->state->bound != NULL) p->data = p->state->bound;
  return MEGCC_OK;
}

megcc_status_t megcc_output_data(const megcc_context_t *c, uint32_t index, const void **data) {
  struct port p;
  megcc_status_t status;
  if (data == NULL) return MEGCC_ERR_NULL;
  status = find_output(c, index, &p);
  *data = status == MEGCC_OK ? p.data : NULL;
  return status;
}

megcc_status_t megcc_read_output(const megcc_context_t *c, uint32_t index, void *data,
                                 size_t bytes) {
  struct port p;
  const megcc_status_t status = find_output(c, index, &p);
  if (status != MEGCC_OK) return status;
  if (bytes != p.tensor.bytes) return MEGCC_ERR_SIZE;
  if (bytes == 0) return MEGCC_OK;
  if (data == NULL) return MEGCC_ERR_NULL;
  megcc_copy(data, p.data, bytes);
  return MEGCC_OK;
}
