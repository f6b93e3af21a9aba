// A model's values do not depend on how a thread pool splits its calls: run with one range for each
// call, then in pieces from the last to the first, by several workers. Prints how many calls were
// split, and the largest bound on the workers of one, 255 being none.
#include "threaded.h"

static unsigned splits, bound;

static void backwards(void *user, megcc_range_fn range, const void *task, int32_t work,
                      int32_t grain, uint32_t workers) {
  const uint32_t n = workers < 5 ? workers : 5;
  const int32_t step = work / 7 < grain ? grain : work / 7;
  int32_t end = work;
  uint32_t k = 0;
  (void)user;
  CHECK(workers > 1 && grain > 0 && work / 2 >= grain);
  if (workers < 255 && workers > bound) bound = workers;
  ++splits;
  for (; end > 0; end -= step) range(task, n - 1 - k++ % n, end > step ? end - step : 0, end);
}

int main(void) {
  megcc_model_t *model = open_model();
  struct net serial = make_net(model), split = make_net(model);
  CHECK_STATUS(MEGCC_OK, megcc_set_parallel(split.context, backwards, NULL));
  run_net(&serial);
  run_net(&split);
  CHECK(memcmp(serial.outputs, split.outputs, serial.bytes) == 0);
  printf("%u %u\n", splits, bound);
  free_memory();
  return 0;
}
