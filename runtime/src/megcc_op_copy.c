// COPY: word 1 destination tensor, word 2 source tensor of as many bytes.
#include "megcc_vm.h"

static megcc_status_t check(const megcc_model_t *m, const uint32_t *code, uint32_t words) {
  megcc_tensor_t dst, src;
  uint32_t d;
  if (words != 3 || !megcc_tensor_is_writable(m, code[1])) return MEGCC_ERR_CORRUPT;
  if (!megcc_find_tensor(m, code[2], &src)) return MEGCC_ERR_CORRUPT;
  (void)megcc_find_tensor(m, code[1], &dst);
  // The same dims, not only as many bytes; those that are values are compared when it runs
  // (megcc_op_copy_shaped).
  if (dst.dtype != src.dtype || dst.rank != src.rank) return MEGCC_ERR_CORRUPT;
  for (d = dst.rank; d-- > 0;) {
    if (dst.dims[d] != src.dims[d] && (dst.dims[d] | src.dims[d]) >= 0) return MEGCC_ERR_CORRUPT;
  }
  return MEGCC_OK;
}

static megcc_status_t run(megcc_context_t *context, const uint32_t *code) {
  megcc_tensor_t t;
  megcc_measure_tensor(context, code[1], &t);
  megcc_copy(megcc_tensor_data(context, code[1]), megcc_tensor_data(context, code[2]), t.bytes);
  return MEGCC_OK;
}

const megcc_op_t megcc_op_copy = {check, run};
