// ROW: copy a tensor to a row of another one, or a row of another one to it.
//
//   word 1 name, 2 destination, 3 source, 4 number of the row (a tensor, i64), 5 whether it is a
//   row of the destination (1) or of the source (0), and whether it is counted from the last one
//   (2). A row is what the first dim counts.
#include "megcc_vm.h"

enum { NAME = 1, TO, FROM, NUMBER, HOW };
enum { INTO = 1, BACKWARDS = 2 };

static megcc_status_t check(const megcc_model_t *m, const uint32_t *code, uint32_t words) {
  megcc_tensor_t to, from;
  if (words != 6 || code[HOW] > 3) return MEGCC_ERR_CORRUPT;
  if (code[NAME] >= m->count[MEGCC_S_STRINGS]) return MEGCC_ERR_CORRUPT;
  if (!megcc_tensor_is_writable(m, code[TO])) return MEGCC_ERR_CORRUPT;
  if (!megcc_find_tensor(m, code[FROM], &from)) return MEGCC_ERR_CORRUPT;
  to = megcc_tensor_at(m, code[TO]);
  if (to.dtype != from.dtype) return MEGCC_ERR_CORRUPT;
  if ((code[HOW] & INTO ? to.rank : from.rank) == 0) return MEGCC_ERR_CORRUPT;
  return megcc_is_counter(m, code[NUMBER]) ? MEGCC_OK : MEGCC_ERR_CORRUPT;
}

static megcc_status_t run(megcc_context_t *c, const uint32_t *code) {
  const uint32_t part = code[HOW] & INTO ? code[FROM] : code[TO];
  const uint32_t all = code[HOW] & INTO ? code[TO] : code[FROM];
  const size_t bytes = megcc_tensor_in(c, part).bytes, total = megcc_tensor_in(c, all).bytes;
  int64_t row;
  uint8_t *to;
  const uint8_t *from;
  if (!megcc_has_memory(c, code + TO, 3)) return MEGCC_ERR_DATA;
  row = megcc_counter(c, code[NUMBER]);
  to = megcc_tensor_data(c, code[TO]);
  from = megcc_tensor_data(c, code[FROM]);
  if (bytes == 0) return MEGCC_OK;
  if (row < 0) return MEGCC_ERR_DATA;
  if (code[HOW] & BACKWARDS) row = (int64_t)(total / bytes) - 1 - row;
  if (row < 0 || (uint64_t)row >= total / bytes) return MEGCC_ERR_DATA;
  if (code[HOW] & INTO) {
    to += (size_t)row * bytes;
  } else {
    from += (size_t)row * bytes;
  }
  megcc_copy(to, from, bytes);
  return MEGCC_OK;
}

const megcc_op_t megcc_op_row = {check, run};
