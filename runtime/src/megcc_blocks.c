// Values, and the sizes and addresses of blocks that follow from them: for the shapes, and again
// when a LOAD or LET has set sizes.
//
// Only packages whose shapes are not all fixed carry this file.
#include "megcc_vm.h"

megcc_status_t megcc_shape_refuse(struct megcc_shaped *s, megcc_shape_reason_t reason,
                                  uint32_t input, int32_t axis, int32_t value, int32_t low,
                                  int32_t high) {
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
  s->cause.value[0] = MEGCC_NONE;
  if (input < m->count[MEGCC_S_INPUTS]) {
    p->name = megcc_string(m, m->section[MEGCC_S_INPUTS][input * MEGCC_PORT_WORDS]);
  }
  return MEGCC_ERR_SHAPE;
}

megcc_status_t megcc_size_refuse(struct megcc_shaped *s, megcc_shape_reason_t reason,
                                 const struct megcc_cause *cause, int32_t value, int32_t low) {
  const megcc_status_t status = megcc_shape_refuse(s, reason, MEGCC_NONE, 0, value, low, 0);
  s->cause = *cause;
  return status;
}

static const uint32_t *block_at(const megcc_model_t *m, uint32_t block) {
  return m->section[MEGCC_S_BLOCKS] + (size_t)block * MEGCC_BLOCK_WORDS;
}

static megcc_status_t refuse(struct megcc_shaped *s, megcc_shape_reason_t reason, int32_t value,
                             int32_t low) {
  return megcc_shape_refuse(s, reason, MEGCC_NONE, 0, value, low, 0);
}

static megcc_status_t too_large(struct megcc_shaped *s) {
  return refuse(s, MEGCC_SHAPE_TOO_LARGE, 0, 0);
}

// A tensor's bytes are too many: its first open dim stands for it.
static megcc_status_t tensor_too_large(struct megcc_shaped *s, const megcc_tensor_t *t) {
  struct megcc_cause cause = {{0, 0}, 0, s->view.record[MEGCC_F_SCALARS]};
  uint32_t d = 0;
  while (d < t->rank && t->dims[d] >= 0) ++d;
  if (d == t->rank) return too_large(s);
  cause.value[0] = cause.value[1] = cause.size = (uint32_t)(-1 - t->dims[d]);
  return megcc_size_refuse(s, MEGCC_SHAPE_TOO_LARGE, &cause, 0, 0);
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
    const struct megcc_cause cause = {{w[1], w[2]}, w[0] >> 8, i};
    int64_t x = 0;
    switch (w[0] & 0xFF) {
      case MEGCC_V_MOVE: x = a; break;
      case MEGCC_V_ADD: x = a + b; break;
      case MEGCC_V_SUB: x = a - b; break;
      case MEGCC_V_MUL: x = a * b; break;
      case MEGCC_V_FLOORDIV:
      case MEGCC_V_FLOORMOD:
        if (b == 0) return megcc_size_refuse(s, MEGCC_SHAPE_TOO_LARGE, &cause, (int32_t)a, 0);
        x = floor_quotient(a, b);
        if ((w[0] & 0xFF) == MEGCC_V_FLOORMOD) x = a - x * b;
        break;
      case MEGCC_V_MIN: x = a < b ? a : b; break;
      case MEGCC_V_MAX: x = a > b ? a : b; break;
      case MEGCC_V_EQ: x = a == b; break;
      case MEGCC_V_LT: x = a < b; break;
      default:  // MEGCC_V_REQUIRE
        if (a == b) continue;
        (void)megcc_size_refuse(s, MEGCC_SHAPE_REQUIRED, &cause, (int32_t)a, (int32_t)b);
        s->problem.name = megcc_string(&s->view, w[0] >> 8);
        return MEGCC_ERR_SHAPE;
    }
    if (x < INT32_MIN || x > INT32_MAX) {
      return megcc_size_refuse(s, MEGCC_SHAPE_TOO_LARGE, &cause, 0, 0);
    }
    s->value[w[0] >> 8] = (int32_t)x;
  }
  return MEGCC_OK;
}

int megcc_value_bytes(const struct megcc_shaped *s, const megcc_tensor_t *t, size_t *bytes) {
  size_t n = t->element;
  uint32_t d;
  for (d = 0; d < t->rank; ++d) {
    const int32_t dim = t->dims[d] >= 0 ? t->dims[d] : s->value[-1 - t->dims[d]];
    if (dim < 0) return 0;
    if (!megcc_times(&n, (size_t)dim)) return -1;
  }
  *bytes = megcc_packed(t->dtype, n);
  return 1;
}

// ---- addresses -------------------------------------------------------------------------------

// A size grows to hold a part that begins at `offset`.
static int grow(size_t *size, size_t offset, size_t bytes) {
  if (bytes > SIZE_MAX / 2 || offset > SIZE_MAX / 2 - bytes) return 0;
  if (offset + bytes > *size) *size = offset + bytes;
  return 1;
}

megcc_status_t megcc_size_blocks(struct megcc_shaped *s, uint32_t first, uint32_t last,
                                 uint32_t unknown) {
  const megcc_model_t *m = &s->view;
  const uint32_t pools = m->count[MEGCC_S_POOLS];
  uint32_t id, b;
  for (b = first; b < last; ++b) s->size[b] = 0;
  for (id = 0; id < m->count[MEGCC_S_TENSORS]; ++id) {
    megcc_tensor_t t;
    size_t bytes = 0;
    int known;
    megcc_decode_tensor(m, megcc_tensor_words(m, id), &t);
    if (t.space == MEGCC_WEIGHT || (t.space == MEGCC_ARENA && t.index < pools)) continue;
    // Its block is sized later, when no size is of an earlier run.
    if (t.space == MEGCC_ARENA && t.index - pools >= last) continue;
    known = megcc_value_bytes(s, &t, &bytes);
    if (known < 0) return tensor_too_large(s, &t);
    if (t.space == MEGCC_ARENA && t.index - pools < first) {
      // After a LOAD: what it made known must lie within what has its size already.
      const size_t room = s->size[t.index - pools];
      if (known && (t.offset > room || bytes > room - t.offset)) {
        return refuse(s, MEGCC_SHAPE_REQUIRED, 0, 0);
      }
    } else if (t.space == MEGCC_ARENA) {
      // What LOAD has not read yet has no size; it lies in a block that is sized later, or
      // within a part of the block that something else makes large enough.
      if (known && !grow(s->size + (t.index - pools), t.offset, bytes)) {
        return tensor_too_large(s, &t);
      }
    } else if (known) {
      // A view of a port must lie within it.
      const int section = t.space == MEGCC_INPUT ? MEGCC_S_INPUTS : MEGCC_S_OUTPUTS;
      const uint32_t port = m->section[section][t.index * MEGCC_PORT_WORDS + 1];
      const megcc_tensor_t whole = megcc_tensor_at(m, port);
      size_t room = 0;
      if (megcc_value_bytes(s, &whole, &room) > 0 && (t.offset > room || bytes > room - t.offset)) {
        return refuse(s, MEGCC_SHAPE_REQUIRED, 0, 0);
      }
    }
  }
  for (b = last; b-- > first;) {
    const uint32_t *w = block_at(m, b);
    if ((w[0] & 0xFF) != MEGCC_B_ALIAS || w[1] < first || w[2] >= unknown) continue;
    if (s->value[w[2]] < 0) {
      return refuse(s, MEGCC_SHAPE_NEGATIVE, s->value[w[2]], 0);
    }
    if (!grow(s->size + w[1], (size_t)s->value[w[2]], s->size[b])) return too_large(s);
  }
  return MEGCC_OK;
}

megcc_status_t megcc_stack_blocks(struct megcc_shaped *s) {
  const megcc_model_t *m = &s->view;
  const uint32_t *below = m->section[MEGCC_S_BELOW];
  size_t arena = megcc_pool_bytes(m, 0);
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
    }
  }
  s->arena_bytes = arena;
  return MEGCC_OK;
}

void megcc_place_blocks(megcc_context_t *c, uint32_t first) {
  struct megcc_shaped *s = c->shaped;
  const megcc_model_t *m = &s->view;
  uint8_t *arena = s->arena_capacity >= s->arena_bytes ? s->arena : NULL;
  uint32_t b;
  s->settled = 0;
  // Where nothing is stored kernels still get no null.
  if (s->arena_bytes == 0) arena = (uint8_t *)c;
  for (b = first; b < m->count[MEGCC_S_BLOCKS]; ++b) {
    const uint32_t *w = block_at(m, b);
    uint8_t *data = NULL;
    size_t room = 0;
    switch (w[0] & 0xFF) {
      case MEGCC_B_PLACED:
        if (arena == NULL) break;
        data = arena + s->offset[b];
        room = s->size[b];
        break;
      case MEGCC_B_ALIAS: {
        const int32_t offset = s->value[w[2]];
        if (offset < 0 || (size_t)offset > s->room[w[1]]) break;
        data = *megcc_pool(c, m->count[MEGCC_S_POOLS] + w[1]) + offset;
        room = s->room[w[1]] - (size_t)offset;
        break;
      }
      default: data = (uint8_t *)s->dynamic[b].data; room = s->dynamic[b].bytes;
    }
    *megcc_pool(c, m->count[MEGCC_S_POOLS] + b) = data == NULL ? (uint8_t *)c : data;
    s->room[b] = room;
  }
}

int megcc_reaches(const megcc_context_t *c, const uint32_t *tensors, uint32_t count) {
  const struct megcc_shaped *s = c->shaped;
  const megcc_model_t *m = &s->view;
  uint32_t i;
  for (i = 0; i < count; ++i) {
    megcc_tensor_t t;
    size_t bytes = 0, room;
    if (tensors[i] == MEGCC_NONE) continue;
    megcc_decode_tensor(m, megcc_tensor_words(m, tensors[i]), &t);
    if (t.space == MEGCC_ARENA && t.index >= m->count[MEGCC_S_POOLS]) {
      room = s->room[t.index - m->count[MEGCC_S_POOLS]];
    } else if (t.space == MEGCC_INPUT || t.space == MEGCC_OUTPUT) {
      room = s->port_bytes[t.index + (t.space == MEGCC_OUTPUT ? m->count[MEGCC_S_INPUTS] : 0)];
    } else {
      continue;  // as fixed as in a model whose shapes are: checked when it was opened
    }
    if (megcc_value_bytes(s, &t, &bytes) <= 0) return 0;
    if (t.offset > room || bytes > room - t.offset) return 0;
    if ((uintptr_t)megcc_tensor_data(c, tensors[i]) % t.element != 0) return 0;
  }
  return 1;
}

void megcc_settle(megcc_context_t *c) {
  const megcc_model_t *m = &c->shaped->view;
  uint32_t id;
  c->shaped->settled = 0;
  if (m->record[MEGCC_F_DATA] < m->count[MEGCC_S_VALUES]) return;
  for (id = 0; id < m->count[MEGCC_S_TENSORS]; ++id) {
    if (!megcc_reaches(c, &id, 1)) return;
  }
  c->shaped->settled = 1;
}

int megcc_call_has_memory(const megcc_context_t *c, const uint32_t *code,
                          const uint32_t *operands) {
  if (megcc_is_settled(c)) return 1;
  return megcc_reaches(c, operands, code[MEGCC_C_OPERANDS]) &&
         megcc_reaches(c, code + MEGCC_C_WORKSPACE, 1);
}

int megcc_complete(const megcc_context_t *c) {
  const megcc_model_t *m = &c->shaped->view;
  uint32_t i;
  for (i = 0; i < m->count[MEGCC_S_OUTPUTS]; ++i) {
    if (!megcc_reaches(c, m->section[MEGCC_S_OUTPUTS] + i * MEGCC_PORT_WORDS + 1, 1)) return 0;
  }
  return 1;
}
