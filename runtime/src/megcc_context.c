// Contexts: their layout in the memory of the caller.
#include "megcc_vm.h"

// <NAME>_CONTEXT_BYTES of a package's header counts 16 pointers for this struct.
typedef char megcc_context_fits[sizeof(struct megcc_context) <= 16 * sizeof(void *) ? 1 : -1];

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

megcc_status_t megcc_ready(const megcc_context_t *c) {
  if (c->shaped == NULL || c->shaped->resolved) return MEGCC_OK;
  // What changes is the context's own memory, which the caller gave to be written.
  return c->model->kernels->shapes->resolve((megcc_context_t *)(uintptr_t)c);
}
