// Random numbers: each draw of a context has the next number, a seed begins again, and contexts do
// not share it.
#include "check.h"
#include "drawing.h"

enum { COUNT = 4 };

// What seed 7 draws as its numbers 0 and 1, of [0, 2**24); a test in Python says that these are
// right.
static const float first[COUNT] = {FIRST}, second[COUNT] = {SECOND};

struct one {
  megcc_context_t *context;
  float y[COUNT], own[COUNT];
  void *memory, *arena;
};

static const float x[COUNT];

static void create(struct one *o, const megcc_model_t *model) {
  size_t bytes = 0;
  CHECK_STATUS(MEGCC_OK, megcc_context_bytes(model, &bytes));
  CHECK(bytes <= DRAWING_CONTEXT_BYTES);
  o->memory = test_alloc(bytes);
  CHECK_STATUS(MEGCC_OK, megcc_context_create(model, o->memory, bytes, &o->context));
  CHECK_STATUS(MEGCC_OK, megcc_arena_bytes(o->context, &bytes));
  bytes = (bytes + 63) / 64 * 64;
  o->arena = test_alloc(bytes);
  CHECK_STATUS(MEGCC_OK, megcc_set_arena(o->context, o->arena, bytes));
  CHECK_STATUS(MEGCC_OK, megcc_bind_input(o->context, 0, x, sizeof x));
  CHECK_STATUS(MEGCC_OK, megcc_bind_output(o->context, 0, o->y, sizeof o->y));
  CHECK_STATUS(MEGCC_OK, megcc_bind_output(o->context, 1, o->own, sizeof o->own));
}

static void run(struct one *o, int64_t trips) {
  CHECK_STATUS(MEGCC_OK, megcc_bind_input(o->context, 1, &trips, sizeof trips));
  CHECK_STATUS(MEGCC_OK, megcc_run(o->context));
}

static int equal(const float *a, const float *b) {
  int i;
  for (i = 0; i < COUNT; ++i) {
    if (a[i] * 16777216.0f != b[i]) return 0;
  }
  return 1;
}

int main(void) {
  megcc_model_t *model;
  struct one a, b;
  void *memory = test_alloc(MEGCC_MODEL_BYTES);
  float before[COUNT];
  CHECK_STATUS(MEGCC_OK, megcc_model_open(&drawing_image, &drawing_kernels, memory,
                                          MEGCC_MODEL_BYTES, &model));
  create(&a, model);
  create(&b, model);
  CHECK_STATUS(MEGCC_ERR_NULL, megcc_set_seed(NULL, 0));

  // The node's own seed is that of its numbers, whatever the context's is; it counts with it.
  run(&a, 0);
  CHECK(equal(a.own, first));
  run(&a, 0);
  CHECK(equal(a.own, second));
  CHECK_STATUS(MEGCC_OK, megcc_set_seed(a.context, 0));
  run(&a, 1);
  CHECK(equal(a.own, second) && !equal(a.y, first));
  memcpy(before, a.y, sizeof before);

  // The context's: from the beginning, the other context none the less from its own.
  CHECK_STATUS(MEGCC_OK, megcc_set_seed(a.context, 7));
  run(&a, 1);
  CHECK(equal(a.y, first));
  run(&b, 1);
  CHECK(memcmp(b.y, before, sizeof before) == 0);
  CHECK_STATUS(MEGCC_OK, megcc_set_seed(a.context, 7));
  run(&a, 2);
  CHECK(equal(a.y, second));

  // All 64 bits count.
  CHECK_STATUS(MEGCC_OK, megcc_set_seed(a.context, 7 - ((int64_t)1 << 32)));
  run(&a, 1);
  CHECK(!equal(a.y, first));
  CHECK_STATUS(MEGCC_OK, megcc_set_seed(a.context, -1));
  run(&a, 1);
  memcpy(before, a.y, sizeof before);
  CHECK_STATUS(MEGCC_OK, megcc_set_seed(a.context, 0xFFFFFFFF));
  run(&a, 1);
  CHECK(memcmp(a.y, before, sizeof before) != 0);

  free(a.memory), free(a.arena), free(b.memory), free(b.arena), free(memory);
  return 0;
}
