// Forged images of a model with loops and branches; called with the path of `looping`'s
// model_<arch>.bin.
#include "looping.h"

#define FORGED_KERNELS looping_kernels
#include "forge.h"

static void set_shapes(megcc_context_t *c, int32_t n) {
  const int32_t dims[2] = {n, 2};
  (void)megcc_set_input_shape(c, 1, 2, dims);
}
