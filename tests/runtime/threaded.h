// A context of the model HEADER, IMAGE and KERNELS, with all its memory and a fixed input.
#include "check.h"
#include HEADER

struct net {
  megcc_context_t *context;
  uint8_t *outputs;  // all of them after a run
  size_t bytes;
};

static void *kept[64];
static size_t kept_count;

// Lives until free_memory().
static inline void *aligned_memory(size_t bytes) {
  void *p = aligned_alloc(MEGCC_ALIGNMENT, bytes / MEGCC_ALIGNMENT * MEGCC_ALIGNMENT + 64);
  CHECK(p != NULL && kept_count < 64);
  kept[kept_count++] = p;
  return memset(p, 0xA5, bytes);
}

static inline void free_memory(void) {
  while (kept_count > 0) free(kept[--kept_count]);
}

static inline megcc_model_t *open_model(void) {
  megcc_model_t *model;
  CHECK_STATUS(MEGCC_OK, megcc_model_open(&IMAGE, &KERNELS, aligned_memory(MEGCC_MODEL_BYTES),
                                          MEGCC_MODEL_BYTES, &model));
  return model;
}

static inline struct net make_net(const megcc_model_t *model) {
  struct net net = {NULL, NULL, 0};
  megcc_tensor_info_t t;
  size_t bytes = 0, i;
  uint32_t o, outputs;
  float *x;
  CHECK_STATUS(MEGCC_OK, megcc_context_bytes(model, &bytes));
  CHECK_STATUS(MEGCC_OK, megcc_context_create(model, aligned_memory(bytes), bytes, &net.context));
  CHECK_STATUS(MEGCC_OK, megcc_arena_bytes(net.context, &bytes));
  CHECK_STATUS(MEGCC_OK, megcc_set_arena(net.context, aligned_memory(bytes), bytes));
  CHECK_STATUS(MEGCC_OK, megcc_io_bytes(net.context, &bytes));
  CHECK_STATUS(MEGCC_OK, megcc_set_io(net.context, aligned_memory(bytes), bytes));
  CHECK_STATUS(MEGCC_OK, megcc_input_info(net.context, 0, &t));
  x = (float *)aligned_memory(t.bytes);
  for (i = 0; i < t.bytes / sizeof *x; ++i) x[i] = (float)(i % 23) / 8 - 1.0f;
  CHECK_STATUS(MEGCC_OK, megcc_copy_input(net.context, 0, x, t.bytes));
  CHECK_STATUS(MEGCC_OK, megcc_output_count(model, &outputs));
  for (o = 0; o < outputs; ++o) {
    CHECK_STATUS(MEGCC_OK, megcc_output_info(net.context, o, &t));
    net.bytes += t.bytes;
  }
  net.outputs = (uint8_t *)aligned_memory(net.bytes);
  return net;
}

static inline void run_net(struct net *net) {
  uint8_t *to = net->outputs;
  uint32_t o;
  CHECK_STATUS(MEGCC_OK, megcc_run(net->context));
  for (o = 0; to < net->outputs + net->bytes; ++o) {
    megcc_tensor_info_t t;
    CHECK_STATUS(MEGCC_OK, megcc_output_info(net->context, o, &t));
    CHECK_STATUS(MEGCC_OK, megcc_read_output(net->context, o, to, t.bytes));
    to += t.bytes;
  }
}
