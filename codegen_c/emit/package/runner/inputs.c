// Inputs from raw files, or random values.
#include "runner.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static uint32_t random_bits(uint64_t *state) {  // splitmix64
  uint64_t z = *state += UINT64_C(0x9E3779B97F4A7C15);
  z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
  z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
  return (uint32_t)(z >> 32);
}

// Floats are in [-1, 1) in steps of 2^-8, which every float type but the smallest holds; integers
// are 0 or 1, as nothing more is known to be a valid index.
static void fill_random(void *data, const megcc_tensor_info_t *t, uint64_t *state) {
  const size_t size = megcc_dtype_bytes(t->dtype), n = t->bytes / size;
  size_t i;
  for (i = 0; i < n; ++i) {
    const uint32_t bits = random_bits(state);
    const float f = (float)((int32_t)(bits >> 23) - 256) / 256.0f;
    const double d = (double)f;
    // 0x11 is a small number of every 8-bit float, and one or two ones where elements are packed.
    const uint64_t integer = t->dtype >= MEGCC_F8E4M3FN ? bits >> 24 & 0x11 : bits >> 31;
    char *p = (char *)data + i * size;
    uint32_t f_bits;
    memcpy(&f_bits, &f, 4);
    if (t->dtype == MEGCC_F32) {
      memcpy(p, &f, 4);
    } else if (t->dtype == MEGCC_F64) {
      memcpy(p, &d, 8);
    } else if (t->dtype == MEGCC_BF16) {
      const uint16_t half = (uint16_t)(f_bits >> 16);
      memcpy(p, &half, 2);
    } else if (t->dtype == MEGCC_F16) {
      const uint32_t sign = f_bits >> 16 & 0x8000, magnitude = f_bits & 0x7FFFFFFF;
      const uint16_t half = (uint16_t)(sign | (magnitude ? (magnitude >> 13) - (112u << 10) : 0));
      memcpy(p, &half, 2);
    } else {
      memcpy(p, &integer, size);
    }
  }
}

struct state {
  void *data, *kept;
  size_t bytes;
};

static void **bound;  // memory of each input
static struct state *states;
static uint32_t state_count;

void keep_states(const megcc_model_t *model, const megcc_context_t *context) {
  uint32_t i, count, output;
  check(megcc_input_count(model, &count), NULL);
  states = (struct state *)allocate(count * sizeof *states);
  for (i = 0; i < count; ++i) {
    struct state *s = states + state_count;
    megcc_tensor_info_t t;
    if (megcc_state_output(model, i, &output) != MEGCC_OK) continue;
    check(megcc_input_info(context, i, &t), NULL);
    s->data = bound[i];
    s->bytes = t.bytes;
    s->kept = allocate(t.bytes);
    memcpy(s->kept, s->data, s->bytes);
    ++state_count;
  }
}

void restore_states(void) {
  uint32_t i;
  for (i = 0; i < state_count; ++i) memcpy(states[i].data, states[i].kept, states[i].bytes);
}

static const char *file_of_input(const struct options *o, const char *name, uint32_t number,
                                 char *path) {
  const char *found = value_of(o->input, o->n_inputs, name);
  if (found != NULL || o->input_dir == NULL) return found;
  numbered(path, o->input_dir, number);
  return exists(path) ? path : NULL;
}

void bind_inputs(const struct options *o, const megcc_model_t *model, megcc_context_t *context) {
  uint64_t state = o->seed;
  uint32_t i, count;
  check(megcc_input_count(model, &count), NULL);
  check_input_names(o->input, o->n_inputs, model);
  bound = (void **)allocate(count * sizeof *bound);
  if (o->input_dir != NULL && !exists(o->input_dir)) fail(strerror(errno), o->input_dir);
  for (i = 0; i < count; ++i) {
    char path[MAX_PATH];
    const char *file;
    megcc_tensor_info_t t;
    void *data;
    check(megcc_input_info(context, i, &t), NULL);
    data = allocate(t.bytes);
    if (o->check_shapes) continue;
    file = file_of_input(o, t.name, i, path);
    if (file != NULL) {
      size_t bytes;
      FILE *f = open_file(file, &bytes);
      if (bytes != t.bytes) {
        fprintf(stderr, "run: error: %s: input '%s' takes %lu bytes, the file has %lu\n", file,
                t.name, (unsigned long)t.bytes, (unsigned long)bytes);
        exit(1);
      }
      read_exactly(f, data, bytes, file);
    } else {
      fill_random(data, &t, &state);
    }
    bound[i] = data;
    check(megcc_bind_input(context, i, data, t.bytes), t.name);
  }
}
