// Forged images of a model that checks its data; called with the path of `checking`'s
// model_<arch>.bin.
#include "checking.h"

#define FORGED_KERNELS checking_kernels
#include "forge.h"

static void set_shapes(megcc_context_t *c, int32_t n) {
  const int32_t dims[2] = {n, 4};
  (void)megcc_set_input_shape(c, 0, 2, dims);
}
