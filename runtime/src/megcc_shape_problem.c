// Why shapes were not accepted.
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
  const megcc_model_t *m = &s->view;
  const uint32_t *record = m->record;
  const uint32_t operations = record[MEGCC_F_SCALARS], data = record[MEGCC_F_DATA];
  const uint32_t *w = m->section[MEGCC_S_SCALARS];
  uint32_t k;
  if (s->problem.reason == MEGCC_SHAPE_REQUIRED) {
    for (k = 0; k < operations; ++k, w += MEGCC_SCALAR_WORDS) {
      if ((w[0] & 0xFF) == MEGCC_V_REQUIRE && s->value[w[1]] != s->value[w[2]]) {
        trace(s, w[1], w[2], k);
        return;
      }
    }
  } else if (s->problem.reason == MEGCC_SHAPE_NEGATIVE) {
    for (k = 0; k < m->count[MEGCC_S_DIMS]; ++k) {
      const uint32_t value = (uint32_t)(-1 - (int32_t)m->section[MEGCC_S_DIMS][k]);
      if ((int32_t)m->section[MEGCC_S_DIMS][k] < 0 && value < data && s->value[value] < 0) {
        trace(s, value, value, operations);
        return;
      }
    }
  }
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
