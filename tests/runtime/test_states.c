// States: inputs and outputs that share memory, on the `paired` program. A thousand runs in place
// compute what the arithmetic says, however the memory is given; other overlap stays an error.
#include <math.h>

#include "check.h"
#include "paired.h"

enum { N = 4, RUNS = 1000, X = 0, H, S0, S1, C, Y = 0, H1, S0_NEXT, S1_NEXT, C_NEXT, OLD };
enum { BYTES = N * sizeof(float) };

static megcc_context_t *context;
static megcc_model_t *model;
static float wanted[6][N];  // of y, then of what the outputs are

static float given(int run, int i) { return (float)((run * 7 + i * 3) % 11) / 11.0f - 0.5f; }

// What a run makes of the states in `wanted`.
static void expect(int run) {
  int i;
  for (i = 0; i < N; ++i) {
    const float h = wanted[H1][i], x = given(run, i), s0 = wanted[S0_NEXT][i];
    const float next = tanhf(0.5f * h + x);
    wanted[Y][i] = next * h + wanted[S1_NEXT][i] + wanted[C_NEXT][i];
    wanted[OLD][i] = h;
    wanted[H1][i] = next;
    wanted[S1_NEXT][i] = s0;
    wanted[S0_NEXT][i] = x;
  }
}

static void begin(float states[6][N]) {
  int k, i;
  for (k = 0; k < 6; ++k)
    for (i = 0; i < N; ++i) states[k][i] = wanted[k][i] = (float)(k - i) / 8.0f;
}

static void compare(uint32_t output, const float *found) {
  int i;
  for (i = 0; i < N; ++i) {
    if (fabsf(found[i] - wanted[output][i]) > 1e-5f) {
      fprintf(stderr, "output %u, element %d: %g, not %g\n", output, i, found[i],
              wanted[output][i]);
      exit(1);
    }
  }
}

static void shapes(void) {
#ifdef DYNAMIC
  const int32_t dims[1] = {N};
  uint32_t k;
  for (k = 0; k < 5; ++k) CHECK_STATUS(MEGCC_OK, megcc_set_input_shape(context, k, 1, dims));
#endif
}

// `sides`: whether the states are bound as outputs, as inputs, or one after the other.
static void test_bound(int sides) {
  static float states[6][N], x[N], y[N], old[N];
  const void *data;
  int run, i;
  uint32_t k;
  begin(states);
  for (k = H; k <= C; ++k) {
    if (sides != 1) CHECK_STATUS(MEGCC_OK, megcc_bind_output(context, k, states[k], BYTES));
    if (sides != 0) CHECK_STATUS(MEGCC_OK, megcc_bind_input(context, k, states[k], BYTES));
  }
  CHECK_STATUS(MEGCC_OK, megcc_bind_input(context, X, x, BYTES));
  CHECK_STATUS(MEGCC_OK, megcc_bind_output(context, Y, y, BYTES));
  CHECK_STATUS(MEGCC_OK, megcc_bind_output(context, OLD, old, BYTES));
  for (run = 0; run < RUNS; ++run) {
    for (i = 0; i < N; ++i) x[i] = given(run, i);
    expect(run);
    CHECK_STATUS(MEGCC_OK, megcc_run(context));
    compare(Y, y), compare(OLD, old);
    for (k = H1; k <= C_NEXT; ++k) compare(k, states[k]);
  }
  for (k = H; k <= C; ++k) {
    CHECK_STATUS(MEGCC_OK, megcc_output_data(context, k, &data));
    CHECK(data == states[k]);
  }
}

// Memory for all ports at once has one place for a pair.
static void test_given_together(void) {
  static float states[6][N], x[N], found[N];
  size_t bytes, port = (BYTES + MEGCC_ALIGNMENT - 1) / MEGCC_ALIGNMENT * MEGCC_ALIGNMENT;
  void *memory;
  int run, i;
  uint32_t k;
  CHECK_STATUS(MEGCC_OK, megcc_io_bytes(context, &bytes));
  CHECK(bytes == 7 * port);  // x, four states, y, old
  memory = test_alloc(bytes);
  CHECK_STATUS(MEGCC_OK, megcc_set_io(context, memory, bytes));
  begin(states);
  for (k = H; k <= C; ++k) CHECK_STATUS(MEGCC_OK, megcc_copy_input(context, k, states[k], BYTES));
  for (run = 0; run < 20; ++run) {
    for (i = 0; i < N; ++i) x[i] = given(run, i);
    CHECK_STATUS(MEGCC_OK, megcc_copy_input(context, X, x, BYTES));
    expect(run);
    CHECK_STATUS(MEGCC_OK, megcc_run(context));
    for (k = Y; k <= OLD; ++k) {
      CHECK_STATUS(MEGCC_OK, megcc_read_output(context, k, found, BYTES));
      compare(k, found);
    }
  }
  free(memory);
}

static void test_other_overlap(void) {
  static float states[6][N], x[N], y[N], old[N], kept[6][N];
  const struct {
    int is_output;
    uint32_t port;
    float *data;
  } cases[] = {
      {1, Y, states[H]}, {1, Y, x},         {1, OLD, states[H] + 2},
      {0, X, states[C]}, {0, H, states[C]}, {0, H, states[C] + 1},
  };
  size_t i;
  uint32_t k;
  begin(states);
  for (i = 0; i < sizeof cases / sizeof *cases; ++i) {
    for (k = H; k <= C; ++k) CHECK_STATUS(MEGCC_OK, megcc_bind_input(context, k, states[k], BYTES));
    CHECK_STATUS(MEGCC_OK, megcc_bind_input(context, X, x, BYTES));
    CHECK_STATUS(MEGCC_OK, megcc_bind_output(context, Y, y, BYTES));
    CHECK_STATUS(MEGCC_OK, megcc_bind_output(context, OLD, old, BYTES));
    CHECK_STATUS(MEGCC_OK, cases[i].is_output
                               ? megcc_bind_output(context, cases[i].port, cases[i].data, BYTES)
                               : megcc_bind_input(context, cases[i].port, cases[i].data, BYTES));
    memcpy(kept, states, sizeof kept);
    CHECK_STATUS(MEGCC_ERR_OVERLAP, megcc_run(context));
    CHECK(memcmp(kept, states, sizeof kept) == 0);
  }
}

static void test_what_shares(void) {
  uint32_t k, output = 99;
  for (k = H; k <= C; ++k) {
    CHECK_STATUS(MEGCC_OK, megcc_state_output(model, k, &output));
    CHECK(output == k);
  }
  CHECK_STATUS(MEGCC_ERR_NAME, megcc_state_output(model, X, &output));
  CHECK_STATUS(MEGCC_ERR_INDEX, megcc_state_output(model, C + 1, &output));
  CHECK_STATUS(MEGCC_ERR_NULL, megcc_state_output(model, H, NULL));
  CHECK_STATUS(MEGCC_ERR_NULL, megcc_state_output(NULL, H, &output));
  CHECK(PAIRED_STATES == 4);
}

int main(void) {
  size_t bytes;
  void *memory = test_alloc(MEGCC_MODEL_BYTES), *state, *arena;
  CHECK_STATUS(MEGCC_OK,
               megcc_model_open(&paired_image, &paired_kernels, memory, MEGCC_MODEL_BYTES, &model));
  CHECK_STATUS(MEGCC_OK, megcc_context_bytes(model, &bytes));
  state = test_alloc(bytes);
  CHECK_STATUS(MEGCC_OK, megcc_context_create(model, state, bytes, &context));
  shapes();
  CHECK_STATUS(MEGCC_OK, megcc_arena_bytes(context, &bytes));
  arena = test_alloc((bytes + MEGCC_ALIGNMENT) / MEGCC_ALIGNMENT * MEGCC_ALIGNMENT);
  CHECK_STATUS(MEGCC_OK, megcc_set_arena(context, arena, bytes));
  test_what_shares();
  test_bound(0);
  test_bound(1);
  test_bound(2);
  test_given_together();
  test_other_overlap();
  free(arena), free(state), free(memory);
  return 0;
}
