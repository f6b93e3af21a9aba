// LOAD: sizes that depend on data.
//
//   word 1 name, 2 tensor (i32 or i64), 3 first value, 4 how many, 5 and 6 the scalars that follow
//   (first, last + 1), 7 and 8 the blocks whose size they decide, then for each value the least and
//   the greatest that is accepted.
//
// Reads the values, computes what depends on them, and allocates the blocks: by the caller's
// allocator, grown where they are too small, never shrunk.
#include "megcc_vm.h"

enum { NAME = 1, TENSOR, VALUE, COUNT, SCALARS, SCALARS_END, BLOCKS, BLOCKS_END, FIRST };

static megcc_status_t check(const megcc_model_t *m, const uint32_t *code, uint32_t words) {
  const uint32_t *record = m->section[MEGCC_S_FUNCTIONS] + (size_t)m->function * MEGCC_F_WORDS;
  const uint32_t values = m->count[MEGCC_S_VALUES];
  megcc_tensor_t t;
  if (words < FIRST || code[COUNT] > (words - FIRST) / 2) return MEGCC_ERR_CORRUPT;
  if (code[NAME] >= m->count[MEGCC_S_STRINGS]) return MEGCC_ERR_CORRUPT;
  if (code[TENSOR] >= m->count[MEGCC_S_TENSORS]) return MEGCC_ERR_CORRUPT;
  t = megcc_tensor_at(m, code[TENSOR]);
  if (t.dtype != MEGCC_I32 && t.dtype != MEGCC_I64) return MEGCC_ERR_CORRUPT;
  if (!megcc_is_fixed(&t)) return MEGCC_ERR_CORRUPT;
  if (t.bytes / megcc_dtype_bytes((megcc_dtype_t)t.dtype) < code[COUNT]) return MEGCC_ERR_CORRUPT;
  if (code[VALUE] < record[MEGCC_F_DATA] || code[VALUE] > values) return MEGCC_ERR_CORRUPT;
  if (code[COUNT] > values - code[VALUE]) return MEGCC_ERR_CORRUPT;
  if (code[SCALARS] > code[SCALARS_END] || code[SCALARS_END] > m->count[MEGCC_S_SCALARS]) {
    return MEGCC_ERR_CORRUPT;
  }
  if (code[BLOCKS] > code[BLOCKS_END] || code[BLOCKS_END] > m->count[MEGCC_S_BLOCKS]) {
    return MEGCC_ERR_CORRUPT;
  }
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

static megcc_status_t run(megcc_context_t *c, const uint32_t *code) {
  struct megcc_shaped *s = c->shaped;
  const megcc_tensor_t t = megcc_tensor_at(c->model, code[TENSOR]);
  const uint8_t *data = megcc_tensor_data(c, code[TENSOR]);
  megcc_status_t status;
  uint32_t k;
  for (k = 0; k < code[COUNT]; ++k) {
    int64_t x;
    if (t.dtype == MEGCC_I32) {
      x = ((const int32_t *)(const void *)data)[k];
    } else {
      megcc_copy(&x, data + 8 * (size_t)k, sizeof x);  // perhaps aligned to 4 only
    }
    if (x < (int32_t)code[FIRST + 2 * k] || x > (int32_t)code[FIRST + 2 * k + 1]) {
      return MEGCC_ERR_DATA;
    }
    s->value[code[VALUE] + k] = (int32_t)x;
  }
  status = megcc_compute(s, code[SCALARS], code[SCALARS_END]);
  if (status != MEGCC_OK) return MEGCC_ERR_DATA;
  status = megcc_size_blocks(s, code[BLOCKS], code[BLOCKS_END]);
  if (status != MEGCC_OK) return MEGCC_ERR_DATA;
  for (k = code[BLOCKS]; k < code[BLOCKS_END]; ++k) {
    const uint32_t *w = c->model->section[MEGCC_S_BLOCKS] + (size_t)k * MEGCC_BLOCK_WORDS;
    if ((w[0] & 0xFF) != MEGCC_B_DYNAMIC) continue;
    status = allocate(c, s->dynamic + k, s->size[k]);
    if (status != MEGCC_OK) break;
  }
  // Also after a failure: no address may stay that points to memory given back.
  megcc_place_blocks(c, code[BLOCKS], code[BLOCKS_END]);
  return status;
}

const megcc_op_t megcc_op_load = {check, run};
