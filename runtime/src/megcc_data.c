// Sizes that are decided during a run, for LOAD and LET; only packages with one of them carry this
// file.
#include "megcc_vm.h"

enum { VALUE, COUNT, SCALARS, SCALARS_END, BLOCKS, BLOCKS_END, FIRST };

megcc_status_t megcc_check_sizes(const megcc_model_t *m, const uint32_t *code, uint32_t words) {
  const uint32_t *record = m->record;
  const uint32_t values = m->count[MEGCC_S_VALUES];
  uint32_t k;
  if (m->kernels->shapes == NULL) return MEGCC_ERR_CORRUPT;
  if (words < FIRST || code[COUNT] > (words - FIRST) / 2) return MEGCC_ERR_CORRUPT;
  if (code[VALUE] < record[MEGCC_F_DATA] || code[VALUE] > values) return MEGCC_ERR_CORRUPT;
  if (code[COUNT] > values - code[VALUE]) return MEGCC_ERR_CORRUPT;
  // Those before are of the shapes, which stay what they are.
  if (code[SCALARS] < record[MEGCC_F_SCALARS]) return MEGCC_ERR_CORRUPT;
  if (code[SCALARS] > code[SCALARS_END] || code[SCALARS_END] > m->count[MEGCC_S_SCALARS]) {
    return MEGCC_ERR_CORRUPT;
  }
  if (code[BLOCKS] > code[BLOCKS_END] || code[BLOCKS_END] > m->count[MEGCC_S_BLOCKS]) {
    return MEGCC_ERR_CORRUPT;
  }
  for (k = code[BLOCKS]; k < code[BLOCKS_END]; ++k) {
    const uint32_t *w = m->section[MEGCC_S_BLOCKS] + (size_t)k * MEGCC_BLOCK_WORDS;
    if ((w[0] & 0xFF) == MEGCC_B_PLACED) return MEGCC_ERR_CORRUPT;
  }
  return MEGCC_OK;
}

megcc_status_t megcc_set_size(megcc_context_t *c, const uint32_t *code, uint32_t k, int64_t x) {
  if (x < (int32_t)code[FIRST + 2 * k] || x > (int32_t)code[FIRST + 2 * k + 1]) {
    return MEGCC_ERR_DATA;
  }
  c->shaped->value[code[VALUE] + k] = (int32_t)x;
  return MEGCC_OK;
}

// Memory of at least `bytes` for a block; what it held is of an earlier run.
static megcc_status_t allocate(megcc_context_t *c, struct megcc_dynamic *d, size_t bytes) {
  struct megcc_shaped *s = c->shaped;
  if (bytes <= d->bytes) return MEGCC_OK;
  if (s->alloc == NULL) return MEGCC_ERR_NO_ALLOC;
  if (d->data != NULL) s->free(s->alloc_user, d->data, d->bytes);
  d->bytes = 0;
  d->data = s->alloc(s->alloc_user, bytes);
  if (d->data == NULL) return MEGCC_ERR_ALLOC;
  d->bytes = bytes;
  return MEGCC_OK;
}

static int overlap(uintptr_t a, size_t a_bytes, uintptr_t b, size_t b_bytes) {
  return a_bytes > 0 && b_bytes > 0 && (a - b < b_bytes || b - a < a_bytes);
}

// Whether a block overlaps memory of a port or the arena: an input, say, that was bound to where an
// earlier run has left an output.
static int is_shared(const megcc_context_t *c, uint32_t block) {
  const struct megcc_shaped *s = c->shaped;
  const uintptr_t data = (uintptr_t)s->dynamic[block].data;
  uint32_t i;
  for (i = megcc_port_count(c->model); i-- > 0;) {
    const uintptr_t bound = (uintptr_t)c->port[i].bound;
    if (bound != 0 && overlap(data, s->size[block], bound, s->port_bytes[i])) return 1;
  }
  return overlap(data, s->size[block], (uintptr_t)s->arena, s->arena_bytes);
}

megcc_status_t megcc_adopt_sizes(megcc_context_t *c, const uint32_t *code) {
  struct megcc_shaped *s = c->shaped;
  megcc_status_t status = megcc_compute(s, code[SCALARS], code[SCALARS_END]);
  uint32_t k;
  if (status != MEGCC_OK) return MEGCC_ERR_DATA;
  status = megcc_size_blocks(s, code[BLOCKS], code[BLOCKS_END], MEGCC_NONE);
  if (status != MEGCC_OK) return MEGCC_ERR_DATA;
  for (k = code[BLOCKS]; k < code[BLOCKS_END]; ++k) {
    const uint32_t *w = c->model->section[MEGCC_S_BLOCKS] + (size_t)k * MEGCC_BLOCK_WORDS;
    if ((w[0] & 0xFF) != MEGCC_B_DYNAMIC) continue;
    status = allocate(c, s->dynamic + k, s->size[k]);
    if (status == MEGCC_OK && is_shared(c, k)) status = MEGCC_ERR_OVERLAP;
    if (status != MEGCC_OK) break;
  }
  // Also after a failure: no address may stay that points to memory given back.
  megcc_place_blocks(c, code[BLOCKS]);
  return status;
}
