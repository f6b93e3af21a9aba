// A loop whose state grows and branches of two sizes, through the public API.
#include "allocator.h"
#include "check.h"
#include "looping.h"

enum { M, X, K };
enum { H, SUMS, Z };

struct run {
  megcc_context_t *context;
  void *arena;
  int64_t m;
  float x[16];
  uint8_t k;
  int32_t n;
};

static void provide(struct run *r, int32_t n, int64_t m, int k) {
  const int32_t dims[2] = {n, 2};
  size_t bytes = 0;
  int32_t i;
  CHECK_STATUS(MEGCC_OK, megcc_set_input_shape(r->context, X, 2, dims));
  CHECK_STATUS(MEGCC_OK, megcc_arena_bytes(r->context, &bytes));
  free(r->arena);
  r->arena = aligned_alloc(64, (bytes + 64) / 64 * 64);
  CHECK_STATUS(MEGCC_OK, megcc_set_arena(r->context, r->arena, bytes));
  r->n = n;
  r->m = m;
  r->k = (uint8_t)k;
  for (i = 0; i < 2 * n; ++i) r->x[i] = (float)(i + 1);
  CHECK_STATUS(MEGCC_OK, megcc_bind_input(r->context, M, &r->m, sizeof r->m));
  CHECK_STATUS(MEGCC_OK, megcc_bind_input(r->context, X, r->x, 8 * (size_t)n));
  CHECK_STATUS(MEGCC_OK, megcc_bind_input(r->context, K, &r->k, 1));
}

static float h_at(const struct run *r, int32_t i) { return i < 2 * r->n ? r->x[i] : 1.0f; }

static const float *output(const struct run *r, uint32_t index, int32_t rows) {
  megcc_tensor_info_t info;
  const void *data;
  CHECK_STATUS(MEGCC_OK, megcc_output_info(r->context, index, &info));
  CHECK(info.rank == 2 && info.dims[0] == rows && info.dims[1] == 2);
  CHECK_STATUS(MEGCC_OK, megcc_output_data(r->context, index, &data));
  return (const float *)data;
}

static void check_outputs(const struct run *r) {
  const int32_t rows = r->n + (int32_t)r->m;
  const float *h = output(r, H, rows), *sums = output(r, SUMS, (int32_t)r->m);
  const float *z = output(r, Z, r->k ? r->n : rows);
  int32_t i, j;
  for (i = 0; i < 2 * rows; ++i) CHECK(h[i] == h_at(r, i));
  for (j = 0; j < (int32_t)r->m; ++j) {
    float sum[2] = {0.0f, 0.0f};
    for (i = 0; i < 2 * (r->n + j + 1); ++i) sum[i % 2] += h_at(r, i);
    CHECK(sums[2 * j] == sum[0] && sums[2 * j + 1] == sum[1]);
  }
  for (i = 0; i < 2 * (r->k ? r->n : rows); ++i) CHECK(z[i] == (r->k ? r->x[i] : -h[i]));
}

static void counts_and_branches(struct run *r) {
  static const int64_t counts[] = {3, 0, 1, 7, 2};
  int32_t n;
  size_t c;
  int k;
  for (n = 0; n <= 4; ++n) {
    for (c = 0; c < sizeof counts / sizeof counts[0]; ++c) {
      for (k = 0; k < 2; ++k) {
        provide(r, n, counts[c], k);
        CHECK_STATUS(MEGCC_OK, megcc_run(r->context));
        check_outputs(r);
      }
    }
  }
}

// A negative count is none; one that no memory suffices for is refused; the next run is fine.
static void counts_that_are_none(struct run *r) {
  provide(r, 2, -5, 0);
  CHECK_STATUS(MEGCC_OK, megcc_run(r->context));
  r->m = 0;
  check_outputs(r);
  provide(r, 2, (int64_t)1 << 40, 0);
  CHECK_STATUS(MEGCC_ERR_DATA, megcc_run(r->context));
  provide(r, 2, 4, 1);
  CHECK_STATUS(MEGCC_OK, megcc_run(r->context));
  check_outputs(r);
}

// Every allocation fails once: a status, nothing lost, and the context is as good as before.
static void allocator_fails(struct run *r) {
  int needed, k;
  CHECK_STATUS(MEGCC_OK, megcc_release(r->context));
  CHECK(outstanding == 0);
  allocations = 0;
  provide(r, 3, 5, 0);
  CHECK_STATUS(MEGCC_OK, megcc_run(r->context));
  needed = allocations;
  CHECK(needed > 5);  // the state grows with every iteration
  CHECK_STATUS(MEGCC_OK, megcc_run(r->context));
  CHECK(allocations == needed);  // what has grown is kept
  for (k = 1; k <= needed; ++k) {
    CHECK_STATUS(MEGCC_OK, megcc_release(r->context));
    CHECK(outstanding == 0);
    allocations = 0;
    fail_at = k;
    provide(r, 3, 5, 0);
    CHECK_STATUS(MEGCC_ERR_ALLOC, megcc_run(r->context));
    fail_at = 0;
    CHECK_STATUS(MEGCC_OK, megcc_run(r->context));
    check_outputs(r);
  }
  CHECK_STATUS(MEGCC_OK, megcc_release(r->context));
  CHECK(outstanding == 0);
}

static uint32_t numbers[64], calls;

static void note(void *user, megcc_event_t event, uint32_t call, const char *name,
                 const char *kernel) {
  (void)user, (void)name, (void)kernel;
  if (event == MEGCC_CALL_BEGIN && calls < 64) numbers[calls++] = call;
}

// Calls have the number of their place: those of the body come again and again.
static void profile_tells_the_place(struct run *r) {
  uint32_t i, again = 0;
  CHECK_STATUS(MEGCC_OK, megcc_set_profile(r->context, note, NULL));
  provide(r, 3, 5, 1);
  CHECK_STATUS(MEGCC_OK, megcc_run(r->context));
  for (i = 1; i < calls; ++i) again += numbers[i] <= numbers[i - 1];
  CHECK(again == 4);
  CHECK_STATUS(MEGCC_OK, megcc_set_profile(r->context, NULL, NULL));
}

int main(void) {
  void *memory = test_alloc(MEGCC_MODEL_BYTES), *own;
  struct run r = {0};
  megcc_model_t *model;
  size_t bytes = 0;
  CHECK_STATUS(MEGCC_OK, megcc_model_open(&looping_image, &looping_kernels, memory,
                                          MEGCC_MODEL_BYTES, &model));
  CHECK_STATUS(MEGCC_OK, megcc_context_bytes(model, &bytes));
  CHECK(bytes <= LOOPING_CONTEXT_BYTES);
  own = test_alloc(bytes);
  CHECK_STATUS(MEGCC_OK, megcc_context_create(model, own, bytes, &r.context));
  provide(&r, 2, 2, 0);
  CHECK_STATUS(MEGCC_ERR_NO_ALLOC, megcc_run(r.context));
  CHECK_STATUS(MEGCC_OK, megcc_set_allocator(r.context, allocate, give_back, &allocations));
  counts_and_branches(&r);
  counts_that_are_none(&r);
  profile_tells_the_place(&r);
  allocator_fails(&r);
  free(r.arena);
  free(own);
  free(memory);
  return 0;
}
