// The reason for which shapes were refused.
#include "megcc_vm.h"

// Lets the problem name the first dim of an input that is this symbol, or a multiple of it.
static void blame(struct megcc_shaped *s, uint32_t symbol) {
  const megcc_model_t *m = s->model;
  const uint32_t *w = m->section[MEGCC_S_SIGNATURE];
  uint32_t i, d;
  for (i = 0; i < m->count[MEGCC_S_INPUTS]; ++i, w += 1 + *w) {
    for (d = 0; d < *w; ++d) {
      const int32_t dim = (int32_t)w[1 + d];
      if (dim >= 0 || (uint32_t)(-1 - dim) % m->count[MEGCC_S_SYMBOLS] != symbol) continue;
      s->problem.input = i;
      s->problem.axis = (int32_t)d;
      return;
    }
  }
}

// The value of the model that a call computes or reads, of which a dim is this value; or null.
static const char *name_of(const megcc_model_t *m, uint32_t size) {
  const uint32_t *code = m->section[MEGCC_S_CODE];
  for (; (*code & 0xFF) != MEGCC_OP_END; code += *code >> 8) {
    const uint32_t opcode = *code & 0xFF;
    const uint32_t *operand = code + (opcode == MEGCC_OP_CALL ? MEGCC_C_FIRST : MEGCC_C_FIRST + 2);
    uint32_t i, d;
    if (opcode != MEGCC_OP_CALL && opcode != MEGCC_OP_CALL_SIZED) continue;
    for (i = 0; i < code[MEGCC_C_OPERANDS]; ++i) {
      const megcc_tensor_t t = megcc_tensor_at(m, operand[i]);
      for (d = 0; d < t.rank; ++d) {
        if (t.dims[d] == -1 - (int32_t)size) return megcc_string(m, code[MEGCC_C_NAME]);
      }
    }
  }
  return NULL;
}

// Finds the dim of an input that two values follow from. The values are lost: they are those of
// shapes that were refused, and the next shapes compute them anew.
static void trace(struct megcc_shaped *s, uint32_t a, uint32_t b, uint32_t operations) {
  const megcc_model_t *m = &s->view;
  const uint32_t *w = m->section[MEGCC_S_SCALARS];
  uint32_t k, found;
  // Each value becomes the set of symbols that it follows from, a bit for each of the first.
  for (k = 0; k < m->count[MEGCC_S_VALUES]; ++k) {
    s->value[k] = k < m->count[MEGCC_S_SYMBOLS] && k < 31 ? (int32_t)1 << k : 0;
  }
  for (k = 0; k < operations; ++k, w += MEGCC_SCALAR_WORDS) {
    if ((w[0] & 0xFF) != MEGCC_V_REQUIRE) s->value[w[0] >> 8] = s->value[w[1]] | s->value[w[2]];
  }
  found = (uint32_t)(s->value[a] | s->value[b]);
  for (k = 0; k < 31; ++k) {
    if ((found >> k & 1) != 0) {
      blame(s, k);
      return;
    }
  }
}

static void trace_problem(struct megcc_shaped *s) {
  const struct megcc_cause cause = s->cause;
  if (cause.value[0] == MEGCC_NONE) return;
  s->cause.value[0] = MEGCC_NONE;
  if (s->problem.name == NULL) s->problem.name = name_of(&s->view, cause.size);
  trace(s, cause.value[0], cause.value[1], cause.operations);
}

megcc_status_t megcc_shape_problem(const megcc_context_t *c, megcc_shape_problem_t *problem) {
  struct megcc_shaped *s;
  if (c == NULL || problem == NULL) return MEGCC_ERR_NULL;
  s = c->shaped;
  if (s == NULL) return MEGCC_ERR_SHAPE;
  if (!s->resolved && s->problem.input == MEGCC_NONE) trace_problem(s);
  *problem = s->problem;
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
    case MEGCC_SHAPE_MULTIPLE: return "the dim is no multiple of what it must be";
  }
  return "unknown reason";
}
