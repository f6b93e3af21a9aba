// A context with its shapes, memory and threads, but without inputs.
#include "features.h"
#include "runner.h"

#include <stdlib.h>

#if MODEL_HAS_SHAPES
static megcc_context_t *allocating;

// However the program ends, what the context has allocated is freed.
static void release_context(void) { (void)megcc_release(allocating); }

static void *allocate_data(void *user, size_t bytes) {
  void *data;
  (void)user;
  return posix_memalign(&data, MEGCC_ALIGNMENT, bytes) == 0 ? data : NULL;
}

static void free_data(void *user, void *data, size_t bytes) {
  (void)user;
  (void)bytes;
  free(data);
}

static void set_shapes(const struct options *o, const megcc_model_t *model,
                       megcc_context_t *context) {
  uint32_t i, count;
  check_input_names(o->shape, o->n_shapes, model);
  check(megcc_input_count(model, &count), NULL);
  for (i = 0; i < count; ++i) {
    int32_t dims[64], rank = 0;
    megcc_tensor_info_t t;
    const char *text;
    check(megcc_input_info(context, i, &t), NULL);
    text = value_of(o->shape, o->n_shapes, t.name);
    if (text == NULL) continue;
    while (*text != 0) {
      char *end;
      const long dim = strtol(text, &end, 10);
      if (end == text || dim < 0 || dim > INT32_MAX || rank == 64 || (*end != 0 && *end != ',')) {
        fail("expected NAME=DIM,DIM,...", "--shape");
      }
      dims[rank++] = (int32_t)dim;
      text = *end == ',' ? end + 1 : end;
    }
    check_shape(megcc_set_input_shape(context, i, rank, dims), context);
  }
}
#endif

megcc_context_t *new_context(const struct options *o, const megcc_model_t *model) {
  megcc_context_t *context;
  size_t bytes;
  void *mem;
  check(megcc_context_bytes(model, &bytes), NULL);
  mem = allocate(bytes);
  check(megcc_context_create(model, mem, bytes, &context), NULL);
#if MODEL_DRAWS
  check(megcc_set_seed(context, (int64_t)o->seed), NULL);
#endif
#if MODEL_HAS_SHAPES
  check(megcc_set_allocator(context, allocate_data, free_data, NULL), NULL);
  allocating = context;
  atexit(release_context);
#endif
  (void)o;
  return context;
}

megcc_context_t *make_context(const struct options *o, const megcc_model_t *model) {
  megcc_context_t *const context = new_context(o, model);
  size_t bytes;
  uint32_t i, count;
  void *mem;
#if MODEL_HAS_SHAPES
  set_shapes(o, model, context);
  check_shape(megcc_arena_bytes(context, &bytes), context);
#else
  if (o->n_shapes > 0) fail("all shapes of this model are fixed", "--shape");
#endif
  check(megcc_pool_count(model, &count), NULL);
  for (i = 0; i < count; ++i) {
    const char *name;
    check(megcc_pool_info(context, i, &name, &bytes), NULL);
    mem = allocate(bytes);
    check(megcc_set_pool(context, i, mem, bytes), name);
    printf("%s: %lu bytes\n", name, (unsigned long)bytes);
  }
  check(megcc_output_count(model, &count), NULL);
  for (i = 0; i < count; ++i) {
    megcc_tensor_info_t t;
    megcc_status_t status;
    check(megcc_output_info(context, i, &t), NULL);
    status = megcc_bind_output(context, i, allocate(t.bytes), t.bytes);
    if (status != MEGCC_ERR_DATA) check(status, t.name);  // it will be where the model puts it
  }
  return context;
}

#ifdef MEGCC_THREADS
static megcc_pool_t *pool;

static void end_pool(void) { megcc_pool_destroy(pool); }

void use_threads(const struct options *o, megcc_context_t *context) {
  const uint32_t n = (uint32_t)o->threads;
  if (n == 1) return;
  check(megcc_pool_create(n, allocate(megcc_pool_bytes(n)), megcc_pool_bytes(n), &pool), NULL);
  atexit(end_pool);
  check(megcc_set_parallel(context, megcc_pool_run, pool), NULL);
}

megcc_pool_t *thread_pool(void) { return pool; }
#else
void use_threads(const struct options *o, megcc_context_t *context) {
  (void)context;
  if (o->threads > 1)
    fail("this program has no threads; build it with make THREADS=1", "--threads");
}
#endif
