// Shapes that change: from the dims that the caller sets to values, a function, and addresses.
//
// Only packages whose shapes are not all fixed carry this file (megcc_kernels.shapes).
#include "megcc_vm.h"

// <NAME>_CONTEXT_BYTES of a package's header counts as many bytes for this struct.
typedef char megcc_shaped_fits[sizeof(struct megcc_shaped) <= MEGCC_SHAPED_BYTES ? 1 : -1];

// ---- the context's memory --------------------------------------------------------------------

// How many of each thing the function that has the most of them needs.
struct counts {
  size_t values, blocks, input_dims, output_dims, ports;
};

static uint32_t rank_of(const megcc_model_t *m, uint32_t port) {
  return megcc_tensor_at(m, megcc_port_words(m, port)[1]).rank;
}

static void raise(size_t *most, size_t n) {
  if (n > *most) *most = n;
}

static struct counts counts_of(const megcc_model_t *model) {
  struct counts n = {0, 0, 0, 0, 0};
  megcc_model_t m = *model;
  uint32_t f, i;
  n.ports = megcc_port_count(model);
  for (i = 0; i < m.count[MEGCC_S_INPUTS]; ++i) n.input_dims += rank_of(&m, i);
  for (f = 0; f < m.count[MEGCC_S_FUNCTIONS]; ++f) {
    size_t dims = 0;
    (void)megcc_select(&m, f);
    for (i = m.count[MEGCC_S_INPUTS]; i < n.ports; ++i) dims += rank_of(&m, i);
    raise(&n.output_dims, dims);
    raise(&n.values, m.count[MEGCC_S_VALUES]);
    raise(&n.blocks, m.count[MEGCC_S_BLOCKS]);
  }
  return n;
}

static size_t lay_out(const megcc_model_t *model, struct megcc_layout *layout) {
  const struct counts n = counts_of(model);
  const size_t words = model->count[MEGCC_S_SYMBOLS] + n.values + 2 * n.input_dims + n.output_dims;
  megcc_model_t m = *model;
  uint32_t f;
  for (f = 0; f < m.count[MEGCC_S_FUNCTIONS]; ++f) {
    size_t operands = megcc_function_record(&m, f)[MEGCC_F_MAX_OPERANDS];
    (void)megcc_select(&m, f);
    if (operands > m.count[MEGCC_S_CODE]) operands = m.count[MEGCC_S_CODE];
    raise(&layout->operands, operands);
    raise(&layout->pools, (size_t)m.count[MEGCC_S_POOLS] + m.count[MEGCC_S_BLOCKS]);
  }
  return sizeof(struct megcc_shaped) + n.blocks * sizeof(struct megcc_dynamic) +
         (3 * n.blocks + n.ports) * sizeof(size_t) + (words + 1) / 2 * 8;
}

static void create(megcc_context_t *c, void *mem) {
  const megcc_model_t *m = c->model;
  const struct counts n = counts_of(m);
  struct megcc_shaped *s = (struct megcc_shaped *)mem;
  void *next;
  size_t i;
  megcc_zero(s, sizeof *s + n.blocks * sizeof(struct megcc_dynamic) +
                    (3 * n.blocks + n.ports) * sizeof(size_t));
  s->ops = m->kernels->shapes;
  s->view = *m;
  s->model = m;
  next = s + 1;
  s->dynamic = (struct megcc_dynamic *)next;
  next = s->dynamic + n.blocks;
  s->size = (size_t *)next;
  s->offset = s->size + n.blocks;
  s->room = s->offset + n.blocks;
  s->port_bytes = s->room + n.blocks;
  next = s->port_bytes + n.ports;
  s->given = (int32_t *)next;
  s->dims = s->given + n.input_dims;
  s->symbol = s->dims + n.input_dims + n.output_dims;
  s->value = s->symbol + m->count[MEGCC_S_SYMBOLS];
  s->cause.value[0] = MEGCC_NONE;
  for (i = 0; i < n.input_dims; ++i) s->given[i] = -1;
  for (i = 0; i < n.input_dims + n.output_dims; ++i) s->dims[i] = -1;
  for (i = 0; i < n.values; ++i) s->value[i] = -1;
  c->model = &s->view;
  c->shaped = s;
}

// ---- shapes from the caller ------------------------------------------------------------------

// The words of an input in the signature, and the place of its dims among those of all inputs.
static const uint32_t *signature(const megcc_model_t *m, uint32_t input, size_t *at) {
  const uint32_t *w = m->section[MEGCC_S_SIGNATURE];
  *at = 0;
  while (input-- > 0) {
    *at += *w;
    w += 1 + *w;
  }
  return w;
}

// A negative dim of the signature stands for `factor` times `symbol`.
struct open_dim {
  uint32_t symbol;
  int32_t factor;
};

static struct open_dim open_dim(const megcc_model_t *m, int32_t dim) {
  const uint32_t code = (uint32_t)(-1 - dim), symbols = m->count[MEGCC_S_SYMBOLS];
  const struct open_dim found = {code % symbols, (int32_t)(code / symbols) + 1};
  return found;
}

// Bounds of a dim whose symbol has these; the greatest is no bound.
static int32_t times(int32_t bound, int32_t factor) {
  return bound > INT32_MAX / factor ? INT32_MAX : bound * factor;
}

static const uint32_t *symbol_at(const megcc_model_t *m, uint32_t symbol) {
  return m->section[MEGCC_S_SYMBOLS] + (size_t)symbol * MEGCC_SYMBOL_WORDS;
}

static megcc_status_t set(megcc_context_t *c, uint32_t input, int32_t rank, const int32_t *dims) {
  struct megcc_shaped *s = c->shaped;
  const megcc_model_t *m = s->model;
  size_t at;
  const uint32_t *w = signature(m, input, &at);
  int32_t d, changed = 0;
  if (rank < 0 || (uint32_t)rank != w[0]) {
    return megcc_shape_refuse(s, MEGCC_SHAPE_RANK, input, 0, rank, (int32_t)w[0], 0);
  }
  for (d = 0; d < rank; ++d) {
    const int32_t dim = (int32_t)w[1 + d];
    if (dim >= 0) {
      if (dims[d] != dim)
        return megcc_shape_refuse(s, MEGCC_SHAPE_FIXED, input, d, dims[d], dim, dim);
    } else {
      const struct open_dim found = open_dim(m, dim);
      const uint32_t *symbol = symbol_at(m, found.symbol);
      const int32_t low = times((int32_t)symbol[1], found.factor);
      const int32_t high = times((int32_t)symbol[2], found.factor);
      const int is_multiple = dims[d] % found.factor == 0;
      if (dims[d] < low || dims[d] > high || !is_multiple) {
        (void)megcc_shape_refuse(s, is_multiple ? MEGCC_SHAPE_BOUNDS : MEGCC_SHAPE_MULTIPLE, input,
                                 d, dims[d], is_multiple ? low : found.factor, high);
        s->problem.symbol = megcc_string(m, symbol[0]);
        return MEGCC_ERR_SHAPE;
      }
    }
    changed |= s->given[at + (size_t)d] != dims[d];
  }
  for (d = 0; d < rank; ++d) s->given[at + (size_t)d] = dims[d];
  if (changed) s->resolved = 0;
  return MEGCC_OK;
}

// Gives every symbol its value; dims of one name must agree.
static megcc_status_t bind_symbols(struct megcc_shaped *s) {
  const megcc_model_t *m = s->model;
  const uint32_t *w = m->section[MEGCC_S_SIGNATURE];
  const int32_t *given = s->given;
  uint32_t i, d, k;
  for (k = 0; k < m->count[MEGCC_S_SYMBOLS]; ++k) s->symbol[k] = -1;
  for (i = 0; i < m->count[MEGCC_S_INPUTS]; ++i) {
    const uint32_t rank = *w++;
    for (d = 0; d < rank; ++d, ++w, ++given) {
      struct open_dim found;
      if ((int32_t)*w >= 0) continue;
      found = open_dim(m, (int32_t)*w);
      k = found.symbol;
      if (*given < 0) {
        (void)megcc_shape_refuse(s, MEGCC_SHAPE_FINE, i, (int32_t)d, -1, 0, 0);
        s->problem.symbol = megcc_string(m, *symbol_at(m, k));
        return MEGCC_ERR_NO_SHAPE;
      }
      if (s->symbol[k] >= 0 && s->symbol[k] != *given / found.factor) {
        (void)megcc_shape_refuse(s, MEGCC_SHAPE_DIFFERENT, i, (int32_t)d, *given,
                                 times(s->symbol[k], found.factor), 0);
        s->problem.symbol = megcc_string(m, *symbol_at(m, k));
        return MEGCC_ERR_SHAPE;
      }
      s->symbol[k] = *given / found.factor;
    }
  }
  return MEGCC_OK;
}

static int accepts(const struct megcc_shaped *s, uint32_t function) {
  const megcc_model_t *m = s->model;
  const uint32_t *record = megcc_function_record(m, function);
  const uint32_t *at = record + MEGCC_F_SECTIONS + 2 * (MEGCC_S_GUARDS - MEGCC_S_FIRST_OF_FUNCTION);
  const uint32_t *w = m->program + at[0] / 4;
  uint32_t k;
  for (k = 0; k < at[1]; ++k, w += MEGCC_GUARD_WORDS) {
    const int32_t value = s->symbol[w[0]];
    if (value < (int32_t)w[1] || value >= (int32_t)w[2]) return 0;
  }
  return 1;
}

// The first function from this one on whose guards hold; how many there are where none does.
static uint32_t function_from(const struct megcc_shaped *s, uint32_t f) {
  while (f < s->model->count[MEGCC_S_FUNCTIONS] && !accepts(s, f)) ++f;
  return f;
}

// Works out what follows from the shapes in the first function that takes them: one in which sizes
// are not equal that must be is followed by one that may want less.
static megcc_status_t choose_function(struct megcc_shaped *s) {
  const megcc_model_t *m = &s->view;
  megcc_status_t status;
  uint32_t k, f = function_from(s, 0);
  if (f == s->model->count[MEGCC_S_FUNCTIONS]) {
    return megcc_shape_refuse(s, MEGCC_SHAPE_NO_FUNCTION, MEGCC_NONE, 0, 0, 0, 0);
  }
  do {
    if (f != s->view.function) (void)megcc_select(&s->view, f);
    for (k = 0; k < m->count[MEGCC_S_VALUES]; ++k) {
      s->value[k] = (int32_t)m->section[MEGCC_S_VALUES][k];
    }
    if (m->count[MEGCC_S_VALUES] > 0) {
      for (k = 0; k < m->count[MEGCC_S_SYMBOLS]; ++k) s->value[k] = s->symbol[k];
    }
    status = megcc_compute(s, 0, m->record[MEGCC_F_SCALARS]);
    f = function_from(s, f + 1);
  } while (status != MEGCC_OK && s->problem.reason == MEGCC_SHAPE_REQUIRED &&
           f < s->model->count[MEGCC_S_FUNCTIONS]);
  return status;
}

// ---- ports -----------------------------------------------------------------------------------

static size_t dims_at(const megcc_model_t *m, uint32_t port) {
  size_t at = 0;
  while (port-- > 0) at += rank_of(m, port);
  return at;
}

// Whether the bytes of a port are known after a run alone. A state has those of its input, wherever
// a run makes the output before it is stored.
static int port_waits(const megcc_model_t *m, uint32_t port, const megcc_tensor_t *t) {
  return megcc_partner(m, port) == MEGCC_NONE && megcc_waits_for_data(m, t);
}

// The dims of a port as they are known at present, and no bytes before a run says them.
static void describe(const megcc_context_t *c, uint32_t port, megcc_tensor_info_t *info) {
  const struct megcc_shaped *s = c->shaped;
  const megcc_model_t *m = &s->view;
  const megcc_tensor_t t = megcc_tensor_at(m, megcc_port_words(m, port)[1]);
  const uint32_t data = m->record[MEGCC_F_DATA];
  int32_t *to = s->dims + dims_at(m, port);
  uint32_t d;
  info->dims = to;
  if (!c->has_run && port_waits(m, port, &t)) info->bytes = 0;
  if (port < m->count[MEGCC_S_INPUTS] && !s->resolved) {
    size_t at;
    const uint32_t *w = signature(s->model, port, &at);
    for (d = 0; d < t.rank; ++d) {
      to[d] = s->given[at + d];
      if (to[d] < 0 && (int32_t)w[1 + d] >= 0) to[d] = (int32_t)w[1 + d];
    }
    return;
  }
  for (d = 0; d < t.rank; ++d) {
    to[d] = t.dims[d];
    if (to[d] >= 0) continue;
    // Dims that depend on data are known after a run, but not after one that failed half-way.
    to[d] =
        s->resolved && (c->has_run || (uint32_t)(-1 - to[d]) < data) ? s->value[-1 - to[d]] : -1;
  }
}

// Ports whose bytes have changed lose their memory; so do those for which it is not what they need
// in the function of these shapes.
static void unbind_changed(megcc_context_t *c) {
  struct megcc_shaped *s = c->shaped;
  const megcc_model_t *m = &s->view;
  uint32_t i;
  for (i = 0; i < megcc_port_count(m); ++i) {
    const megcc_tensor_t t = megcc_tensor_at(m, megcc_port_words(m, i)[1]);
    size_t now = 0;
    (void)megcc_value_bytes(s, &t, &now);
    c->port[i].flags &= ~(uint32_t)MEGCC_PORT_FILLED;
    if (now == s->port_bytes[i] && !port_waits(m, i, &t) &&
        (uintptr_t)c->port[i].bound % t.element == 0) {
      continue;
    }
    s->port_bytes[i] = now;
    c->port[i].bound = NULL;
    c->port[i].flags = 0;
    c->place[MEGCC_INPUT][i] = NULL;
  }
}

// No dim that does not wait for data may be negative.
static megcc_status_t check_dims(struct megcc_shaped *s) {
  const megcc_model_t *m = &s->view;
  const uint32_t data = m->record[MEGCC_F_DATA];
  uint32_t d;
  for (d = 0; d < m->count[MEGCC_S_DIMS]; ++d) {
    const int32_t dim = (int32_t)m->section[MEGCC_S_DIMS][d];
    const uint32_t size = (uint32_t)(-1 - dim);
    if (dim < 0 && size < data && s->value[size] < 0) {
      const struct megcc_cause cause = {{size, size}, size, m->record[MEGCC_F_SCALARS]};
      return megcc_size_refuse(s, MEGCC_SHAPE_NEGATIVE, &cause, s->value[size], 0);
    }
  }
  return MEGCC_OK;
}

static void place(megcc_context_t *c) {
  struct megcc_shaped *s = c->shaped;
  *megcc_pool(c, 0) = s->arena_capacity >= s->arena_bytes ? s->arena : NULL;
  megcc_place_blocks(c, 0);
}

static megcc_status_t begin(const megcc_context_t *c) {
  const struct megcc_shaped *s = c->shaped;
  if (s->arena_bytes <= s->arena_capacity) return MEGCC_OK;
  return s->arena == NULL ? MEGCC_ERR_NO_ARENA : MEGCC_ERR_MEMORY;
}

static void set_arena(megcc_context_t *c, void *mem, size_t bytes) {
  c->shaped->arena = (uint8_t *)mem;
  c->shaped->arena_capacity = mem == NULL ? 0 : bytes;
  place(c);
}

static void measure(const megcc_context_t *c, struct megcc_tensor *t) {
  t->bytes = 0;
  if (c->shaped->resolved) (void)megcc_value_bytes(c->shaped, t, &t->bytes);
}

static megcc_status_t resolve(megcc_context_t *c) {
  struct megcc_shaped *s = c->shaped;
  const megcc_model_t *m = &s->view;
  megcc_status_t status;
  c->has_run = c->is_apart = 0;
  if ((status = bind_symbols(s)) != MEGCC_OK) return status;
  if ((status = choose_function(s)) != MEGCC_OK) return status;
  if ((status = check_dims(s)) != MEGCC_OK) return status;
  status = megcc_size_blocks(s, 0, m->count[MEGCC_S_BLOCKS], m->record[MEGCC_F_DATA]);
  if (status != MEGCC_OK) return status;
  if ((status = megcc_stack_blocks(s)) != MEGCC_OK) return status;
  s->problem.reason = MEGCC_SHAPE_FINE;
  s->resolved = 1;
  unbind_changed(c);
  place(c);
  return MEGCC_OK;
}

// ---- memory whose size depends on data -------------------------------------------------------

static void release(megcc_context_t *c) {
  struct megcc_shaped *s = c->shaped;
  const size_t blocks = counts_of(s->model).blocks;
  size_t b;
  for (b = 0; b < blocks; ++b) {
    if (s->dynamic[b].data != NULL) s->free(s->alloc_user, s->dynamic[b].data, s->dynamic[b].bytes);
    s->dynamic[b].data = NULL;
    s->dynamic[b].bytes = 0;
  }
  c->has_run = 0;  // outputs may have lain there
  if (s->resolved) place(c);
}

const megcc_shapes_t megcc_shapes = {
    megcc_may_lie,  megcc_check_shapes,  lay_out, create,   set,           resolve,
    begin,          set_arena,           measure, describe, megcc_reaches, megcc_settle,
    megcc_complete, megcc_waits_for_data};

// ---- the rest of the public functions for shapes ---------------------------------------------
//
// A package whose shapes are all fixed does not have them.

megcc_status_t megcc_function_index(const megcc_context_t *c, uint32_t *index) {
  megcc_status_t status;
  if (c == NULL || index == NULL) return MEGCC_ERR_NULL;
  if ((status = megcc_ready(c)) != MEGCC_OK) return status;
  *index = c->model->function;
  return MEGCC_OK;
}

megcc_status_t megcc_release(megcc_context_t *c) {
  if (c == NULL) return MEGCC_ERR_NULL;
  if (c->shaped != NULL) release(c);
  return MEGCC_OK;
}

megcc_status_t megcc_set_allocator(megcc_context_t *c, megcc_alloc_fn alloc,
                                   megcc_free_fn release_fn, void *user) {
  const megcc_status_t status = megcc_release(c);
  if (status != MEGCC_OK) return status;
  if ((alloc == NULL) != (release_fn == NULL)) return MEGCC_ERR_NULL;
  if (c->shaped == NULL) return MEGCC_OK;
  c->shaped->alloc = alloc;
  c->shaped->free = release_fn;
  c->shaped->alloc_user = user;
  return MEGCC_OK;
}
