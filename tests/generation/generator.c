// The functions of megcc_generate.h, with input that is none: statuses, and nothing changes.
#include "expecting.h"

enum { CAPACITY = 12, CHUNK = 4, GUARD = 64 };

static int stops_at_once(void *user, int32_t token, const char *text, size_t bytes) {
  (void)token, (void)text, (void)bytes;
  ++*(int *)user;
  return 1;
}

int main(void) {
  static const int32_t kTokens[] = {5, 100, 7, 200, 31, 64, 9, 80, 3, 2, 1, 250, 6};
  static const int32_t kWrong[] = {5, 272}, kPadding[] = {270}, kNegative[] = {-1};
  static float whole[LOGITS], again[LOGITS];
  megcc_model_t *model;
  megcc_context_t *context;
  megcc_tokenizer_t tokenizer;
  megcc_generator_t *g = NULL;
  megcc_cache_t *cache;
  megcc_sampler_t sampler;
  megcc_generation_t what;
  const float *logits;
  uint32_t count, forged[64];
  int32_t token;
  size_t bytes, k;
  int calls = 0;
  uint8_t *mem;
  void *image;

  model = open_decoder();
  context = new_context(model);
  EXPECT(megcc_tokenizer_open(decoder_tokenizer.data, decoder_tokenizer.bytes, &tokenizer) ==
         MEGCC_OK);

  // A tokenizer of another model.
  image = aligned(decoder_tokenizer.bytes);
  memcpy(image, decoder_tokenizer.data, decoder_tokenizer.bytes);
  memcpy(forged, image, sizeof forged);
  forged[7] = 300;  // logits of its model
  memcpy(image, forged, sizeof forged);
  EXPECT(megcc_tokenizer_open(image, decoder_tokenizer.bytes, &tokenizer) == MEGCC_OK);
  EXPECT(megcc_generator_bytes(model, context, &tokenizer, CAPACITY, CHUNK, &bytes) ==
         MEGCC_ERR_DATA);
  EXPECT(megcc_tokenizer_open(decoder_tokenizer.data, decoder_tokenizer.bytes, &tokenizer) ==
         MEGCC_OK);

  EXPECT(megcc_generator_bytes(model, context, &tokenizer, 0, CHUNK, &bytes) == MEGCC_ERR_SIZE);
  EXPECT(megcc_generator_bytes(model, context, &tokenizer, CAPACITY, CHUNK, &bytes) == MEGCC_OK);
  mem = aligned(bytes + GUARD);
  memset(mem, 0x5A, bytes + GUARD);
  EXPECT(megcc_generator_create(model, context, &tokenizer, CAPACITY, CHUNK, mem, bytes - 1, &g) ==
         MEGCC_ERR_MEMORY);
  EXPECT(megcc_generator_create(model, context, &tokenizer, CAPACITY, CHUNK, mem + 8, bytes, &g) ==
         MEGCC_ERR_ALIGNMENT);
  EXPECT(megcc_generator_create(model, context, &tokenizer, CAPACITY, CHUNK, mem, bytes, &g) ==
         MEGCC_OK);
  cache = megcc_generator_cache(g);
  EXPECT(megcc_cache_capacity(cache) == CAPACITY && megcc_cache_length(cache) == 0);

  // Nothing was computed yet.
  memset(&sampler, 0, sizeof sampler);
  EXPECT(megcc_generator_logits(g, &logits, &count) == MEGCC_ERR_NOT_RUN);
  EXPECT(megcc_generator_next(g, &sampler, &token) == MEGCC_ERR_NOT_RUN);

  // In chunks, one by one, and after a rewind: equal.
  EXPECT(megcc_generator_append(g, kTokens, 10) == MEGCC_OK);
  copy_logits(g, whole);
  EXPECT(megcc_cache_rewind(cache, 3) == MEGCC_OK && megcc_cache_length(cache) == 3);
  EXPECT(megcc_generator_logits(g, &logits, &count) == MEGCC_ERR_NOT_RUN);
  for (k = 3; k < 10; ++k) EXPECT(megcc_generator_append(g, kTokens + k, 1) == MEGCC_OK);
  copy_logits(g, again);
  EXPECT(distance(whole, again) < 1e-5);

  // What is refused changes nothing.
  EXPECT(megcc_generator_append(g, kTokens, 3) == MEGCC_ERR_SIZE);
  EXPECT(megcc_generator_append(g, kWrong, 2) == MEGCC_ERR_INDEX);
  EXPECT(megcc_generator_append(g, kNegative, 1) == MEGCC_ERR_INDEX);
  EXPECT(megcc_generator_append(g, kPadding, 1) == MEGCC_ERR_INDEX);
  EXPECT(megcc_cache_rewind(cache, 11) == MEGCC_ERR_SIZE);
  memset(&what, 0, sizeof what);
  EXPECT(megcc_generate(g, &sampler, &what) == MEGCC_ERR_SIZE);  // no prompt
  what.prompt = kTokens;
  what.prompt_count = 13;
  EXPECT(megcc_generate(g, &sampler, &what) == MEGCC_ERR_SIZE);
  what.prompt = kWrong;
  what.prompt_count = 2;
  EXPECT(megcc_generate(g, &sampler, &what) == MEGCC_ERR_INDEX);
  EXPECT(megcc_cache_length(cache) == 10);
  EXPECT(!memcmp(megcc_cache_tokens(cache), kTokens, 10 * sizeof *kTokens));
  copy_logits(g, again);
  EXPECT(distance(whole, again) < 1e-5);
  EXPECT(megcc_generator_append(g, kTokens + 10, 2) == MEGCC_OK);
  copy_logits(g, again);
  EXPECT(megcc_cache_rewind(cache, 0) == MEGCC_OK);
  EXPECT(megcc_generator_append(g, kTokens, 12) == MEGCC_OK);
  copy_logits(g, whole);
  EXPECT(distance(whole, again) < 1e-5);

  // Ends: the caller's, the capacity's, a stop token's, the number's.
  what.prompt = kTokens;
  what.prompt_count = 10;
  what.most = 100;
  what.take = stops_at_once;
  what.user = &calls;
  EXPECT(megcc_generate(g, &sampler, &what) == MEGCC_OK);
  EXPECT(what.finished == MEGCC_GENERATED_CALLER && calls == 1 && what.kept == 9);
  what.take = NULL;
  EXPECT(megcc_generate(g, &sampler, &what) == MEGCC_OK);
  EXPECT(what.finished == MEGCC_GENERATED_CAPACITY && megcc_cache_length(cache) == CAPACITY);
  what.most = 2;
  EXPECT(megcc_generate(g, &sampler, &what) == MEGCC_OK && what.finished == MEGCC_GENERATED_MOST);
  token = megcc_cache_tokens(cache)[10];
  what.stops = &token;
  what.stop_count = 1;
  EXPECT(megcc_generate(g, &sampler, &what) == MEGCC_OK && what.finished == MEGCC_GENERATED_STOP);

  for (k = 0; k < GUARD; ++k) EXPECT(mem[bytes + k] == 0x5A);
  puts("fine");
  return 0;
}
