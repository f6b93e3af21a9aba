// LOAD: sizes that depend on data.
//
//   word 1 name, 2 tensor (i32 or i64), 3 first value, 4 how many, 5 and 6 the scalars that follow
//   (first, last + 1), 7 and 8 the blocks whose size they decide, then for each value the least and
//   the greatest that is accepted.
//
// Reads the values, computes what depends on them, and allocates the blocks: by the caller's
// allocator, grown where they are too small, never shrunk.
#include "megcc_vm.h"

enum { NAME = 1, TENSOR, SIZES };

static megcc_status_t check(const megcc_model_t *m, const uint32_t *code, uint32_t words) {
  megcc_tensor_t t;
  megcc_status_t status;
  if (words < SIZES) return MEGCC_ERR_CORRUPT;
  status = megcc_check_sizes(m, code + SIZES, words - SIZES);
  if (status != MEGCC_OK) return status;
  if (code[NAME] >= m->count[MEGCC_S_STRINGS]) return MEGCC_ERR_CORRUPT;
  if (!megcc_find_tensor(m, code[TENSOR], &t)) return MEGCC_ERR_CORRUPT;
  if (t.dtype != MEGCC_I32 && t.dtype != MEGCC_I64) return MEGCC_ERR_CORRUPT;
  if (!megcc_is_fixed(&t)) return MEGCC_ERR_CORRUPT;
  return t.bytes / t.element < code[SIZES + 1] ? MEGCC_ERR_CORRUPT : MEGCC_OK;
}

static megcc_status_t run(megcc_context_t *c, const uint32_t *code) {
  const megcc_tensor_t t = megcc_tensor_at(c->model, code[TENSOR]);
  const uint8_t *data;
  uint32_t k;
  if (!megcc_has_memory(c, code + TENSOR, 1)) return MEGCC_ERR_DATA;
  data = megcc_tensor_data(c, code[TENSOR]);
  for (k = 0; k < code[SIZES + 1]; ++k) {
    int64_t x;
    megcc_status_t status;
    if (t.dtype == MEGCC_I32) {
      x = ((const int32_t *)(const void *)data)[k];
    } else {
      megcc_copy(&x, data + 8 * (size_t)k, sizeof x);  // perhaps aligned to 4 only
    }
    status = megcc_set_size(c, code + SIZES, k, x);
    if (status != MEGCC_OK) return status;
  }
  return megcc_adopt_sizes(c, code + SIZES);
}

const megcc_op_t megcc_op_load = {check, run};
