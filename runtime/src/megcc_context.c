// Contexts: memory, inputs, outputs, and the loop over the program.
#include "megcc_vm.h"

// <NAME>_CONTEXT_BYTES of a package's header counts 16 pointers for this struct.
typedef char megcc_context_fits[sizeof(struct megcc_context) <= 16 * sizeof(void *) ? 1 : -1];

// ---- layout of the caller's memory ---------------------------------------------------------

static size_t port_total(const megcc_model_t *m) {
  return (size_t)m->count[MEGCC_S_INPUTS] + m->count[MEGCC_S_OUTPUTS];
}

// Pointers of the context: before `base` (pools and blocks), from it on, and operands; each as many
// as the function that has the most of them needs.
struct needs {
  size_t before, after, operands;
};

// No sum of these passes a size_t: a program is at most SIZE_MAX / 64 bytes, and each of them is a
// count of its entries.
static struct needs needs_of(const megcc_model_t *model) {
  struct needs n = {0, 0, 0};
  uint32_t f;
  for (f = 0; f < model->count[MEGCC_S_FUNCTIONS]; ++f) {
    const uint32_t *record = model->section[MEGCC_S_FUNCTIONS] + (size_t)f * MEGCC_F_WORDS;
    const uint32_t *table = record + MEGCC_F_SECTIONS - 2 * MEGCC_S_FIRST_OF_FUNCTION;
    const size_t before = (size_t)table[2 * MEGCC_S_POOLS + 1] + table[2 * MEGCC_S_BLOCKS + 1];
    size_t operands = table[2 * MEGCC_S_CODE + 1];  // which has them all
    if (operands > record[MEGCC_F_MAX_OPERANDS]) operands = record[MEGCC_F_MAX_OPERANDS];
    if (operands > n.operands) n.operands = operands;
    if (before > n.before) n.before = before;
  }
  n.after = (size_t)model->count[MEGCC_S_SEGMENTS] + port_total(model);
  return n;
}

static size_t own_bytes(const megcc_model_t *m, const struct needs *n) {
  return sizeof(megcc_context_t) + port_total(m) * sizeof(struct megcc_port) +
         (n->before + n->after + n->operands) * sizeof(void *);
}

megcc_status_t megcc_context_bytes(const megcc_model_t *m, size_t *bytes) {
  struct needs n;
  if (m == NULL || bytes == NULL) return MEGCC_ERR_NULL;
  n = needs_of(m);
  *bytes = own_bytes(m, &n);
  if (m->kernels->shapes != NULL) *bytes += m->kernels->shapes->bytes(m);
  return MEGCC_OK;
}

megcc_status_t megcc_context_create(const megcc_model_t *m, void *mem, size_t bytes,
                                    megcc_context_t **context) {
  megcc_context_t *c = (megcc_context_t *)mem;
  struct needs n;
  size_t needed, i;
  megcc_status_t status;
  if (context == NULL) return MEGCC_ERR_NULL;
  *context = NULL;
  if (m == NULL || mem == NULL) return MEGCC_ERR_NULL;
  if ((uintptr_t)mem % sizeof(void *) != 0) return MEGCC_ERR_ALIGNMENT;
  if ((status = megcc_context_bytes(m, &needed)) != MEGCC_OK) return status;
  if (bytes < needed) return MEGCC_ERR_MEMORY;
  n = needs_of(m);
  c->model = m;
  c->shaped = NULL;
  c->input = (struct megcc_port *)(c + 1);
  c->output = c->input + m->count[MEGCC_S_INPUTS];
  c->base = (uint8_t **)(c->output + m->count[MEGCC_S_OUTPUTS]);
  c->operand = (void **)(c->base + n.before + n.after);
  c->next = NULL;
  c->call = 0;
  c->has_run = 0;
  c->profile = NULL;
  c->profile_user = NULL;
  c->parallel = NULL;
  c->parallel_user = NULL;
  for (i = 0; i < port_total(m); ++i) {
    c->input[i].bound = NULL;
    c->input[i].flags = 0;
  }
  for (i = 0; i < n.before + n.after; ++i) c->base[i] = NULL;
  c->base += n.before;
  for (i = 0; i < m->count[MEGCC_S_SEGMENTS]; ++i) {
    // Kernels take all operands as `void *`; the model's checks keep weights from being written.
    c->base[i] = (uint8_t *)(uintptr_t)m->segment[i].data;
  }
  if (m->kernels->shapes != NULL) {
    m->kernels->shapes->create(c, (uint8_t *)mem + own_bytes(m, &n));
  }
  *context = c;
  return MEGCC_OK;
}

// ---- ports ---------------------------------------------------------------------------------

// A port: its tensor and its two places in the context.
struct port {
  megcc_tensor_t tensor;
  const char *name;
  struct megcc_port *state;
  uint8_t **base;
};

static struct port port_at(const megcc_context_t *c, int section, uint32_t index) {
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
  p = port_at(c, section, index);
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
  t = port_at(c, MEGCC_S_INPUTS, index).tensor;
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
  p = port_at(c, section, index);
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
      const struct port p = port_at(c, sections[s], i);
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
  p = port_at(c, MEGCC_S_INPUTS, index);
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
  p = port_at(c, MEGCC_S_OUTPUTS, index);
  *data =
      p.state->bound != NULL ? p.state->bound : *megcc_pool(c, p.tensor.index) + p.tensor.offset;
  return MEGCC_OK;
}

megcc_status_t megcc_read_output(const megcc_context_t *c, uint32_t index, void *data,
                                 size_t bytes) {
  const void *value;
  const megcc_status_t status = megcc_output_data(c, index, &value);
  if (status != MEGCC_OK) return status;
  if (bytes != port_at(c, MEGCC_S_OUTPUTS, index).tensor.bytes) return MEGCC_ERR_SIZE;
  if (bytes == 0) return MEGCC_OK;
  if (data == NULL) return MEGCC_ERR_NULL;
  megcc_copy(data, value, bytes);
  return MEGCC_OK;
}

#if defined(MEGCC_DEBUG)
// ---- poison --------------------------------------------------------------------------------

static void poison(uint8_t *data, size_t bytes) {
  while (bytes-- > 0) *data++ = 0xFF;
}

void megcc_poison_arena(megcc_context_t *c) {
  const megcc_model_t *m = c->model;
  uint32_t pool, i;
  for (pool = 0; pool < m->count[MEGCC_S_POOLS]; ++pool) {
    const size_t bytes = c->shaped != NULL ? c->shaped->arena_bytes : m->pool_bytes[pool];
    size_t at = 0;
    while (at < bytes) {
      // Up to the next waiting input, then past it; inputs may lie in any order.
      size_t end = bytes, next = bytes;
      for (i = 0; i < m->count[MEGCC_S_INPUTS]; ++i) {
        const struct port p = port_at(c, MEGCC_S_INPUTS, i);
        size_t start = p.tensor.offset, stop;
        if (!(p.state->flags & MEGCC_PORT_FILLED)) continue;
        if (p.tensor.index >= m->count[MEGCC_S_POOLS]) {  // in a block of the only pool
          start += (size_t)(*megcc_pool(c, p.tensor.index) - *megcc_pool(c, 0));
        } else if (p.tensor.index != pool) {
          continue;
        }
        stop = start + p.tensor.bytes;
        if (stop <= at || start >= end) continue;
        end = start < at ? at : start;
        next = stop;
      }
      poison(*megcc_pool(c, pool) + at, end - at);
      at = next;
    }
  }
}

void megcc_poison_dead(megcc_context_t *c) {
  const megcc_model_t *m = c->model;
  const megcc_plan_t *plan = m->kernels->plan + m->function;
  uint32_t i;
  for (i = 0; i < plan->count; ++i) {
    const megcc_block_t *b = plan->blocks + i;
    if (b->last != c->call + 1) continue;
    if (b->pool < m->count[MEGCC_S_POOLS]) {
      poison(*megcc_pool(c, b->pool) + (size_t)b->offset, (size_t)b->bytes);
    } else {
      const uint32_t block = b->pool - m->count[MEGCC_S_POOLS];
      const size_t size = c->shaped->size[block], room = c->shaped->room[block];
      poison(*megcc_pool(c, b->pool), size < room ? size : room);
    }
  }
}

#endif
// ---- run -----------------------------------------------------------------------------------

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
    const struct port p = port_at(c, MEGCC_S_INPUTS, i);
    if (p.state->bound == NULL && !(p.state->flags & MEGCC_PORT_FILLED)) return MEGCC_ERR_UNBOUND;
  }
  for (i = 0; i < m->count[MEGCC_S_OUTPUTS]; ++i) {
    const struct port p = port_at(c, MEGCC_S_OUTPUTS, i);
    if (p.state->bound == NULL && p.tensor.space != MEGCC_ARENA) return MEGCC_ERR_UNBOUND;
  }
  return MEGCC_OK;
}

static void load_arena_inputs(megcc_context_t *c) {
  uint32_t i;
  for (i = 0; i < c->model->count[MEGCC_S_INPUTS]; ++i) {
    const struct port p = port_at(c, MEGCC_S_INPUTS, i);
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
    const struct port p = port_at(c, MEGCC_S_OUTPUTS, i);
    if (p.tensor.space == MEGCC_ARENA && p.state->bound != NULL) {
      megcc_copy(p.state->bound, *megcc_pool(c, p.tensor.index) + p.tensor.offset, p.tensor.bytes);
    }
  }
}

megcc_status_t megcc_run(megcc_context_t *c) {
  const uint32_t *code;
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
  for (code = c->model->section[MEGCC_S_CODE]; (*code & 0xFF) != MEGCC_OP_END; code = c->next) {
    c->next = code + (*code >> 8);
    status = c->model->kernels->op[*code & 0xFF]->run(c, code);
    if (status != MEGCC_OK) {
      c->next = code;
      return status;
    }
  }
  if (c->shaped != NULL && !c->model->kernels->shapes->complete(c)) return MEGCC_ERR_DATA;
  store_arena_outputs(c);
  c->has_run = 1;
  return MEGCC_OK;
}
