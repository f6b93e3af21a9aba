// Contexts: their layout in the memory of the caller.
#include "megcc_vm.h"

// <NAME>_CONTEXT_BYTES of a package's header counts 16 pointers for this struct.
typedef char megcc_context_fits[sizeof(struct megcc_context) <= 16 * sizeof(void *) ? 1 : -1];

// Bytes of a context, each of whose arrays is as large as the function wants that wants the most.
// No sum of these passes a size_t: a program is at most SIZE_MAX / 64 bytes, and each of them is a
// count of its entries.
static size_t lay_out(const megcc_model_t *m, struct megcc_layout *n) {
  const size_t ports = megcc_port_count(m);
  size_t more = 0;
  n->pools = m->count[MEGCC_S_POOLS];
  n->operands = m->section[MEGCC_S_FUNCTIONS][MEGCC_F_MAX_OPERANDS];
  if (n->operands > m->count[MEGCC_S_CODE]) n->operands = m->count[MEGCC_S_CODE];  // has them all
  if (m->kernels->shapes != NULL) more = m->kernels->shapes->lay_out(m, n);
  n->bytes = sizeof(megcc_context_t) + ports * sizeof(struct megcc_port) +
             (n->pools + ports + n->operands) * sizeof(void *);
  return n->bytes + more;
}

megcc_status_t megcc_context_bytes(const megcc_model_t *m, size_t *bytes) {
  struct megcc_layout n;
  if (m == NULL || bytes == NULL) return MEGCC_ERR_NULL;
  *bytes = lay_out(m, &n);
  return MEGCC_OK;
}

megcc_status_t megcc_context_create(const megcc_model_t *m, void *mem, size_t bytes,
                                    megcc_context_t **context) {
  megcc_context_t *c = (megcc_context_t *)mem;
  struct megcc_layout n;
  void *next;
  if (context == NULL) return MEGCC_ERR_NULL;
  *context = NULL;
  if (m == NULL || mem == NULL) return MEGCC_ERR_NULL;
  if ((uintptr_t)mem % sizeof(void *) != 0) return MEGCC_ERR_ALIGNMENT;
  if (bytes < lay_out(m, &n)) return MEGCC_ERR_MEMORY;
  megcc_zero(mem, n.bytes);
  c->model = m;
  // Kernels take all operands as `void *`; the model's checks keep weights from being written.
  next = (void *)(uintptr_t)m->segment;
  c->place[MEGCC_WEIGHT] = (uint8_t **)next;
  next = c + 1;
  c->place[MEGCC_ARENA] = (uint8_t **)next;
  c->place[MEGCC_INPUT] = c->place[MEGCC_ARENA] + n.pools;
  c->place[MEGCC_OUTPUT] = c->place[MEGCC_INPUT] + m->count[MEGCC_S_INPUTS];
  next = c->place[MEGCC_OUTPUT] + m->count[MEGCC_S_OUTPUTS];
  c->operand = (void **)next;
  next = c->operand + n.operands;
  c->port = (struct megcc_port *)next;
  if (m->kernels->shapes != NULL) m->kernels->shapes->create(c, (uint8_t *)mem + n.bytes);
  *context = c;
  return MEGCC_OK;
}

megcc_status_t megcc_ready(const megcc_context_t *c) {
  if (c == NULL) return MEGCC_ERR_NULL;
  if (c->shaped == NULL || c->shaped->resolved) return MEGCC_OK;
  // Only the context's own memory changes, which the caller gave to be written.
  return c->shaped->ops->resolve((megcc_context_t *)(uintptr_t)c);
}
