// Forged images of a model whose shapes change; called with the path of `changing`'s
// model_<arch>.bin.
#include "changing.h"

#define FORGED_KERNELS changing_kernels
#include "forge.h"

static void set_shapes(megcc_context_t *c, int32_t n) {
  const int32_t dims[2] = {n, 4};
  (void)megcc_set_input_shape(c, 0, 2, dims);
  (void)megcc_set_input_shape(c, 1, 1, dims);
}
