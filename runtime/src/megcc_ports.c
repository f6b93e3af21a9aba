// The memory of a context: pools, inputs and outputs.
#include "megcc_port.h"

struct port megcc_port_at(const megcc_context_t *c, int section, uint32_t index) {
  const megcc_model_t *m = c->model;
  const uint32_t *w = m->section[section] + index * MEGCC_PORT_WORDS;
  const size_t inputs = section == MEGCC_S_INPUTS ? 0 : m->count[MEGCC_S_INPUTS];
  struct port p;
  p.tensor = megcc_tensor_in(c, w[1]);
  p.name = megcc_string(m, w[0]);
  p.state = c->input + inputs + index;
  p.base = c->base + m->count[MEGCC_S_SEGMENTS] + inputs + index;
  return p;
}

// ---- arena ---------------------------------------------------------------------------------

megcc_status_t megcc_pool_info(const megcc_context_t *c, uint32_t index, const char **name,
                               size_t *bytes) {
  const megcc_model_t *m;
  megcc_status_t status;
  if (c == NULL || name == NULL || bytes == NULL) return MEGCC_ERR_NULL;
  if ((status = megcc_ready(c)) != MEGCC_OK) return status;
  m = c->model;
  if (index >= m->count[MEGCC_S_POOLS]) return MEGCC_ERR_INDEX;
  *name = megcc_string(m, m->section[MEGCC_S_POOLS][index * MEGCC_POOL_WORDS]);
  *bytes = c->shaped != NULL ? c->shaped->arena_bytes : m->pool_bytes[index];
  return MEGCC_OK;
}

megcc_status_t megcc_set_pool(megcc_context_t *c, uint32_t index, void *mem, size_t bytes) {
  const char *name;
  size_t needed;
  uint32_t i;
  megcc_status_t status;
  if (c == NULL) return MEGCC_ERR_NULL;
  if ((status = megcc_pool_info(c, index, &name, &needed)) != MEGCC_OK) return status;
  if (bytes < needed) return MEGCC_ERR_MEMORY;
  if (mem == NULL && needed > 0) return MEGCC_ERR_NULL;
  if ((uintptr_t)mem % MEGCC_ALIGNMENT != 0) return MEGCC_ERR_ALIGNMENT;
  *megcc_pool(c, index) = (uint8_t *)mem;
  for (i = 0; i < c->model->count[MEGCC_S_INPUTS]; ++i) {
    c->input[i].flags &= ~(uint32_t)MEGCC_PORT_FILLED;
  }
  c->has_run = 0;
  if (c->shaped != NULL) {
    c->shaped->arena = (uint8_t *)mem;
    c->shaped->arena_capacity = mem == NULL ? 0 : bytes;
    c->model->kernels->shapes->place(c);
  }
  return MEGCC_OK;
}

megcc_status_t megcc_arena_bytes(const megcc_context_t *c, size_t *bytes) {
  const char *name;
  if (c == NULL || bytes == NULL) return MEGCC_ERR_NULL;
  if (c->model->count[MEGCC_S_POOLS] != 1) return MEGCC_ERR_POOLS;
  return megcc_pool_info(c, 0, &name, bytes);
}

megcc_status_t megcc_set_arena(megcc_context_t *c, void *mem, size_t bytes) {
  if (c != NULL && c->model->count[MEGCC_S_POOLS] != 1) return MEGCC_ERR_POOLS;
  return megcc_set_pool(c, 0, mem, bytes);
}

// ---- inputs and outputs --------------------------------------------------------------------

static megcc_status_t port_info(const megcc_context_t *c, int section, uint32_t index,
                                megcc_tensor_info_t *info) {
  struct port p;
  if (c == NULL || info == NULL) return MEGCC_ERR_NULL;
  if (index >= c->model->count[section]) return MEGCC_ERR_INDEX;
  // What can be known before all shapes are set is told then, too.
  (void)megcc_ready(c);
  p = megcc_port_at(c, section, index);
  info->name = p.name;
  info->dtype = (megcc_dtype_t)p.tensor.dtype;
  info->rank = (int32_t)p.tensor.rank;
  info->dims = p.tensor.dims;
  info->bytes = p.tensor.bytes;
  if (c->shaped != NULL) {
    info->dims = c->model->kernels->shapes->dims(c, section, index);
    if (!c->has_run && c->model->kernels->shapes->waits(c->model, &p.tensor)) info->bytes = 0;
  }
  return MEGCC_OK;
}

megcc_status_t megcc_input_info(const megcc_context_t *c, uint32_t index,
                                megcc_tensor_info_t *info) {
  return port_info(c, MEGCC_S_INPUTS, index, info);
}

megcc_status_t megcc_output_info(const megcc_context_t *c, uint32_t index,
                                 megcc_tensor_info_t *info) {
  return port_info(c, MEGCC_S_OUTPUTS, index, info);
}

megcc_status_t megcc_set_input_shape(megcc_context_t *c, uint32_t index, int32_t rank,
                                     const int32_t *dims) {
  megcc_tensor_t t;
  int32_t d;
  if (c == NULL || (dims == NULL && rank != 0)) return MEGCC_ERR_NULL;
  if (index >= c->model->count[MEGCC_S_INPUTS]) return MEGCC_ERR_INDEX;
  if (c->shaped != NULL) return c->model->kernels->shapes->set(c, index, rank, dims);
  t = megcc_port_at(c, MEGCC_S_INPUTS, index).tensor;
  if (rank < 0 || (uint32_t)rank != t.rank) return MEGCC_ERR_SHAPE;
  for (d = 0; d < rank; ++d) {
    if (dims[d] != t.dims[d]) return MEGCC_ERR_SHAPE;
  }
  return MEGCC_OK;
}

static megcc_status_t bind(megcc_context_t *c, int section, uint32_t index, void *data,
                           size_t bytes) {
  struct port p;
  megcc_status_t status;
  if (c == NULL) return MEGCC_ERR_NULL;
  if (index >= c->model->count[section]) return MEGCC_ERR_INDEX;
  if ((status = megcc_ready(c)) != MEGCC_OK) return status;
  p = megcc_port_at(c, section, index);
  if (c->shaped != NULL && c->model->kernels->shapes->waits(c->model, &p.tensor)) {
    return MEGCC_ERR_DATA;
  }
  if (bytes != p.tensor.bytes) return MEGCC_ERR_SIZE;
  if (data == NULL && bytes > 0) return MEGCC_ERR_NULL;
  if ((uintptr_t)data % megcc_dtype_bytes((megcc_dtype_t)p.tensor.dtype) != 0) {
    return MEGCC_ERR_ALIGNMENT;
  }
  if (data == NULL) data = c;  // nothing is read or written there, but kernels get no null
  p.state->bound = data;
  p.state->flags = 0;
  *p.base = (uint8_t *)data;
  return MEGCC_OK;
}

megcc_status_t megcc_bind_input(megcc_context_t *c, uint32_t index, const void *data,
                                size_t bytes) {
  return bind(c, MEGCC_S_INPUTS, index, (void *)(uintptr_t)data, bytes);
}

megcc_status_t megcc_bind_output(megcc_context_t *c, uint32_t index, void *data, size_t bytes) {
  return bind(c, MEGCC_S_OUTPUTS, index, data, bytes);
}

// Adds up, and with `mem` hands out, the memory of the ports outside the arena.
static megcc_status_t lay_out_io(const megcc_context_t *c, uint8_t *mem, size_t *total) {
  static const int sections[2] = {MEGCC_S_INPUTS, MEGCC_S_OUTPUTS};
  size_t at = 0;
  int s;
  for (s = 0; s < 2; ++s) {
    uint32_t i;
    for (i = 0; i < c->model->count[sections[s]]; ++i) {
      const struct port p = megcc_port_at(c, sections[s], i);
      size_t padded;
      if (p.tensor.space == MEGCC_ARENA) continue;
      if (p.tensor.bytes > SIZE_MAX - MEGCC_ALIGNMENT) return MEGCC_ERR_PLATFORM;
      padded = (p.tensor.bytes + MEGCC_ALIGNMENT - 1) / MEGCC_ALIGNMENT * MEGCC_ALIGNMENT;
      if (padded == 0) padded = MEGCC_ALIGNMENT;
      if (padded > SIZE_MAX - at) return MEGCC_ERR_PLATFORM;
      if (mem != NULL) {
        p.state->bound = mem + at;
        p.state->flags = MEGCC_PORT_OWNED;
        *p.base = mem + at;
      }
      at += padded;
    }
  }
  *total = at;
  return MEGCC_OK;
}

megcc_status_t megcc_io_bytes(const megcc_context_t *c, size_t *bytes) {
  megcc_status_t status;
  if (c == NULL || bytes == NULL) return MEGCC_ERR_NULL;
  if ((status = megcc_ready(c)) != MEGCC_OK) return status;
  return lay_out_io(c, NULL, bytes);
}

megcc_status_t megcc_set_io(megcc_context_t *c, void *mem, size_t bytes) {
  size_t needed;
  megcc_status_t status;
  if (c == NULL) return MEGCC_ERR_NULL;
  if ((status = megcc_io_bytes(c, &needed)) != MEGCC_OK) return status;
  if (mem == NULL && needed > 0) return MEGCC_ERR_NULL;
  if ((uintptr_t)mem % MEGCC_ALIGNMENT != 0) return MEGCC_ERR_ALIGNMENT;
  if (bytes < needed) return MEGCC_ERR_MEMORY;
  return lay_out_io(c, (uint8_t *)mem, &needed);
}

megcc_status_t megcc_copy_input(megcc_context_t *c, uint32_t index, const void *data,
                                size_t bytes) {
  struct port p;
  megcc_status_t status;
  if (c == NULL) return MEGCC_ERR_NULL;
  if (index >= c->model->count[MEGCC_S_INPUTS]) return MEGCC_ERR_INDEX;
  if ((status = megcc_ready(c)) != MEGCC_OK) return status;
  p = megcc_port_at(c, MEGCC_S_INPUTS, index);
  if (bytes != p.tensor.bytes) return MEGCC_ERR_SIZE;
  if (data == NULL && bytes > 0) return MEGCC_ERR_NULL;
  if (p.tensor.space == MEGCC_ARENA) {
    if (*megcc_pool(c, p.tensor.index) == NULL && bytes > 0) return MEGCC_ERR_NO_ARENA;
    if (bytes > 0) megcc_copy(*megcc_pool(c, p.tensor.index) + p.tensor.offset, data, bytes);
    p.state->bound = NULL;
    p.state->flags = MEGCC_PORT_FILLED;
    return MEGCC_OK;
  }
  if (!(p.state->flags & MEGCC_PORT_OWNED)) return MEGCC_ERR_UNBOUND;
  if (bytes > 0) megcc_copy(p.state->bound, data, bytes);
  return MEGCC_OK;
}

megcc_status_t megcc_output_data(const megcc_context_t *c, uint32_t index, const void **data) {
  struct port p;
  if (c == NULL || data == NULL) return MEGCC_ERR_NULL;
  *data = NULL;
  if (index >= c->model->count[MEGCC_S_OUTPUTS]) return MEGCC_ERR_INDEX;
  if (!c->has_run) return MEGCC_ERR_NOT_RUN;
  p = megcc_port_at(c, MEGCC_S_OUTPUTS, index);
  *data =
      p.state->bound != NULL ? p.state->bound : *megcc_pool(c, p.tensor.index) + p.tensor.offset;
  return MEGCC_OK;
}

megcc_status_t megcc_read_output(const megcc_context_t *c, uint32_t index, void *data,
                                 size_t bytes) {
  const void *value;
  const megcc_status_t status = megcc_output_data(c, index, &value);
  if (status != MEGCC_OK) return status;
  if (bytes != megcc_port_at(c, MEGCC_S_OUTPUTS, index).tensor.bytes) return MEGCC_ERR_SIZE;
  if (bytes == 0) return MEGCC_OK;
  if (data == NULL) return MEGCC_ERR_NULL;
  megcc_copy(data, value, bytes);
  return MEGCC_OK;
}
