// Shapes that change, through the public API: what is asked when, and what is refused.
#include <math.h>

#include "changing.h"
#include "allocator.h"
#include "check.h"

enum { X, B, INPUTS };
enum { A, Z2, Z3 };

struct run {
  megcc_context_t *context;
  void *memory, *arena;
  float x[40], b[10], a[40];
  int32_t n;
};

static void set_n(struct run *r, int32_t n) {
  const int32_t dims[2] = {n, 4};
  CHECK_STATUS(MEGCC_OK, megcc_set_input_shape(r->context, X, 2, dims));
  CHECK_STATUS(MEGCC_OK, megcc_set_input_shape(r->context, B, 1, dims));
  r->n = n;
}

// Gives everything that the present shapes need.
static void provide(struct run *r) {
  size_t bytes = 0;
  int32_t i;
  CHECK_STATUS(MEGCC_OK, megcc_arena_bytes(r->context, &bytes));
  free(r->arena);
  r->arena = aligned_alloc(64, (bytes + 64) / 64 * 64);
  CHECK_STATUS(MEGCC_OK, megcc_set_arena(r->context, r->arena, bytes));
  for (i = 0; i < 4 * r->n; ++i) r->x[i] = (float)(i % 3) - 1.0f;
  for (i = 0; i < r->n; ++i) r->b[i] = (float)i;
  CHECK_STATUS(MEGCC_OK, megcc_bind_input(r->context, X, r->x, 16 * (size_t)r->n));
  CHECK_STATUS(MEGCC_OK, megcc_bind_input(r->context, B, r->b, 4 * (size_t)r->n));
  CHECK_STATUS(MEGCC_OK, megcc_bind_output(r->context, A, r->a, 16 * (size_t)r->n));
}

static void check_outputs(struct run *r) {
  megcc_tensor_info_t info;
  const void *data;
  int32_t i, m = 0;
  uint32_t k;
  for (i = 0; i < 4 * r->n; ++i) {
    CHECK(fabsf(r->a[i] - (expf(r->x[i]) + r->b[i / 4])) < 1e-4f);
    m += r->x[i] > 0;
  }
  for (k = Z2; k <= Z3; ++k) {
    const int32_t rows = (k == Z2 ? 2 : 3) * m;
    CHECK_STATUS(MEGCC_OK, megcc_output_info(r->context, k, &info));
    CHECK(info.rank == 1 && info.dims[0] == rows && info.bytes == 4 * (size_t)rows);
    CHECK_STATUS(MEGCC_OK, megcc_output_data(r->context, k, &data));
    for (i = 0; i < rows; ++i) {
      CHECK(fabsf(((const float *)data)[i] - expf(r->x[i % m])) < 1e-4f);
    }
  }
}

static void check_problem(struct run *r, megcc_shape_reason_t reason, int32_t value, int32_t low) {
  megcc_shape_problem_t p;
  CHECK_STATUS(MEGCC_OK, megcc_shape_problem(r->context, &p));
  CHECK(p.reason == reason && p.value == value && p.low == low);
  CHECK(strcmp(megcc_shape_reason_string(reason), "unknown reason") != 0);
}

static void what_is_refused(struct run *r) {
  const int32_t wide[2] = {9, 4}, other[2] = {2, 5}, two[2] = {2, 4}, three[1] = {3};
  megcc_shape_problem_t p;
  megcc_tensor_info_t info;
  size_t bytes = 7;
  uint32_t function = 7;
  const void *data;
  // Nothing is set: what is known is told, the rest waits.
  CHECK_STATUS(MEGCC_OK, megcc_input_info(r->context, X, &info));
  CHECK(info.rank == 2 && info.dims[0] == -1 && info.dims[1] == 4 && info.bytes == 0);
  CHECK_STATUS(MEGCC_ERR_NO_SHAPE, megcc_arena_bytes(r->context, &bytes));
  CHECK_STATUS(MEGCC_ERR_NO_SHAPE, megcc_run(r->context));
  CHECK_STATUS(MEGCC_OK, megcc_shape_problem(r->context, &p));
  CHECK(p.input == X && !strcmp(p.name, "x") && !strcmp(p.symbol, "n"));

  CHECK_STATUS(MEGCC_ERR_SHAPE, megcc_set_input_shape(r->context, X, 2, wide));
  check_problem(r, MEGCC_SHAPE_BOUNDS, 9, 0);
  CHECK_STATUS(MEGCC_ERR_SHAPE, megcc_set_input_shape(r->context, X, 2, other));
  check_problem(r, MEGCC_SHAPE_FIXED, 5, 4);
  CHECK_STATUS(MEGCC_ERR_SHAPE, megcc_set_input_shape(r->context, X, 1, three));
  check_problem(r, MEGCC_SHAPE_RANK, 1, 2);
  CHECK_STATUS(MEGCC_ERR_INDEX, megcc_set_input_shape(r->context, INPUTS, 1, three));

  CHECK_STATUS(MEGCC_OK, megcc_set_input_shape(r->context, X, 2, two));
  CHECK_STATUS(MEGCC_OK, megcc_input_info(r->context, X, &info));
  CHECK(info.dims[0] == 2);
  CHECK_STATUS(MEGCC_OK, megcc_set_input_shape(r->context, B, 1, three));
  CHECK_STATUS(MEGCC_ERR_SHAPE, megcc_arena_bytes(r->context, &bytes));
  check_problem(r, MEGCC_SHAPE_DIFFERENT, 3, 2);
  CHECK_STATUS(MEGCC_ERR_SHAPE, megcc_bind_input(r->context, X, r->x, 32));
  CHECK_STATUS(MEGCC_ERR_SHAPE, megcc_function_index(r->context, &function));

  set_n(r, 2);
  CHECK_STATUS(MEGCC_OK, megcc_function_index(r->context, &function));
  CHECK(function == 0);
  CHECK_STATUS(MEGCC_OK, megcc_arena_bytes(r->context, &bytes));
  CHECK(bytes > 0);
  CHECK_STATUS(MEGCC_ERR_NO_ARENA, megcc_run(r->context));
  CHECK_STATUS(MEGCC_ERR_MEMORY, megcc_set_arena(r->context, r, bytes - 1));
  provide(r);
  CHECK_STATUS(MEGCC_ERR_SIZE, megcc_bind_input(r->context, X, r->x, 36));
  CHECK_STATUS(MEGCC_ERR_DATA, megcc_bind_output(r->context, Z2, r->a, 8));
  CHECK_STATUS(MEGCC_ERR_NO_ALLOC, megcc_run(r->context));
  CHECK_STATUS(MEGCC_ERR_NOT_RUN, megcc_output_data(r->context, Z2, &data));
  CHECK_STATUS(MEGCC_ERR_NULL, megcc_set_allocator(r->context, allocate, NULL, NULL));
  CHECK_STATUS(MEGCC_OK, megcc_set_allocator(r->context, allocate, give_back, &allocations));
  CHECK_STATUS(MEGCC_OK, megcc_output_info(r->context, Z2, &info));
  CHECK(info.dims[0] == -1 && info.bytes == 0);
}

static void shapes_change(struct run *r) {
  static const int32_t sizes[] = {2, 8, 1, 0, 5, 5, 8};
  size_t i, bytes, largest = 0;
  for (i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
    set_n(r, sizes[i]);
    provide(r);
    CHECK_STATUS(MEGCC_OK, megcc_run(r->context));
    check_outputs(r);
    CHECK_STATUS(MEGCC_OK, megcc_arena_bytes(r->context, &bytes));
    if (bytes > largest) largest = bytes;
  }
  // The arena of the largest shape does for all; ports of another size must be bound again.
  set_n(r, 8);
  provide(r);
  set_n(r, 3);
  CHECK_STATUS(MEGCC_ERR_UNBOUND, megcc_run(r->context));
  CHECK_STATUS(MEGCC_OK, megcc_bind_input(r->context, X, r->x, 48));
  CHECK_STATUS(MEGCC_OK, megcc_bind_input(r->context, B, r->b, 12));
  CHECK_STATUS(MEGCC_ERR_UNBOUND, megcc_run(r->context));
  CHECK_STATUS(MEGCC_OK, megcc_bind_output(r->context, A, r->a, 48));
  CHECK_STATUS(MEGCC_OK, megcc_run(r->context));
  check_outputs(r);
  // What is set already changes nothing: the outputs are still there.
  set_n(r, 3);
  check_outputs(r);
  // An arena that is too small for new shapes is told when it matters.
  set_n(r, 1);
  provide(r);
  set_n(r, 8);
  CHECK_STATUS(MEGCC_OK, megcc_bind_input(r->context, X, r->x, 128));
  CHECK_STATUS(MEGCC_OK, megcc_bind_input(r->context, B, r->b, 32));
  CHECK_STATUS(MEGCC_OK, megcc_bind_output(r->context, A, r->a, 128));
  CHECK_STATUS(MEGCC_ERR_MEMORY, megcc_run(r->context));
  provide(r);
  CHECK_STATUS(MEGCC_OK, megcc_run(r->context));
  check_outputs(r);
}

// Memory that grows and is kept; every allocation fails once, and nothing is lost by it.
static void allocator_fails(struct run *r) {
  int before;
  CHECK_STATUS(MEGCC_OK, megcc_release(r->context));
  CHECK(outstanding == 0);
  set_n(r, 8);
  provide(r);
  before = allocations;
  CHECK_STATUS(MEGCC_OK, megcc_run(r->context));
  CHECK(allocations - before == 2);  // z2 and z3
  before = allocations;
  CHECK_STATUS(MEGCC_OK, megcc_run(r->context));
  CHECK(allocations == before);  // kept
  set_n(r, 2);
  provide(r);
  CHECK_STATUS(MEGCC_OK, megcc_run(r->context));
  CHECK(allocations == before);  // large enough
  for (fail_at = 1; fail_at <= 2; ++fail_at) {
    const void *data;
    CHECK_STATUS(MEGCC_OK, megcc_release(r->context));
    CHECK(outstanding == 0);
    allocations = 0;
    set_n(r, 8);
    provide(r);
    CHECK_STATUS(MEGCC_ERR_ALLOC, megcc_run(r->context));
    CHECK(outstanding == fail_at - 1);
    CHECK_STATUS(MEGCC_ERR_NOT_RUN, megcc_output_data(r->context, Z3, &data));
    CHECK_STATUS(MEGCC_OK, megcc_run(r->context));
    check_outputs(r);
    CHECK(outstanding == 2);
  }
  fail_at = 0;
  // One that has to grow and cannot: the smaller memory is given back, not lost.
  CHECK_STATUS(MEGCC_OK, megcc_release(r->context));
  set_n(r, 1);
  provide(r);
  CHECK_STATUS(MEGCC_OK, megcc_run(r->context));
  CHECK(outstanding == 2);
  set_n(r, 8);
  provide(r);
  allocations = 0;
  fail_at = 1;
  CHECK_STATUS(MEGCC_ERR_ALLOC, megcc_run(r->context));
  CHECK(outstanding == 1);
  CHECK_STATUS(MEGCC_OK, megcc_run(r->context));
  check_outputs(r);
  CHECK_STATUS(MEGCC_OK, megcc_release(r->context));
  CHECK(outstanding == 0);
}

// An allocator that gives where the input X is bound.
static void *allocate_x(void *user, size_t bytes) {
  struct run *r = (struct run *)user;
  CHECK(bytes <= sizeof r->x);
  return r->x;
}

static void keep(void *user, void *data, size_t bytes) { (void)user, (void)data, (void)bytes; }

// Memory of the allocator, which is kept from run to run, and memory that is bound.
static void what_overlaps_allocated_memory(struct run *r) {
  const void *data = NULL;
  float before[40];
  set_n(r, 8);
  provide(r);
  CHECK_STATUS(MEGCC_OK, megcc_run(r->context));
  CHECK_STATUS(MEGCC_OK, megcc_output_data(r->context, Z3, &data));
  CHECK_STATUS(MEGCC_OK, megcc_bind_input(r->context, B, data, 32));
  CHECK_STATUS(MEGCC_ERR_OVERLAP, megcc_run(r->context));
  CHECK_STATUS(MEGCC_OK, megcc_bind_input(r->context, B, r->b, 32));
  CHECK_STATUS(MEGCC_OK, megcc_run(r->context));
  check_outputs(r);

  CHECK_STATUS(MEGCC_OK, megcc_set_allocator(r->context, allocate_x, keep, r));
  set_n(r, 3);
  provide(r);
  memcpy(before, r->x, sizeof before);
  CHECK_STATUS(MEGCC_ERR_OVERLAP, megcc_run(r->context));
  CHECK(!memcmp(before, r->x, sizeof before));
  CHECK_STATUS(MEGCC_OK, megcc_set_allocator(r->context, allocate, give_back, &allocations));
  CHECK_STATUS(MEGCC_OK, megcc_run(r->context));
  check_outputs(r);
}

// Rows are 16 bytes: whether memory overlaps follows from the shapes, as does the arena's size.
static void what_overlaps(struct run *r) {
  size_t bytes = 0, more = 0;
  char *memory, *arena;
  set_n(r, 3);
  provide(r);
  CHECK_STATUS(MEGCC_OK, megcc_arena_bytes(r->context, &more));
  set_n(r, 2);
  provide(r);
  CHECK_STATUS(MEGCC_OK, megcc_arena_bytes(r->context, &bytes));
  CHECK(bytes < more);
  memory = (char *)aligned_alloc(64, 128 + (more + 63) / 64 * 64);
  arena = memory + 128;
  CHECK_STATUS(MEGCC_OK, megcc_bind_input(r->context, X, memory, 32));
  memcpy(memory, r->x, 32);
  CHECK_STATUS(MEGCC_OK, megcc_bind_output(r->context, A, memory + 32, 32));
  CHECK_STATUS(MEGCC_OK, megcc_run(r->context));
  CHECK_STATUS(MEGCC_OK, megcc_bind_output(r->context, A, memory + 28, 32));
  CHECK_STATUS(MEGCC_ERR_OVERLAP, megcc_run(r->context));

  set_n(r, 3);
  provide(r);
  CHECK_STATUS(MEGCC_OK, megcc_bind_input(r->context, X, memory, 48));
  CHECK_STATUS(MEGCC_OK, megcc_bind_output(r->context, A, memory + 32, 48));
  CHECK_STATUS(MEGCC_ERR_OVERLAP, megcc_run(r->context));
  set_n(r, 0);
  provide(r);
  CHECK_STATUS(MEGCC_OK, megcc_bind_input(r->context, X, memory, 0));
  CHECK_STATUS(MEGCC_OK, megcc_bind_output(r->context, A, memory, 0));
  CHECK_STATUS(MEGCC_OK, megcc_run(r->context));

  // Of the arena counts what the shapes need, not what the caller has given.
  set_n(r, 2);
  provide(r);
  CHECK_STATUS(MEGCC_OK, megcc_set_arena(r->context, arena, more));
  CHECK_STATUS(MEGCC_OK, megcc_bind_output(r->context, A, memory + 96, 32));
  CHECK_STATUS(MEGCC_OK, megcc_run(r->context));
  CHECK_STATUS(MEGCC_OK, megcc_bind_input(r->context, B, arena + bytes, 8));
  CHECK_STATUS(MEGCC_OK, megcc_run(r->context));
  CHECK_STATUS(MEGCC_OK, megcc_bind_input(r->context, B, arena + bytes - 4, 8));
  CHECK_STATUS(MEGCC_ERR_OVERLAP, megcc_run(r->context));
  provide(r);
  CHECK_STATUS(MEGCC_OK, megcc_run(r->context));
  check_outputs(r);
  free(memory);
}

int main(void) {
  void *memory = test_alloc(MEGCC_MODEL_BYTES);
  struct run r = {0};
  megcc_model_t *model;
  size_t bytes = 0;
  CHECK_STATUS(MEGCC_OK, megcc_model_open(&changing_image, &changing_kernels, memory,
                                          MEGCC_MODEL_BYTES, &model));
  CHECK_STATUS(MEGCC_OK, megcc_context_bytes(model, &bytes));
  CHECK(bytes <= CHANGING_CONTEXT_BYTES);
  r.memory = test_alloc(bytes);
  CHECK_STATUS(MEGCC_OK, megcc_context_create(model, r.memory, bytes, &r.context));
  what_is_refused(&r);
  shapes_change(&r);
  what_overlaps(&r);
  what_overlaps_allocated_memory(&r);
  allocator_fails(&r);
  free(r.arena);
  free(r.memory);
  free(memory);
  return 0;
}
