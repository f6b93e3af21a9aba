// Shapes that change: from the dims that the caller sets to values, a function, and addresses.
//
// Only packages whose shapes are not all fixed carry this file (megcc_kernels.shapes).
#include "megcc_vm.h"

// <NAME>_CONTEXT_BYTES of a package's header counts as many bytes for this struct.
typedef char megcc_shaped_fits[sizeof(struct megcc_shaped) <= MEGCC_SHAPED_BYTES ? 1 : -1];

int megcc_is_fixed(const megcc_tensor_t *t) {
  uint32_t d;
  for (d = 0; d < t->rank; ++d) {
    if (t->dims[d] < 0) return 0;
  }
  return 1;
}

// ---- the image -------------------------------------------------------------------------------

static const uint32_t *record_of(const megcc_model_t *m, uint32_t function) {
  return m->section[MEGCC_S_FUNCTIONS] + (size_t)function * MEGCC_F_WORDS;
}

static megcc_status_t check_scalars(const megcc_model_t *m) {
  const uint32_t *w = m->section[MEGCC_S_SCALARS];
  const uint32_t *record = record_of(m, m->function);
  const uint32_t values = m->count[MEGCC_S_VALUES], symbols = m->count[MEGCC_S_SYMBOLS];
  uint32_t i;
  if (values > 0 && values < symbols) return MEGCC_ERR_CORRUPT;
  if (record[MEGCC_F_DATA] > values) return MEGCC_ERR_CORRUPT;
  if (record[MEGCC_F_SCALARS] > m->count[MEGCC_S_SCALARS]) return MEGCC_ERR_CORRUPT;
  for (i = 0; i < m->count[MEGCC_S_SCALARS]; ++i, w += MEGCC_SCALAR_WORDS) {
    const uint32_t operation = w[0] & 0xFF, to = w[0] >> 8;
    if (operation >= MEGCC_V_OPERATIONS) return MEGCC_ERR_CORRUPT;
    if (to >= values || w[1] >= values || w[2] >= values) return MEGCC_ERR_CORRUPT;
    if (operation != MEGCC_V_REQUIRE && to < symbols) return MEGCC_ERR_CORRUPT;
  }
  return MEGCC_OK;
}

static megcc_status_t check_blocks(const megcc_model_t *m) {
  const uint32_t *w = m->section[MEGCC_S_BLOCKS];
  const uint32_t *below = m->section[MEGCC_S_BELOW];
  uint32_t i, k;
  for (i = 0; i < m->count[MEGCC_S_BLOCKS]; ++i, w += MEGCC_BLOCK_WORDS) {
    const uint32_t shift = w[0] >> 8;
    switch (w[0] & 0xFF) {
      case MEGCC_B_PLACED:
        if (shift > 6 || w[1] > m->count[MEGCC_S_BELOW]) return MEGCC_ERR_CORRUPT;
        if (w[2] > m->count[MEGCC_S_BELOW] - w[1]) return MEGCC_ERR_CORRUPT;
        for (k = 0; k < w[2]; ++k) {
          if (below[w[1] + k] >= i) return MEGCC_ERR_CORRUPT;
        }
        break;
      case MEGCC_B_ALIAS:
        if (w[1] >= i || w[2] >= m->count[MEGCC_S_VALUES]) return MEGCC_ERR_CORRUPT;
        break;
      case MEGCC_B_DYNAMIC: break;
      default: return MEGCC_ERR_CORRUPT;
    }
  }
  return MEGCC_OK;
}

// The signature says what every function's inputs look like.
static megcc_status_t check_signature(const megcc_model_t *m) {
  const uint32_t *symbol = m->section[MEGCC_S_SYMBOLS];
  const uint32_t *w = m->section[MEGCC_S_SIGNATURE];
  uint32_t left = m->count[MEGCC_S_SIGNATURE], k;
  for (k = 0; k < m->count[MEGCC_S_SYMBOLS]; ++k, symbol += MEGCC_SYMBOL_WORDS) {
    if (symbol[0] >= m->count[MEGCC_S_STRINGS] || symbol[1] > INT32_MAX || symbol[2] > INT32_MAX) {
      return MEGCC_ERR_CORRUPT;
    }
  }
  while (left > 0) {
    const uint32_t rank = *w;
    if (rank > left - 1) return MEGCC_ERR_CORRUPT;
    for (k = 1; k <= rank; ++k) {
      const int32_t dim = (int32_t)w[k];
      if (dim < 0 && (uint32_t)(-1 - dim) >= m->count[MEGCC_S_SYMBOLS]) return MEGCC_ERR_CORRUPT;
    }
    w += 1 + rank;
    left -= 1 + rank;
  }
  return MEGCC_OK;
}

// Each input of the function has the rank that the signature says, and no more inputs are there.
static megcc_status_t check_ranks(const megcc_model_t *m) {
  const uint32_t *w = m->section[MEGCC_S_SIGNATURE];
  uint32_t left = m->count[MEGCC_S_SIGNATURE], i;
  for (i = 0; i < m->count[MEGCC_S_INPUTS]; ++i) {
    const uint32_t id = m->section[MEGCC_S_INPUTS][i * MEGCC_PORT_WORDS + 1];
    if (left == 0 || *w != megcc_tensor_at(m, id).rank) return MEGCC_ERR_CORRUPT;
    left -= 1 + *w;
    w += 1 + *w;
  }
  return left == 0 ? MEGCC_OK : MEGCC_ERR_CORRUPT;
}

// Whether a tensor may lie where it says: 1 when the shapes will tell, -1 when it is as fixed as
// any other tensor.
static int may_lie(const megcc_model_t *m, const megcc_tensor_t *t) {
  const int section = t->space == MEGCC_INPUT ? MEGCC_S_INPUTS : MEGCC_S_OUTPUTS;
  megcc_tensor_t port;
  uint32_t id;
  if (t->space == MEGCC_ARENA && t->index >= m->count[MEGCC_S_POOLS]) {
    return t->index - m->count[MEGCC_S_POOLS] < m->count[MEGCC_S_BLOCKS];
  }
  if (t->space != MEGCC_INPUT && t->space != MEGCC_OUTPUT) return megcc_is_fixed(t) ? -1 : 0;
  if (t->index >= m->count[section]) return 0;
  id = m->section[section][t->index * MEGCC_PORT_WORDS + 1];
  if (id >= m->count[MEGCC_S_TENSORS]) return 0;
  port = megcc_tensor_at(m, id);
  if (megcc_is_fixed(t) && megcc_is_fixed(&port)) return -1;
  // The port's own tensor must be exactly this memory, or there would be none.
  return port.space == t->space && port.index == t->index && port.offset == 0;
}

static megcc_status_t check(const megcc_model_t *m) {
  const uint32_t *w = m->section[MEGCC_S_GUARDS];
  megcc_status_t status;
  uint32_t i;
  if (m->count[MEGCC_S_POOLS] != 1) return MEGCC_ERR_CORRUPT;
  if ((status = check_signature(m)) != MEGCC_OK) return status;
  if ((status = check_ranks(m)) != MEGCC_OK) return status;
  for (i = 0; i < m->count[MEGCC_S_GUARDS]; ++i, w += MEGCC_GUARD_WORDS) {
    if (w[0] >= m->count[MEGCC_S_SYMBOLS]) return MEGCC_ERR_CORRUPT;
  }
  if ((status = check_scalars(m)) != MEGCC_OK) return status;
  return check_blocks(m);
}

// ---- the context's memory --------------------------------------------------------------------

// How many of each thing the function that has the most of them needs.
struct counts {
  size_t values, blocks, input_dims, output_dims, ports;
};

static uint32_t rank_of(const megcc_model_t *m, int section, uint32_t port) {
  return megcc_tensor_at(m, m->section[section][port * MEGCC_PORT_WORDS + 1]).rank;
}

static struct counts counts_of(const megcc_model_t *model) {
  struct counts n = {0, 0, 0, 0, 0};
  megcc_model_t m = *model;
  uint32_t f, i;
  for (f = 0; f < m.count[MEGCC_S_FUNCTIONS]; ++f) {
    size_t dims = 0;
    megcc_select(&m, f);
    for (i = 0; i < m.count[MEGCC_S_OUTPUTS]; ++i) dims += rank_of(&m, MEGCC_S_OUTPUTS, i);
    if (dims > n.output_dims) n.output_dims = dims;
    if (m.count[MEGCC_S_VALUES] > n.values) n.values = m.count[MEGCC_S_VALUES];
    if (m.count[MEGCC_S_BLOCKS] > n.blocks) n.blocks = m.count[MEGCC_S_BLOCKS];
  }
  for (i = 0; i < m.count[MEGCC_S_INPUTS]; ++i) n.input_dims += rank_of(&m, MEGCC_S_INPUTS, i);
  n.ports = (size_t)m.count[MEGCC_S_INPUTS] + m.count[MEGCC_S_OUTPUTS];
  return n;
}

static size_t bytes(const megcc_model_t *m) {
  const struct counts n = counts_of(m);
  const size_t words = m->count[MEGCC_S_SYMBOLS] + n.values + 2 * n.input_dims + n.output_dims;
  return sizeof(struct megcc_shaped) + n.blocks * sizeof(struct megcc_dynamic) +
         (2 * n.blocks + n.ports) * sizeof(size_t) + (words + 1) / 2 * 8;
}

static void create(megcc_context_t *c, void *mem) {
  const megcc_model_t *m = c->model;
  const struct counts n = counts_of(m);
  struct megcc_shaped *s = (struct megcc_shaped *)mem;
  size_t i;
  s->view = *m;
  s->model = m;
  s->dynamic = (struct megcc_dynamic *)(s + 1);
  s->size = (size_t *)(s->dynamic + n.blocks);
  s->offset = s->size + n.blocks;
  s->port_bytes = s->offset + n.blocks;
  s->given = (int32_t *)(s->port_bytes + n.ports);
  s->dims = s->given + n.input_dims;
  s->symbol = s->dims + n.input_dims + n.output_dims;
  s->value = s->symbol + m->count[MEGCC_S_SYMBOLS];
  s->arena = NULL;
  s->arena_bytes = s->arena_capacity = 0;
  s->alloc = NULL;
  s->free = NULL;
  s->alloc_user = NULL;
  s->problem.reason = MEGCC_SHAPE_FINE;
  s->resolved = 0;
  for (i = 0; i < n.blocks; ++i) {
    s->dynamic[i].data = NULL;
    s->dynamic[i].bytes = 0;
    s->size[i] = s->offset[i] = 0;
  }
  for (i = 0; i < n.ports; ++i) s->port_bytes[i] = 0;
  for (i = 0; i < n.input_dims; ++i) s->given[i] = -1;
  for (i = 0; i < n.input_dims + n.output_dims; ++i) s->dims[i] = -1;
  for (i = 0; i < n.values; ++i) s->value[i] = -1;
  c->model = &s->view;
  c->shaped = s;
}

// ---- shapes from the caller ------------------------------------------------------------------

static megcc_status_t refuse(struct megcc_shaped *s, megcc_shape_reason_t reason, uint32_t input,
                             int32_t axis, int32_t value, int32_t low, int32_t high) {
  const megcc_model_t *m = s->model;
  megcc_shape_problem_t *p = &s->problem;
  p->reason = reason;
  p->input = input;
  p->axis = axis;
  p->value = value;
  p->low = low;
  p->high = high;
  p->symbol = NULL;
  p->name = NULL;
  if (input < m->count[MEGCC_S_INPUTS]) {
    p->name = megcc_string(m, m->section[MEGCC_S_INPUTS][input * MEGCC_PORT_WORDS]);
  }
  return MEGCC_ERR_SHAPE;
}

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
    return refuse(s, MEGCC_SHAPE_RANK, input, 0, rank, (int32_t)w[0], 0);
  }
  for (d = 0; d < rank; ++d) {
    const int32_t dim = (int32_t)w[1 + d];
    if (dim >= 0) {
      if (dims[d] != dim) return refuse(s, MEGCC_SHAPE_FIXED, input, d, dims[d], dim, dim);
    } else {
      const uint32_t *symbol = symbol_at(m, (uint32_t)(-1 - dim));
      const int32_t low = (int32_t)symbol[1], high = (int32_t)symbol[2];
      if (dims[d] < low || dims[d] > high) {
        (void)refuse(s, MEGCC_SHAPE_BOUNDS, input, d, dims[d], low, high);
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
      if ((int32_t)*w >= 0) continue;
      k = (uint32_t)(-1 - (int32_t)*w);
      if (*given < 0) {
        (void)refuse(s, MEGCC_SHAPE_FINE, i, (int32_t)d, -1, 0, 0);
        s->problem.symbol = megcc_string(m, *symbol_at(m, k));
        return MEGCC_ERR_NO_SHAPE;
      }
      if (s->symbol[k] >= 0 && s->symbol[k] != *given) {
        (void)refuse(s, MEGCC_SHAPE_DIFFERENT, i, (int32_t)d, *given, s->symbol[k], 0);
        s->problem.symbol = megcc_string(m, *symbol_at(m, k));
        return MEGCC_ERR_SHAPE;
      }
      s->symbol[k] = *given;
    }
  }
  return MEGCC_OK;
}

static int accepts(const struct megcc_shaped *s, uint32_t function) {
  const megcc_model_t *m = s->model;
  const uint32_t *record = record_of(m, function);
  const uint32_t *at = record + MEGCC_F_SECTIONS + 2 * (MEGCC_S_GUARDS - MEGCC_S_FIRST_OF_FUNCTION);
  const uint32_t *w = m->program + at[0] / 4;
  uint32_t k;
  for (k = 0; k < at[1]; ++k, w += MEGCC_GUARD_WORDS) {
    const int32_t value = s->symbol[w[0]];
    if (value < (int32_t)w[1] || value >= (int32_t)w[2]) return 0;
  }
  return 1;
}

static megcc_status_t choose_function(struct megcc_shaped *s) {
  uint32_t f;
  for (f = 0; f < s->model->count[MEGCC_S_FUNCTIONS]; ++f) {
    if (!accepts(s, f)) continue;
    if (f != s->view.function) megcc_select(&s->view, f);
    return MEGCC_OK;
  }
  return refuse(s, MEGCC_SHAPE_NO_FUNCTION, MEGCC_NONE, 0, 0, 0, 0);
}

// ---- values ----------------------------------------------------------------------------------

static int64_t floor_quotient(int64_t a, int64_t b) {
  const int64_t q = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}

megcc_status_t megcc_compute(struct megcc_shaped *s, uint32_t first, uint32_t last) {
  const uint32_t *w = s->view.section[MEGCC_S_SCALARS] + (size_t)first * MEGCC_SCALAR_WORDS;
  uint32_t i;
  for (i = first; i < last; ++i, w += MEGCC_SCALAR_WORDS) {
    const int64_t a = s->value[w[1]], b = s->value[w[2]];
    int64_t x = 0;
    switch (w[0] & 0xFF) {
      case MEGCC_V_MOVE: x = a; break;
      case MEGCC_V_ADD: x = a + b; break;
      case MEGCC_V_SUB: x = a - b; break;
      case MEGCC_V_MUL: x = a * b; break;
      case MEGCC_V_FLOORDIV:
      case MEGCC_V_FLOORMOD:
        if (b == 0) return refuse(s, MEGCC_SHAPE_TOO_LARGE, MEGCC_NONE, 0, (int32_t)a, 0, 0);
        x = floor_quotient(a, b);
        if ((w[0] & 0xFF) == MEGCC_V_FLOORMOD) x = a - x * b;
        break;
      case MEGCC_V_MIN: x = a < b ? a : b; break;
      case MEGCC_V_MAX: x = a > b ? a : b; break;
      case MEGCC_V_EQ: x = a == b; break;
      case MEGCC_V_LT: x = a < b; break;
      default:  // MEGCC_V_REQUIRE
        if (a == b) continue;
        return refuse(s, MEGCC_SHAPE_REQUIRED, MEGCC_NONE, 0, (int32_t)a, (int32_t)b, 0);
    }
    if (x < INT32_MIN || x > INT32_MAX) {
      return refuse(s, MEGCC_SHAPE_TOO_LARGE, MEGCC_NONE, 0, 0, 0, 0);
    }
    s->value[w[0] >> 8] = (int32_t)x;
  }
  return MEGCC_OK;
}

static int32_t dim_of(const struct megcc_shaped *s, int32_t dim) {
  return dim >= 0 ? dim : s->value[-1 - dim];
}

// Bytes of a tensor for the present values: 1 and them, 0 where a dim is negative, -1 where they do
// not fit in a size_t.
static int tensor_bytes(const struct megcc_shaped *s, const megcc_tensor_t *t, size_t *bytes) {
  size_t n = megcc_dtype_bytes((megcc_dtype_t)t->dtype);
  uint32_t d;
  for (d = 0; d < t->rank; ++d) {
    const int32_t dim = dim_of(s, t->dims[d]);
    if (dim < 0) return 0;
    if (dim != 0 && n > SIZE_MAX / (size_t)dim) return -1;
    n *= (size_t)dim;
  }
  *bytes = megcc_packed(t->dtype, n);
  return 1;
}

// Whether a tensor lies within memory that a LOAD or LET has allocated, where it waits for one.
static int has_memory(const struct megcc_shaped *s, const megcc_tensor_t *t) {
  const uint32_t *blocks = s->view.section[MEGCC_S_BLOCKS];
  const uint32_t pools = s->view.count[MEGCC_S_POOLS];
  size_t end = t->offset + t->bytes;
  uint32_t b;
  if (t->space != MEGCC_ARENA || t->index < pools || t->bytes == 0) return 1;
  b = t->index - pools;
  while ((blocks[b * MEGCC_BLOCK_WORDS] & 0xFF) == MEGCC_B_ALIAS) {
    const int32_t offset = s->value[blocks[b * MEGCC_BLOCK_WORDS + 2]];
    if (offset < 0) return 0;
    end += (size_t)offset;
    b = blocks[b * MEGCC_BLOCK_WORDS + 1];
  }
  if ((blocks[b * MEGCC_BLOCK_WORDS] & 0xFF) != MEGCC_B_DYNAMIC) return end <= s->size[b];
  return end <= s->dynamic[b].bytes;
}

static void measure(const megcc_context_t *c, struct megcc_tensor *t) {
  t->bytes = 0;
  if (!c->shaped->resolved) return;
  (void)tensor_bytes(c->shaped, t, &t->bytes);
  // Only an image that was forged uses what has no size yet: then nothing is read or written.
  if (!has_memory(c->shaped, t)) t->bytes = 0;
}

// ---- addresses -------------------------------------------------------------------------------

static megcc_status_t too_large(struct megcc_shaped *s) {
  return refuse(s, MEGCC_SHAPE_TOO_LARGE, MEGCC_NONE, 0, 0, 0, 0);
}

static const uint32_t *block_at(const megcc_model_t *m, uint32_t block) {
  return m->section[MEGCC_S_BLOCKS] + (size_t)block * MEGCC_BLOCK_WORDS;
}

// A size grows to hold a part that begins at `offset`.
static int grow(size_t *size, size_t offset, size_t bytes) {
  if (bytes > SIZE_MAX / 2 || offset > SIZE_MAX / 2 - bytes) return 0;
  if (offset + bytes > *size) *size = offset + bytes;
  return 1;
}

megcc_status_t megcc_size_blocks(struct megcc_shaped *s, uint32_t first, uint32_t last) {
  const megcc_model_t *m = &s->view;
  const uint32_t pools = m->count[MEGCC_S_POOLS];
  uint32_t id, b;
  for (b = first; b < last; ++b) s->size[b] = 0;
  for (id = 0; id < m->count[MEGCC_S_TENSORS]; ++id) {
    const megcc_tensor_t t = megcc_tensor_at(m, id);
    size_t bytes = 0;
    int known;
    if (t.space == MEGCC_WEIGHT || (t.space == MEGCC_ARENA && t.index < pools)) continue;
    // Its block is sized later, when no size is of an earlier run.
    if (t.space == MEGCC_ARENA && t.index - pools >= last) continue;
    known = tensor_bytes(s, &t, &bytes);
    if (known < 0) return too_large(s);
    if (t.space == MEGCC_ARENA && t.index - pools < first) {
      // After a LOAD: what it made known must lie within what has its size already.
      const size_t room = s->size[t.index - pools];
      if (known && (t.offset > room || bytes > room - t.offset)) {
        return refuse(s, MEGCC_SHAPE_REQUIRED, MEGCC_NONE, 0, 0, 0, 0);
      }
    } else if (t.space == MEGCC_ARENA) {
      // What LOAD has not read yet has no size; it lies in a block that is sized later, or
      // within a part of the block that something else makes large enough.
      if (known && !grow(s->size + (t.index - pools), t.offset, bytes)) return too_large(s);
    } else if (known) {
      // A view of a port must lie within it.
      const int section = t.space == MEGCC_INPUT ? MEGCC_S_INPUTS : MEGCC_S_OUTPUTS;
      const uint32_t port = m->section[section][t.index * MEGCC_PORT_WORDS + 1];
      const megcc_tensor_t whole = megcc_tensor_at(m, port);
      size_t room = 0;
      if (tensor_bytes(s, &whole, &room) > 0 && (t.offset > room || bytes > room - t.offset)) {
        return refuse(s, MEGCC_SHAPE_REQUIRED, MEGCC_NONE, 0, 0, 0, 0);
      }
    }
  }
  for (b = last; b-- > first;) {
    const uint32_t *w = block_at(m, b);
    if ((w[0] & 0xFF) != MEGCC_B_ALIAS || w[1] < first) continue;
    if (s->value[w[2]] < 0) {
      return refuse(s, MEGCC_SHAPE_NEGATIVE, MEGCC_NONE, 0, s->value[w[2]], 0, 0);
    }
    if (!grow(s->size + w[1], (size_t)s->value[w[2]], s->size[b])) return too_large(s);
  }
  return MEGCC_OK;
}

// Stacks the blocks that do not wait for data.
static megcc_status_t stack_blocks(struct megcc_shaped *s) {
  const megcc_model_t *m = &s->view;
  const uint32_t *below = m->section[MEGCC_S_BELOW];
  size_t arena = 0;
  uint32_t b, k;
  for (b = 0; b < m->count[MEGCC_S_BLOCKS]; ++b) {
    const uint32_t *w = block_at(m, b);
    if ((w[0] & 0xFF) == MEGCC_B_PLACED) {
      const size_t align = (size_t)1 << (w[0] >> 8);
      size_t top = 0;
      for (k = 0; k < w[2]; ++k) {
        const uint32_t under = below[w[1] + k];
        if (s->offset[under] + s->size[under] > top) top = s->offset[under] + s->size[under];
      }
      top = (top + align - 1) / align * align;
      s->offset[b] = top;
      if (s->size[b] > SIZE_MAX / 2 - top) return too_large(s);
      if (s->size[b] > 0 && top + s->size[b] > arena) arena = top + s->size[b];
    } else if ((w[0] & 0xFF) == MEGCC_B_ALIAS) {
      s->offset[b] = s->offset[w[1]] + (size_t)s->value[w[2]];
    }
  }
  s->arena_bytes = m->count[MEGCC_S_BLOCKS] > 0 ? arena : m->pool_bytes[0];
  return MEGCC_OK;
}

void megcc_place_blocks(megcc_context_t *c, uint32_t first, uint32_t last) {
  struct megcc_shaped *s = c->shaped;
  const megcc_model_t *m = &s->view;
  uint8_t *arena = s->arena_capacity >= s->arena_bytes ? s->arena : NULL;
  uint32_t b;
  // Where nothing is stored kernels still get no null.
  if (s->arena_bytes == 0) arena = (uint8_t *)c;
  for (b = first; b < last; ++b) {
    const uint32_t *w = block_at(m, b);
    uint8_t **base = megcc_pool(c, m->count[MEGCC_S_POOLS] + b);
    switch (w[0] & 0xFF) {
      case MEGCC_B_PLACED: *base = arena == NULL ? NULL : arena + s->offset[b]; break;
      case MEGCC_B_ALIAS: {
        uint8_t *parent = *megcc_pool(c, m->count[MEGCC_S_POOLS] + w[1]);
        *base = parent == NULL ? NULL : parent + s->value[w[2]];
        break;
      }
      default: *base = s->dynamic[b].data == NULL ? (uint8_t *)c : (uint8_t *)s->dynamic[b].data;
    }
  }
}

static void place(megcc_context_t *c) {
  struct megcc_shaped *s = c->shaped;
  *megcc_pool(c, 0) = s->arena_capacity >= s->arena_bytes ? s->arena : NULL;
  megcc_place_blocks(c, 0, s->view.count[MEGCC_S_BLOCKS]);
}

// ---- ports -----------------------------------------------------------------------------------

static size_t dims_at(const megcc_model_t *m, int section, uint32_t port) {
  size_t at = 0;
  uint32_t i;
  const uint32_t inputs = section == MEGCC_S_INPUTS ? port : m->count[MEGCC_S_INPUTS];
  for (i = 0; i < inputs; ++i) at += rank_of(m, MEGCC_S_INPUTS, i);
  if (section == MEGCC_S_INPUTS) return at;
  for (i = 0; i < port; ++i) at += rank_of(m, MEGCC_S_OUTPUTS, i);
  return at;
}

// The dims of a port as they are known at present.
static const int32_t *dims(const megcc_context_t *c, int section, uint32_t port) {
  const struct megcc_shaped *s = c->shaped;
  const megcc_model_t *m = &s->view;
  const megcc_tensor_t t = megcc_tensor_at(m, m->section[section][port * MEGCC_PORT_WORDS + 1]);
  const uint32_t data = record_of(m, m->function)[MEGCC_F_DATA];
  int32_t *to = s->dims + dims_at(m, section, port);
  uint32_t d;
  if (section == MEGCC_S_INPUTS && !s->resolved) {
    size_t at;
    const uint32_t *w = signature(s->model, port, &at);
    for (d = 0; d < t.rank; ++d) {
      to[d] = s->given[at + d];
      if (to[d] < 0 && (int32_t)w[1 + d] >= 0) to[d] = (int32_t)w[1 + d];
    }
    return to;
  }
  for (d = 0; d < t.rank; ++d) {
    to[d] = t.dims[d];
    if (to[d] >= 0) continue;
    // What depends on data is known after a run, not after one that has failed half-way.
    to[d] = s->resolved && (c->has_run || (uint32_t)(-1 - to[d]) < data) ? dim_of(s, to[d]) : -1;
  }
  return to;
}

// Ports whose bytes have changed lose their memory.
static void unbind_changed(megcc_context_t *c) {
  struct megcc_shaped *s = c->shaped;
  const megcc_model_t *m = &s->view;
  const uint32_t inputs = m->count[MEGCC_S_INPUTS];
  uint32_t i;
  for (i = 0; i < inputs + m->count[MEGCC_S_OUTPUTS]; ++i) {
    const int section = i < inputs ? MEGCC_S_INPUTS : MEGCC_S_OUTPUTS;
    const uint32_t port = i < inputs ? i : i - inputs;
    const megcc_tensor_t t = megcc_tensor_at(m, m->section[section][port * MEGCC_PORT_WORDS + 1]);
    size_t now = 0;
    (void)tensor_bytes(s, &t, &now);
    c->input[i].flags &= ~(uint32_t)MEGCC_PORT_FILLED;
    if (now == s->port_bytes[i]) continue;
    s->port_bytes[i] = now;
    c->input[i].bound = NULL;
    c->input[i].flags = 0;
    c->base[m->count[MEGCC_S_SEGMENTS] + i] = NULL;
  }
}

// No dim that does not wait for data may be negative.
static megcc_status_t check_dims(struct megcc_shaped *s) {
  const megcc_model_t *m = &s->view;
  const uint32_t data = record_of(m, m->function)[MEGCC_F_DATA];
  uint32_t d;
  for (d = 0; d < m->count[MEGCC_S_DIMS]; ++d) {
    const int32_t dim = (int32_t)m->section[MEGCC_S_DIMS][d];
    if (dim >= 0 || (uint32_t)(-1 - dim) >= data || s->value[-1 - dim] >= 0) continue;
    return refuse(s, MEGCC_SHAPE_NEGATIVE, MEGCC_NONE, 0, s->value[-1 - dim], 0, 0);
  }
  return MEGCC_OK;
}

static megcc_status_t resolve(megcc_context_t *c) {
  struct megcc_shaped *s = c->shaped;
  const megcc_model_t *m = &s->view;
  megcc_status_t status;
  uint32_t k;
  c->has_run = 0;
  if ((status = bind_symbols(s)) != MEGCC_OK) return status;
  if ((status = choose_function(s)) != MEGCC_OK) return status;
  for (k = 0; k < m->count[MEGCC_S_VALUES]; ++k) {
    s->value[k] = (int32_t)m->section[MEGCC_S_VALUES][k];
  }
  if (m->count[MEGCC_S_VALUES] > 0) {
    for (k = 0; k < m->count[MEGCC_S_SYMBOLS]; ++k) s->value[k] = s->symbol[k];
  }
  status = megcc_compute(s, 0, record_of(m, m->function)[MEGCC_F_SCALARS]);
  if (status != MEGCC_OK) return status;
  if ((status = check_dims(s)) != MEGCC_OK) return status;
  if ((status = megcc_size_blocks(s, 0, m->count[MEGCC_S_BLOCKS])) != MEGCC_OK) return status;
  if ((status = stack_blocks(s)) != MEGCC_OK) return status;
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

const megcc_shapes_t megcc_shapes = {may_lie, check, bytes,   create, set,
                                     resolve, place, measure, dims};

// ---- the rest of the public functions for shapes ---------------------------------------------
//
// A package whose shapes are all fixed does not have them.

megcc_status_t megcc_shape_problem(const megcc_context_t *c, megcc_shape_problem_t *problem) {
  if (c == NULL || problem == NULL) return MEGCC_ERR_NULL;
  if (c->shaped == NULL) return MEGCC_ERR_SHAPE;
  *problem = c->shaped->problem;
  return MEGCC_OK;
}

const char *megcc_shape_reason_string(megcc_shape_reason_t reason) {
  switch (reason) {
    case MEGCC_SHAPE_FINE: return "the shape has not been set";
    case MEGCC_SHAPE_RANK: return "the input has another number of dims";
    case MEGCC_SHAPE_FIXED: return "the dim is fixed";
    case MEGCC_SHAPE_BOUNDS: return "the dim is out of its bounds";
    case MEGCC_SHAPE_DIFFERENT: return "the dim of the same name has another size";
    case MEGCC_SHAPE_NO_FUNCTION: return "the model was not compiled for these sizes together";
    case MEGCC_SHAPE_REQUIRED: return "two sizes inside the model are not equal, as they must be";
    case MEGCC_SHAPE_NEGATIVE: return "a dim inside the model would be negative";
    case MEGCC_SHAPE_TOO_LARGE: return "a size inside the model is too large";
  }
  return "unknown reason";
}

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
