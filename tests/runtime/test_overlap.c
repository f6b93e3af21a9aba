// Memory of the caller that overlaps, on the `corners` program: what a run refuses, and what not.
#include "check.h"
#include "corners.h"
#include "megcc_step.h"

enum { X, S, EMPTY, A, INPUTS };
enum { Y = INPUTS, DIFFERENCE, SUM, SUM_AGAIN, X_THROUGH, A_THROUGH, WEIGHT, EMPTY_OUT };
enum { PORTS = INPUTS + 11, ROOM = 64, ARENA = PORTS * ROOM, ALL = ARENA + 256 };

static megcc_context_t *context;
static size_t bytes[PORTS];
static char *memory;  // a place of its own for each port, then the arena

static void bind_to(uint32_t port, void *data) {
  CHECK_STATUS(MEGCC_OK, port < INPUTS
                             ? megcc_bind_input(context, port, data, bytes[port])
                             : megcc_bind_output(context, port - INPUTS, data, bytes[port]));
}

static void bind_all(void) {
  uint32_t i;
  CHECK_STATUS(MEGCC_OK, megcc_set_arena(context, memory + ARENA, 256));
  for (i = 0; i < PORTS; ++i) bind_to(i, memory + i * ROOM);
}

// Port `a` begins `shift` bytes behind (in front of) where port `b`, or the arena, begins.
static const struct {
  uint32_t a, b;
  int shift;
  megcc_status_t expected;
} cases[] = {
    {Y, X, 0, MEGCC_ERR_OVERLAP},   // one buffer as input and output
    {X, Y, 0, MEGCC_ERR_OVERLAP},   // the other way round
    {Y, X, 20, MEGCC_ERR_OVERLAP},  // by their last and first elements
    {Y, X, -20, MEGCC_ERR_OVERLAP},
    {X, Y, 20, MEGCC_ERR_OVERLAP},
    {Y, X, 24, MEGCC_OK},  // side by side
    {Y, X, -24, MEGCC_OK},
    {S, Y, 12, MEGCC_ERR_OVERLAP},  // within
    {S, Y, 24, MEGCC_OK},
    {S, Y, -4, MEGCC_OK},
    {DIFFERENCE, Y, 12, MEGCC_ERR_OVERLAP},  // two outputs
    {Y, DIFFERENCE, -12, MEGCC_ERR_OVERLAP},
    {DIFFERENCE, Y, 24, MEGCC_OK},
    {X_THROUGH, X, 0, MEGCC_ERR_OVERLAP},  // an output that is a copy of that input
    {Y, A, 0, MEGCC_ERR_OVERLAP},          // an input that is copied into the arena
    {SUM, X, 0, MEGCC_ERR_OVERLAP},        // an output that is copied from the arena
    {SUM, SUM_AGAIN, 0, MEGCC_ERR_OVERLAP},
    {S, X, 4, MEGCC_OK},  // inputs may be one memory
    {A, X, 0, MEGCC_OK},
    {EMPTY, Y, 8, MEGCC_OK},  // without elements: nowhere
    {EMPTY_OUT, Y, 8, MEGCC_OK},
    {EMPTY_OUT, X, 8, MEGCC_OK},
    {EMPTY_OUT, EMPTY, 0, MEGCC_OK},
    {EMPTY_OUT, PORTS, 16, MEGCC_OK},
    {X, PORTS, 64, MEGCC_ERR_OVERLAP},  // the arena
    {X, PORTS, -8, MEGCC_ERR_OVERLAP},
    {Y, PORTS, 252, MEGCC_ERR_OVERLAP},
    {SUM, PORTS, 64, MEGCC_ERR_OVERLAP},  // where it is anyway
    {A, PORTS, 192, MEGCC_ERR_OVERLAP},
    {Y, PORTS, -24, MEGCC_OK},
    {Y, PORTS, 256, MEGCC_OK},
};

static void test_cases(void) {
  static char before[ALL + 2 * ROOM];
  megcc_stepper_t stepper;
  megcc_step_state_t state;
  size_t i;
  CHECK_STATUS(MEGCC_OK, megcc_stepper_init(&stepper, context));
  for (i = 0; i < sizeof cases / sizeof *cases; ++i) {
    bind_all();
    CHECK_STATUS(MEGCC_OK, megcc_run(context));
    bind_to(cases[i].a, memory + (int)cases[i].b * ROOM + cases[i].shift);
    memcpy(before, memory - ROOM, sizeof before);
    if (megcc_run(context) != cases[i].expected) {
      fprintf(stderr, "case %d\n", (int)i);
      exit(1);
    }
    if (cases[i].expected == MEGCC_OK) continue;
    CHECK(!memcmp(before, memory - ROOM, sizeof before));  // nothing was written
    CHECK_STATUS(MEGCC_ERR_OVERLAP, megcc_step(&stepper, 1, &state));
  }
}

// Two buffers that change places, one binding at a time, as a cache of the past and the present.
static void test_exchange(void) {
  int run;
  bind_all();
  for (run = 0; run < 4; ++run) {
    bind_to(run % 2 ? X : Y, memory + X * ROOM);
    bind_to(run % 2 ? Y : X, memory + Y * ROOM);
    CHECK_STATUS(MEGCC_OK, megcc_run(context));
  }
  bind_to(Y, memory + X * ROOM);
  CHECK_STATUS(MEGCC_ERR_OVERLAP, megcc_run(context));
  bind_to(X, memory + Y * ROOM);
  CHECK_STATUS(MEGCC_OK, megcc_run(context));
}

// Memory of megcc_set_io that is bound to another port as well.
static void test_io(void) {
  size_t size = 0;
  void *io;
  CHECK_STATUS(MEGCC_OK, megcc_io_bytes(context, &size));
  io = test_alloc(size);
  bind_all();
  CHECK_STATUS(MEGCC_OK, megcc_set_io(context, io, size));
  CHECK_STATUS(MEGCC_OK, megcc_run(context));
  bind_to(SUM, io);
  CHECK_STATUS(MEGCC_ERR_OVERLAP, megcc_run(context));
  bind_all();
  CHECK_STATUS(MEGCC_OK, megcc_run(context));
  free(io);
}

int main(void) {
  void *model_memory = test_alloc(MEGCC_MODEL_BYTES);
  void *context_memory = test_alloc(CORNERS_CONTEXT_BYTES);
  char *whole = (char *)test_alloc(ALL + 2 * ROOM);
  megcc_model_t *model;
  megcc_tensor_info_t info;
  uint32_t i;
  memory = whole + ROOM;
  CHECK_STATUS(MEGCC_OK, megcc_model_open(&corners_image, &corners_kernels, model_memory,
                                          MEGCC_MODEL_BYTES, &model));
  CHECK_STATUS(MEGCC_OK,
               megcc_context_create(model, context_memory, CORNERS_CONTEXT_BYTES, &context));
  for (i = 0; i < PORTS; ++i) {
    CHECK_STATUS(MEGCC_OK, i < INPUTS ? megcc_input_info(context, i, &info)
                                      : megcc_output_info(context, i - INPUTS, &info));
    CHECK(info.bytes <= ROOM);
    bytes[i] = info.bytes;
  }
  test_cases();
  test_exchange();
  test_io();
  free(whole);
  free(context_memory);
  free(model_memory);
  return 0;
}
