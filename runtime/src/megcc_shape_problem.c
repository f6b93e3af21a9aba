// Why shapes were not accepted.
#include "megcc_vm.h"

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
