// The functions of megcc_cache.h: sequences that are copied, saved, loaded and exchanged, and input
// that is none. `caches N`: N decoded tokens beside the same tokens computed from the beginning.
#include "expecting.h"

enum { CAPACITY = 40, CHUNK = 8, TOKENS = 20, GUARD = 64 };

uint32_t megcc_crc32(const void *data, size_t bytes);

static uint8_t *guard;  // behind a cache's memory

static megcc_cache_t *new_cache(const megcc_model_t *model, megcc_context_t *context,
                                uint32_t capacity) {
  megcc_cache_t *cache;
  size_t bytes;
  uint8_t *mem;
  EXPECT(megcc_cache_bytes(model, context, capacity, &bytes) == MEGCC_OK);
  mem = (uint8_t *)aligned(bytes + GUARD);
  memset(mem, 0x5A, bytes + GUARD);
  guard = mem + bytes;
  EXPECT(megcc_cache_create(model, context, capacity, mem, bytes - 1, &cache) == MEGCC_ERR_MEMORY);
  EXPECT(megcc_cache_create(model, context, capacity, mem + 8, bytes, &cache) ==
         MEGCC_ERR_ALIGNMENT);
  EXPECT(megcc_cache_create(model, context, capacity, mem, bytes, &cache) == MEGCC_OK);
  EXPECT(megcc_cache_capacity(cache) == capacity && megcc_cache_length(cache) == 0);
  return cache;
}

static megcc_generator_t *new_generator(const megcc_model_t *model, megcc_context_t *context,
                                        uint32_t capacity, uint32_t chunk) {
  megcc_generator_t *g;
  size_t bytes;
  EXPECT(megcc_generator_bytes(model, context, NULL, capacity, chunk, &bytes) == MEGCC_OK);
  EXPECT(megcc_generator_create(model, context, NULL, capacity, chunk, aligned(bytes), bytes, &g) ==
         MEGCC_OK);
  return g;
}

static uint8_t *saved(const megcc_cache_t *cache, uint32_t length, size_t *bytes) {
  uint8_t *data;
  EXPECT(megcc_cache_saved_bytes(cache, length, bytes) == MEGCC_OK);
  data = (uint8_t *)malloc(*bytes);
  EXPECT(megcc_cache_save(cache, length, data, *bytes) == MEGCC_OK);
  return data;
}

// Loads what is refused with a status, and leaves the cache as it was.
static void refused(megcc_cache_t *cache, const uint8_t *data, size_t bytes,
                    megcc_status_t status) {
  size_t before, after;
  uint8_t *const a = saved(cache, megcc_cache_length(cache), &before), *b;
  EXPECT(megcc_cache_load(cache, data, bytes) == status);
  b = saved(cache, megcc_cache_length(cache), &after);
  EXPECT(before == after && !memcmp(a, b, before));
  free(a);
  free(b);
}

// A saved sequence with another word, and with a checksum that is right for it.
static void forged(megcc_cache_t *cache, const uint8_t *data, size_t bytes, uint32_t word,
                   uint32_t value, megcc_status_t status) {
  uint8_t *const copy = (uint8_t *)malloc(bytes);
  uint32_t crc;
  memcpy(copy, data, bytes);
  memcpy(copy + 4 * (size_t)word, &value, 4);
  crc = megcc_crc32(copy + 8, bytes - 8);
  memcpy(copy + 4, &crc, 4);
  refused(cache, copy, bytes, status);
  free(copy);
}

static void loads_nothing_else(megcc_cache_t *cache, const uint8_t *data, size_t bytes) {
  uint8_t *const copy = (uint8_t *)malloc(bytes + 4);
  size_t k;
  memcpy(copy, data, bytes);
  memset(copy + bytes, 0, 4);
  for (k = 0; k < bytes; k += k < 80 ? 1 : 97) {
    refused(cache, data, k, MEGCC_ERR_TRUNCATED);
  }
  refused(cache, copy, bytes + 4, MEGCC_ERR_CORRUPT);
  for (k = 0; k < bytes; k += k < 80 ? 1 : 97) {
    copy[k] ^= 0x10;
    EXPECT(megcc_cache_load(cache, copy, bytes) != MEGCC_OK);
    copy[k] ^= 0x10;
  }
  copy[bytes - 1] ^= 1;
  refused(cache, copy, bytes, MEGCC_ERR_CHECKSUM);
  free(copy);
  forged(cache, data, bytes, 0, 1, MEGCC_ERR_MAGIC);
  forged(cache, data, bytes, 2, 9, MEGCC_ERR_VERSION);
  for (k = 3; k < 7; ++k) forged(cache, data, bytes, (uint32_t)k, 1, MEGCC_ERR_DATA);
  forged(cache, data, bytes, 8, 1, MEGCC_ERR_TRUNCATED);
  forged(cache, data, bytes, 9, CAPACITY + 1, MEGCC_ERR_SIZE);
  forged(cache, data, bytes, 9, 3, MEGCC_ERR_CORRUPT);
  forged(cache, data, bytes, 16, LOGITS, MEGCC_ERR_INDEX);
  forged(cache, data, bytes, 16, 0x80000000u, MEGCC_ERR_INDEX);
}

// A run without a generator, in a context of its own: the logits of the last token.
static void own_run(const megcc_model_t *model, megcc_cache_t *cache, const int32_t *tokens,
                    uint32_t count, float *to) {
  megcc_context_t *const context = new_context(model);
  const uint32_t total = megcc_cache_length(cache) + count;
  static int64_t ids[CAPACITY], mask[CAPACITY], places[CAPACITY];
  int32_t dims[2] = {1, (int32_t)count};
  megcc_tensor_info_t info;
  uint32_t port[3], i;
  size_t arena;
  uint8_t *logits;
  int has_places;
  for (i = 0; i < count; ++i) ids[i] = tokens[i], places[i] = total - count + i;
  for (i = 0; i < total; ++i) mask[i] = 1;
  EXPECT(megcc_input_index(model, "input_ids", &port[0]) == MEGCC_OK);
  EXPECT(megcc_input_index(model, "attention_mask", &port[1]) == MEGCC_OK);
  has_places = megcc_input_index(model, "position_ids", &port[2]) == MEGCC_OK;
  EXPECT(megcc_set_input_shape(context, port[0], 2, dims) == MEGCC_OK);
  if (has_places) EXPECT(megcc_set_input_shape(context, port[2], 2, dims) == MEGCC_OK);
  dims[1] = (int32_t)total;
  EXPECT(megcc_set_input_shape(context, port[1], 2, dims) == MEGCC_OK);
  EXPECT(megcc_cache_bind(cache, context, CAPACITY + 1) == MEGCC_ERR_SIZE);
  EXPECT(megcc_cache_bind(cache, context, count) == MEGCC_OK);
  EXPECT(megcc_bind_input(context, port[0], ids, 8 * (size_t)count) == MEGCC_OK);
  EXPECT(megcc_bind_input(context, port[1], mask, 8 * (size_t)total) == MEGCC_OK);
  if (has_places) {
    EXPECT(megcc_bind_input(context, port[2], places, 8 * (size_t)count) == MEGCC_OK);
  }
  EXPECT(megcc_arena_bytes(context, &arena) == MEGCC_OK);
  EXPECT(megcc_set_arena(context, aligned(arena), arena) == MEGCC_OK);
  EXPECT(megcc_output_index(model, "logits", &port[0]) == MEGCC_OK);
  EXPECT(megcc_output_info(context, port[0], &info) == MEGCC_OK);
  EXPECT(info.bytes == 4 * LOGITS);  // of the last token alone
  logits = (uint8_t *)aligned(info.bytes);
  EXPECT(megcc_bind_output(context, port[0], logits, info.bytes) == MEGCC_OK);
  EXPECT(megcc_run(context) == MEGCC_OK);
  EXPECT(megcc_cache_append(cache, tokens, count) == MEGCC_OK);
  memcpy(to, logits, info.bytes);
}

// Logits behind the first `length` tokens of a sequence, computed in chunks from the beginning.
static void recompute(megcc_generator_t *g, const int32_t *tokens, uint32_t length, float *to) {
  EXPECT(megcc_cache_rewind(megcc_generator_cache(g), 0) == MEGCC_OK);
  EXPECT(megcc_generator_append(g, tokens, length) == MEGCC_OK);
  copy_logits(g, to);
}

static void many_steps(const megcc_model_t *model, uint32_t steps) {
  const uint32_t capacity = steps + 1;
  megcc_generator_t *const g = new_generator(model, new_context(model), capacity, 64);
  megcc_generator_t *const other = new_generator(model, new_context(model), capacity, 64);
  const int32_t *const tokens = megcc_cache_tokens(megcc_generator_cache(g));
  megcc_sampler_t sampler = {0};
  static float found[LOGITS], wanted[LOGITS];
  double most = 0;
  int32_t token = 5;
  uint32_t i;
  sampler.temperature = 2;  // so that tokens do not repeat
  for (i = 0; i < steps; ++i) {
    EXPECT(megcc_generator_append(g, &token, 1) == MEGCC_OK);
    EXPECT(megcc_generator_next(g, &sampler, &token) == MEGCC_OK);
    if (i % (steps / 5) == 1 || i + 1 == steps) {
      double d;
      copy_logits(g, found);
      recompute(other, tokens, i + 1, wanted);
      d = distance(found, wanted);
      if (!(d <= most)) most = d;
    }
  }
  printf("%.9g\n", most);
}

int main(int argc, char **argv) {
  static const int32_t kTokens[TOKENS] = {5,  100, 7, 200, 31, 64, 9,  80,  3,   2,
                                          11, 250, 6, 77,  42, 13, 99, 101, 131, 17};
  static const int32_t kWrong = LOGITS;
  static float whole[LOGITS], again[LOGITS];
  megcc_model_t *const model = open_decoder();
  megcc_context_t *const context = new_context(model);
  megcc_generator_t *g;
  megcc_cache_t *own, *b, *few;
  const float *logits;
  uint32_t count;
  size_t bytes, others, k;
  uint8_t *data, *other, *end;
  if (argc > 1) {
    many_steps(model, (uint32_t)atoi(argv[1]));
    return 0;
  }
  EXPECT(megcc_cache_bytes(model, context, 0, &bytes) == MEGCC_ERR_SIZE);
  EXPECT(megcc_cache_bytes(model, context, 0x80000000u, &bytes) == MEGCC_ERR_SIZE);
  g = new_generator(model, context, CAPACITY, CHUNK);
  own = megcc_generator_cache(g);
  EXPECT(megcc_generator_append(g, kTokens, TOKENS) == MEGCC_OK);
  copy_logits(g, whole);

  // A prefix that is copied goes on in its own way.
  b = new_cache(model, context, CAPACITY);
  end = guard;
  EXPECT(megcc_cache_copy(b, own, TOKENS + 1) == MEGCC_ERR_SIZE);
  EXPECT(megcc_cache_copy(b, own, 12) == MEGCC_OK && megcc_cache_length(b) == 12);
  EXPECT(megcc_generator_use(g, b) == MEGCC_OK && megcc_generator_cache(g) == b);
  EXPECT(megcc_generator_logits(g, &logits, &count) == MEGCC_ERR_NOT_RUN);
  EXPECT(megcc_generator_append(g, kTokens + 12, TOKENS - 12) == MEGCC_OK);
  copy_logits(g, again);
  EXPECT(distance(whole, again) < 1e-5);
  EXPECT(megcc_cache_rewind(b, 3) == MEGCC_OK);
  EXPECT(megcc_generator_append(g, kTokens, CAPACITY - 2) == MEGCC_ERR_SIZE);
  EXPECT(megcc_generator_append(g, kTokens, TOKENS) == MEGCC_OK);
  EXPECT(megcc_generator_use(g, own) == MEGCC_OK && megcc_cache_length(own) == TOKENS);
  EXPECT(!memcmp(megcc_cache_tokens(own), kTokens, sizeof kTokens));
  EXPECT(megcc_cache_copy(own, own, TOKENS - 1) == MEGCC_OK);
  EXPECT(megcc_generator_append(g, kTokens + TOKENS - 1, 1) == MEGCC_OK);
  copy_logits(g, again);
  EXPECT(distance(whole, again) < 1e-5);

  // Saved and loaded: equal to the bit.
  EXPECT(megcc_cache_saved_bytes(own, TOKENS + 1, &bytes) == MEGCC_ERR_SIZE);
  data = saved(own, 15, &bytes);
  EXPECT(megcc_cache_save(own, 15, data, bytes - 1) == MEGCC_ERR_MEMORY);
  EXPECT(megcc_cache_load(b, data, bytes) == MEGCC_OK && megcc_cache_length(b) == 15);
  EXPECT(!memcmp(megcc_cache_tokens(b), kTokens, 15 * sizeof *kTokens));
  other = saved(b, 15, &others);
  EXPECT(bytes == others && !memcmp(data, other, bytes));
  EXPECT(megcc_cache_rewind(own, 15) == MEGCC_OK);
  EXPECT(megcc_generator_append(g, kTokens + 15, TOKENS - 15) == MEGCC_OK);
  copy_logits(g, whole);
  EXPECT(megcc_generator_use(g, b) == MEGCC_OK);
  EXPECT(megcc_generator_append(g, kTokens + 15, TOKENS - 15) == MEGCC_OK);
  copy_logits(g, again);
  EXPECT(!memcmp(whole, again, sizeof whole));
  loads_nothing_else(b, data, bytes);
  EXPECT(megcc_generator_logits(g, &logits, &count) == MEGCC_OK);  // nothing has changed
  EXPECT(megcc_cache_append(b, &kWrong, 1) == MEGCC_ERR_INDEX);

  // Too few rows.
  few = new_cache(model, context, 10);
  EXPECT(megcc_cache_copy(few, own, 11) == MEGCC_ERR_SIZE);
  EXPECT(megcc_cache_copy(few, own, 10) == MEGCC_OK);
  refused(few, data, bytes, MEGCC_ERR_SIZE);
  EXPECT(megcc_generator_use(g, few) == MEGCC_ERR_SIZE && megcc_generator_cache(g) == b);
  EXPECT(megcc_generator_append(g, kTokens, TOKENS) == MEGCC_OK);

  // A loop of one's own, over a cache that another one has begun.
  EXPECT(megcc_cache_rewind(own, 15) == MEGCC_OK);
  own_run(model, own, kTokens + 15, TOKENS - 15, again);
  EXPECT(distance(whole, again) < 1e-5);

  for (k = 0; k < GUARD; ++k) EXPECT(guard[k] == 0x5A && end[k] == 0x5A);
  EXPECT(megcc_cache_bytes(model, context, 1000, &bytes) == MEGCC_OK);
  printf("%lu\n", (unsigned long)bytes);
  return 0;
}
