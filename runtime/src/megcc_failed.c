// The node of the model that ended a run; only packages whose runs data can end carry this file.
#include "megcc_vm.h"

megcc_status_t megcc_failed_call(const megcc_context_t *c, uint32_t *call, const char **name) {
  if (c == NULL || call == NULL || name == NULL) return MEGCC_ERR_NULL;
  *call = c->call;
  *name = NULL;
  if (c->next == NULL) return MEGCC_OK;
  switch (*c->next & 0xFF) {
    case MEGCC_OP_CHECK:
    case MEGCC_OP_LET:
    case MEGCC_OP_LOAD:
    case MEGCC_OP_ROW: *name = megcc_string(c->model, c->next[1]); break;
    default: break;  // END, after a run, or what cannot fail
  }
  return MEGCC_OK;
}
