// LET: sizes that become others during a run: of a loop's state, or of what a branch gives.
//
//   word 1 name, 2 ... 7 as words 3 ... 8 of LOAD, then for each value the least and the greatest
//   that is accepted, then for each value the one that it takes.
#include "megcc_vm.h"

enum { NAME = 1, SIZES, COUNT, FIRST = 8 };

static megcc_status_t check(const megcc_model_t *m, const uint32_t *code, uint32_t words) {
  megcc_status_t status;
  uint32_t k;
  if (words < FIRST || code[COUNT] > (words - FIRST) / 3) return MEGCC_ERR_CORRUPT;
  status = megcc_check_sizes(m, code + SIZES, words - SIZES);
  if (status != MEGCC_OK) return status;
  if (code[NAME] >= m->count[MEGCC_S_STRINGS]) return MEGCC_ERR_CORRUPT;
  for (k = 0; k < code[COUNT]; ++k) {
    if (code[FIRST + 2 * code[COUNT] + k] >= m->count[MEGCC_S_VALUES]) return MEGCC_ERR_CORRUPT;
  }
  return MEGCC_OK;
}

static megcc_status_t run(megcc_context_t *c, const uint32_t *code) {
  const uint32_t *from = code + FIRST + 2 * code[COUNT];
  uint32_t k;
  for (k = 0; k < code[COUNT]; ++k) {
    const megcc_status_t status = megcc_set_size(c, code + SIZES, k, c->shaped->value[from[k]]);
    if (status != MEGCC_OK) return status;
  }
  return megcc_adopt_sizes(c, code + SIZES);
}

const megcc_op_t megcc_op_let = {check, run};
