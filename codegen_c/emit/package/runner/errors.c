// How the program ends where something fails: one line that says what, and status 1.
#include "features.h"
#include "runner.h"

#include <stdlib.h>

void fail(const char *what, const char *subject) {
  fflush(stdout);
  fprintf(stderr, "run: error: %s%s%s\n", subject ? subject : "", subject ? ": " : "", what);
  exit(1);
}

void check(megcc_status_t status, const char *subject) {
  if (status != MEGCC_OK) fail(megcc_status_string(status), subject);
}

void check_run(megcc_status_t status, megcc_context_t *context) {
  const char *node = NULL;
#if MODEL_CAN_FAIL
  uint32_t call;
  check(megcc_failed_call(context, &call, &node), NULL);
#else
  (void)context;
#endif
  check(status, node != NULL ? node : "run");
}

#if MODEL_HAS_SHAPES
// Whether a problem is one of a size inside the model, whose value it names.
static int is_inside(const megcc_shape_problem_t *p) {
  return p->reason == MEGCC_SHAPE_REQUIRED || p->reason == MEGCC_SHAPE_NEGATIVE ||
         p->reason == MEGCC_SHAPE_TOO_LARGE;
}

// Prints the dim of an input from which a value inside the model follows.
static void print_origin(const megcc_context_t *context, const megcc_shape_problem_t *p) {
  megcc_tensor_info_t info;
  if (!is_inside(p)) return;
  if (megcc_input_info(context, p->input, &info) != MEGCC_OK || p->axis >= info.rank) return;
  fprintf(stderr, "; from input '%s', dim %ld = %ld", info.name, (long)p->axis,
          (long)info.dims[p->axis]);
}

void check_shape(megcc_status_t status, const megcc_context_t *context) {
  megcc_shape_problem_t p;
  if (status != MEGCC_ERR_SHAPE && status != MEGCC_ERR_NO_SHAPE) {
    check(status, NULL);
    return;
  }
  check(megcc_shape_problem(context, &p), NULL);
  fprintf(stderr, "run: error: ");
  if (is_inside(&p)) {
    if (p.name != NULL) fprintf(stderr, "'%s'", p.name);
  } else if (p.name != NULL) {
    fprintf(stderr, "input '%s', dim %ld", p.name, (long)p.axis);
  }
  if (p.symbol != NULL) fprintf(stderr, " ('%s')", p.symbol);
  if (p.name != NULL) fprintf(stderr, ": ");
  fprintf(stderr, "%s", megcc_shape_reason_string(p.reason));
  switch (p.reason) {
    case MEGCC_SHAPE_FINE: fprintf(stderr, "; give it with --shape NAME=DIMS"); break;
    case MEGCC_SHAPE_RANK:
      fprintf(stderr, ": it has %ld, not %ld", (long)p.low, (long)p.value);
      break;
    case MEGCC_SHAPE_BOUNDS:
      fprintf(stderr, ": it is %ld, the model takes %ld to %ld", (long)p.value, (long)p.low,
              (long)p.high);
      break;
    case MEGCC_SHAPE_MULTIPLE:
      fprintf(stderr, ": it is %ld, the model takes multiples of %ld", (long)p.value, (long)p.low);
      break;
    case MEGCC_SHAPE_DIFFERENT:
      fprintf(stderr, ": %ld and %ld; tvmc compile --distinct-dims '%s' makes them two dims",
              (long)p.value, (long)p.low, p.symbol);
      break;
    case MEGCC_SHAPE_FIXED:
    case MEGCC_SHAPE_REQUIRED: fprintf(stderr, ": %ld and %ld", (long)p.value, (long)p.low); break;
    case MEGCC_SHAPE_NEGATIVE: fprintf(stderr, ": %ld", (long)p.value); break;
    default: break;
  }
  print_origin(context, &p);
  fprintf(stderr, "\n");
  exit(1);
}
#endif
