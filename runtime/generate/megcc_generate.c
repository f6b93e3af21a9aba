// A decoder's loop: its ports, its memory, and runs that append to a cache.
#include "megcc_generate.h"

#include "megcc_cache_parts.h"
#include "megcc_tokenizer_image.h"

struct megcc_generator {
  const megcc_model_t *model;
  megcc_context_t *context;
  const megcc_tokenizer_t *tokenizer;
  megcc_cache_t *cache;
  uint32_t chunk;
  uint32_t logits_of;                     // the cache's count of changes that they are of; 0: none
  uint32_t ids, mask, positions, logits;  // ports
  size_t logits_bytes, arena_bytes, piece_bytes;
  megcc_dtype_t logits_type, id_type;
  uint32_t vocabulary;  // logits
  void *id_data, *mask_data, *position_data;
  uint8_t *logits_data;
  const float *latest;  // logits behind the latest token
  float *widened;       // where they are of 16 bits
  void *work;           // of the sampler
  char *piece;          // text of a token
  void *arena;
};

// ---- ports ---------------------------------------------------------------------------------

static int is_index(megcc_dtype_t dtype) { return dtype == MEGCC_I64 || dtype == MEGCC_I32; }

// Looks at the ports beside those of the cache.
static megcc_status_t find_ports(megcc_generator_t *g) {
  megcc_status_t status = megcc_input_index(g->model, "input_ids", &g->ids);
  megcc_tensor_info_t info;
  uint32_t i, inputs;
  if (status == MEGCC_OK) status = megcc_input_index(g->model, "attention_mask", &g->mask);
  if (status == MEGCC_OK) status = megcc_output_index(g->model, "logits", &g->logits);
  if (status == MEGCC_OK) status = megcc_input_count(g->model, &inputs);
  if (status == MEGCC_OK) status = megcc_input_info(g->context, g->ids, &info);
  if (status != MEGCC_OK) return status;
  g->id_type = info.dtype;
  g->positions = UINT32_MAX;
  if (megcc_input_index(g->model, "position_ids", &i) == MEGCC_OK) g->positions = i;
  for (i = 0; i < inputs; ++i) {
    status = megcc_input_info(g->context, i, &info);
    if (status != MEGCC_OK) return status;
    if (i == g->ids || i == g->mask || i == g->positions) {
      if (!is_index(info.dtype) || info.dtype != g->id_type || info.rank != 2) {
        return MEGCC_ERR_SHAPE;
      }
    } else if (!megcc_begins_with(info.name, "past_key_values.")) {
      return MEGCC_ERR_NAME;
    }
  }
  status = megcc_output_info(g->context, g->logits, &info);
  if (status != MEGCC_OK) return status;
  if (info.dtype != MEGCC_F32 && info.dtype != MEGCC_F16 && info.dtype != MEGCC_BF16) {
    return MEGCC_ERR_SHAPE;
  }
  g->logits_type = info.dtype;
  if (g->tokenizer != NULL && (megcc_tokenizer_count(g->tokenizer) > g->vocabulary ||
                               (megcc_tokenizer_vocabulary(g->tokenizer) != 0 &&
                                megcc_tokenizer_vocabulary(g->tokenizer) != g->vocabulary))) {
    return MEGCC_ERR_DATA;
  }
  return MEGCC_OK;
}

// Tells the model that `count` tokens come behind `past` ones.
static megcc_status_t set_shapes(const megcc_generator_t *g, uint32_t count, uint32_t past) {
  int32_t dims[2] = {1, (int32_t)count};
  megcc_status_t status = megcc_set_input_shape(g->context, g->ids, 2, dims);
  if (status == MEGCC_OK && g->positions != UINT32_MAX) {
    status = megcc_set_input_shape(g->context, g->positions, 2, dims);
  }
  dims[1] = (int32_t)(past + count);
  if (status == MEGCC_OK) status = megcc_set_input_shape(g->context, g->mask, 2, dims);
  return status;
}

// ---- memory --------------------------------------------------------------------------------

// Pieces of a generator's memory; that of the cache comes first.
static void lay_out(megcc_generator_t *g, megcc_pieces_t *p) {
  const size_t id = megcc_dtype_bytes(g->id_type);
  const uint32_t capacity = g->cache->capacity;
  megcc_cache_t *const cache = megcc_cache_place(g->cache, p);
  if (cache != NULL) g->cache = cache;
  g->id_data = megcc_piece(p, g->chunk, id);
  g->mask_data = megcc_piece(p, capacity, id);
  g->position_data = megcc_piece(p, g->chunk, id);
  g->logits_data = (uint8_t *)megcc_piece(p, g->logits_bytes, 1);
  g->widened =
      (float *)megcc_piece(p, g->logits_type == MEGCC_F32 ? 0 : g->vocabulary, sizeof *g->widened);
  g->work = megcc_piece(p, megcc_sample_bytes(g->vocabulary), 1);
  g->piece = (char *)megcc_piece(p, g->piece_bytes, 1);
  g->arena = megcc_piece(p, g->arena_bytes, 1);
}

// What depends on the shapes: the most bytes of the arena and of the logits.
static megcc_status_t measure(megcc_generator_t *g) {
  const uint32_t chunk = g->chunk, capacity = g->cache->capacity;
  const uint32_t runs[4][2] = {
      {1, 0}, {chunk, 0}, {1, capacity - 1}, {chunk, capacity - chunk}};  // tokens, past
  uint32_t i;
  g->arena_bytes = g->logits_bytes = 0;
  for (i = 0; i < 4; ++i) {
    megcc_tensor_info_t info;
    size_t arena;
    megcc_status_t status = set_shapes(g, runs[i][0], runs[i][1]);
    if (status == MEGCC_OK) status = megcc_cache_set_shapes(g->cache, g->context, runs[i][1]);
    if (status == MEGCC_OK) status = megcc_arena_bytes(g->context, &arena);
    if (status == MEGCC_OK) status = megcc_output_info(g->context, g->logits, &info);
    if (status != MEGCC_OK) return status;
    if (arena > g->arena_bytes) g->arena_bytes = arena;
    if (info.bytes > g->logits_bytes) g->logits_bytes = info.bytes;
  }
  return MEGCC_OK;
}

// Number of tokens: logits beyond are padding.
static uint32_t known(const megcc_generator_t *g) {
  return g->tokenizer != NULL ? megcc_tokenizer_count(g->tokenizer) : g->vocabulary;
}

// All of a generator but its memory. `cache` and `pairs` are where they stay until there is some.
static megcc_status_t prepare(megcc_generator_t *g, const megcc_model_t *model,
                              megcc_context_t *context, const megcc_tokenizer_t *tokenizer,
                              uint32_t capacity, uint32_t chunk, megcc_cache_t *cache,
                              megcc_cache_pair_t *pairs) {
  megcc_status_t status = megcc_cache_find(cache, model, context, capacity, pairs);
  if (status != MEGCC_OK) return status;
  if (chunk == 0) return MEGCC_ERR_SIZE;
  g->model = model;
  g->context = context;
  g->tokenizer = tokenizer;
  g->cache = cache;
  g->chunk = chunk < capacity ? chunk : capacity;
  g->logits_of = 0;
  g->piece_bytes = tokenizer != NULL ? megcc_decode_bytes(tokenizer) : 0;
  g->vocabulary = cache->vocabulary;
  status = find_ports(g);
  if (status == MEGCC_OK) status = measure(g);
  cache->vocabulary = known(g);
  return status;
}

megcc_status_t megcc_generator_bytes(const megcc_model_t *model, megcc_context_t *context,
                                     const megcc_tokenizer_t *tokenizer, uint32_t capacity,
                                     uint32_t chunk, size_t *bytes) {
  megcc_cache_pair_t pairs[MEGCC_CACHE_MOST_PAIRS];
  megcc_cache_t cache;
  megcc_generator_t g;
  megcc_pieces_t p = {NULL, 0, 0};
  megcc_status_t status;
  if (bytes == NULL) return MEGCC_ERR_NULL;
  status = prepare(&g, model, context, tokenizer, capacity, chunk, &cache, pairs);
  if (status != MEGCC_OK) return status;
  (void)megcc_piece(&p, 1, sizeof g);
  lay_out(&g, &p);
  if (p.too_much) return MEGCC_ERR_MEMORY;
  *bytes = p.bytes;
  return MEGCC_OK;
}

megcc_status_t megcc_generator_create(const megcc_model_t *model, megcc_context_t *context,
                                      const megcc_tokenizer_t *tokenizer, uint32_t capacity,
                                      uint32_t chunk, void *mem, size_t bytes,
                                      megcc_generator_t **generator) {
  megcc_cache_pair_t pairs[MEGCC_CACHE_MOST_PAIRS];
  megcc_cache_t cache;
  megcc_generator_t *g;
  megcc_pieces_t p = {(uint8_t *)mem, 0, 0};
  size_t need;
  megcc_status_t status;
  if (mem == NULL || generator == NULL) return MEGCC_ERR_NULL;
  status = megcc_generator_bytes(model, context, tokenizer, capacity, chunk, &need);
  if (status != MEGCC_OK) return status;
  if (bytes < need) return MEGCC_ERR_MEMORY;
  if ((uintptr_t)mem % MEGCC_ALIGNMENT != 0) return MEGCC_ERR_ALIGNMENT;
  g = (megcc_generator_t *)megcc_piece(&p, 1, sizeof *g);
  status = prepare(g, model, context, tokenizer, capacity, chunk, &cache, pairs);
  if (status != MEGCC_OK) return status;
  lay_out(g, &p);
  *generator = g;
  return MEGCC_OK;
}

// ---- the sequence ----------------------------------------------------------------------------

megcc_cache_t *megcc_generator_cache(megcc_generator_t *g) { return g->cache; }

megcc_status_t megcc_generator_use(megcc_generator_t *g, megcc_cache_t *cache) {
  if (g == NULL || cache == NULL) return MEGCC_ERR_NULL;
  if (!megcc_cache_alike(g->cache, cache)) return MEGCC_ERR_DATA;
  if (cache->capacity != g->cache->capacity) return MEGCC_ERR_SIZE;
  cache->vocabulary = known(g);
  if (cache != g->cache) g->logits_of = 0;
  g->cache = cache;
  return MEGCC_OK;
}

static void put(const megcc_generator_t *g, void *data, uint32_t at, int32_t value) {
  if (g->id_type == MEGCC_I64) {
    ((int64_t *)data)[at] = value;
  } else {
    ((int32_t *)data)[at] = value;
  }
}

static megcc_status_t bind(const megcc_generator_t *g, const int32_t *tokens, uint32_t count) {
  const size_t id = megcc_dtype_bytes(g->id_type);
  const uint32_t past = g->cache->length;
  megcc_tensor_info_t info;
  megcc_status_t status = set_shapes(g, count, past);
  size_t arena;
  uint32_t i;
  for (i = 0; i < count; ++i) {
    put(g, g->id_data, i, tokens[i]);
    put(g, g->position_data, i, (int32_t)(past + i));
  }
  for (i = 0; i < past + count; ++i) put(g, g->mask_data, i, 1);
  if (status == MEGCC_OK) status = megcc_cache_bind(g->cache, g->context, count);
  if (status == MEGCC_OK) status = megcc_arena_bytes(g->context, &arena);
  if (status == MEGCC_OK && arena > g->arena_bytes) status = MEGCC_ERR_MEMORY;
  if (status == MEGCC_OK) status = megcc_set_arena(g->context, g->arena, g->arena_bytes);
  if (status == MEGCC_OK) status = megcc_output_info(g->context, g->logits, &info);
  if (status == MEGCC_OK && info.bytes > g->logits_bytes) status = MEGCC_ERR_MEMORY;
  if (status == MEGCC_OK) {
    status = megcc_bind_output(g->context, g->logits, g->logits_data, info.bytes);
  }
  if (status == MEGCC_OK) status = megcc_bind_input(g->context, g->ids, g->id_data, id * count);
  if (status == MEGCC_OK) {
    status = megcc_bind_input(g->context, g->mask, g->mask_data, id * (past + count));
  }
  if (status == MEGCC_OK && g->positions != UINT32_MAX) {
    status = megcc_bind_input(g->context, g->positions, g->position_data, id * count);
  }
  return status;
}

// A number in f16 as a float: an infinity and a NaN stay what they are.
static float of_half(uint16_t half) {
  union {
    uint32_t u;
    float f;
  } v;
  const uint32_t exponent = half >> 10 & 31, fraction = half & 0x3FFu;
  if (exponent == 0) {  // times 2^-24
    v.f = (float)fraction * 5.9604644775390625e-8f;
  } else {
    v.u = (exponent == 31 ? 0xFFu : exponent + 112) << 23 | fraction << 13;
  }
  v.u |= (uint32_t)(half & 0x8000) << 16;
  return v.f;
}

static float of_bfloat(uint16_t half) {
  union {
    uint32_t u;
    float f;
  } v;
  v.u = (uint32_t)half << 16;
  return v.f;
}

// Keeps the logits of the latest token: those of the last row.
static megcc_status_t keep_logits(megcc_generator_t *g) {
  const size_t bytes = megcc_dtype_bytes(g->logits_type) * g->vocabulary;
  const void *row;
  megcc_tensor_info_t info;
  const megcc_status_t status = megcc_output_info(g->context, g->logits, &info);
  uint32_t i;
  if (status != MEGCC_OK) return status;
  if (info.bytes < bytes) return MEGCC_ERR_SHAPE;
  row = g->logits_data + info.bytes - bytes;
  if (g->logits_type == MEGCC_F32) {
    g->latest = (const float *)row;
    return MEGCC_OK;
  }
  for (i = 0; i < g->vocabulary; ++i) {
    const uint16_t half = ((const uint16_t *)row)[i];
    g->widened[i] = g->logits_type == MEGCC_F16 ? of_half(half) : of_bfloat(half);
  }
  g->latest = g->widened;
  return MEGCC_OK;
}

static megcc_status_t run(megcc_generator_t *g, const int32_t *tokens, uint32_t count) {
  megcc_status_t status = bind(g, tokens, count);
  if (status == MEGCC_OK) status = megcc_run(g->context);
  if (status == MEGCC_OK) status = keep_logits(g);
  if (status == MEGCC_OK) status = megcc_cache_append(g->cache, tokens, count);
  if (status == MEGCC_OK) g->logits_of = g->cache->changes;
  return status;
}

megcc_status_t megcc_generator_append(megcc_generator_t *g, const int32_t *tokens, size_t count) {
  megcc_status_t status;
  uint32_t before;
  size_t done = 0;
  if (g == NULL || (tokens == NULL && count > 0)) return MEGCC_ERR_NULL;
  before = g->cache->length;
  if (count > g->cache->capacity - before) return MEGCC_ERR_SIZE;
  status = megcc_cache_check(g->cache, tokens, count);
  while (status == MEGCC_OK && done < count) {
    const size_t left = count - done;
    const uint32_t now = left < g->chunk ? (uint32_t)left : g->chunk;
    status = run(g, tokens + done, now);
    done += now;
  }
  if (status != MEGCC_OK && g->cache->length > before) (void)megcc_cache_rewind(g->cache, before);
  return status;
}

static int has_logits(const megcc_generator_t *g) { return g->logits_of == g->cache->changes; }

megcc_status_t megcc_generator_logits(megcc_generator_t *g, const float **logits, uint32_t *count) {
  if (g == NULL || logits == NULL || count == NULL) return MEGCC_ERR_NULL;
  if (!has_logits(g)) return MEGCC_ERR_NOT_RUN;
  *logits = g->latest;
  *count = g->vocabulary;
  return MEGCC_OK;
}

megcc_status_t megcc_generator_next(megcc_generator_t *g, megcc_sampler_t *sampler,
                                    int32_t *token) {
  uint32_t count;
  if (g == NULL) return MEGCC_ERR_NULL;
  if (!has_logits(g)) return MEGCC_ERR_NOT_RUN;
  count = known(g);
  return megcc_sample(sampler, g->latest, count, g->cache->tokens, g->cache->length, g->work,
                      megcc_sample_bytes(count), token);
}

// ---- generation ------------------------------------------------------------------------------

static int is_stop(const megcc_generation_t *what, int32_t token) {
  size_t i;
  for (i = 0; i < what->stop_count; ++i) {
    if (what->stops[i] == token) return 1;
  }
  return 0;
}

// Gives a token and its text to the caller; 1 where it is enough.
static megcc_status_t give(const megcc_generator_t *g, const megcc_generation_t *what,
                           megcc_decoder_t *decoder, int32_t token, int *enough) {
  megcc_status_t status = MEGCC_OK;
  size_t bytes = 0;
  if (what->take == NULL) return MEGCC_OK;
  if (g->tokenizer != NULL && token < 0) {
    status = megcc_decode_end(decoder, g->piece, g->piece_bytes, &bytes);
    if (bytes == 0) return status;
  } else if (g->tokenizer != NULL) {
    status = megcc_decode_token(g->tokenizer, decoder, token, 0, g->piece, g->piece_bytes, &bytes);
    // An id without a token has no text.
    if (status == MEGCC_ERR_INDEX) status = MEGCC_OK;
  } else if (token < 0) {
    return MEGCC_OK;
  }
  if (status == MEGCC_OK) *enough = what->take(what->user, token, g->piece, bytes) != 0;
  return status;
}

megcc_status_t megcc_generate(megcc_generator_t *g, megcc_sampler_t *sampler,
                              megcc_generation_t *what) {
  megcc_decoder_t decoder = {{0, 0, 0, 0}, 0, 0};
  megcc_status_t status;
  uint32_t kept = 0, made;
  int enough = 0;
  if (g == NULL || sampler == NULL || what == NULL ||
      (what->prompt == NULL && what->prompt_count) || (what->stops == NULL && what->stop_count)) {
    return MEGCC_ERR_NULL;
  }
  if (what->prompt_count == 0 || what->prompt_count > g->cache->capacity) return MEGCC_ERR_SIZE;
  status = megcc_cache_check(g->cache, what->prompt, what->prompt_count);
  if (status != MEGCC_OK) return status;
  // The last token is computed in any case, for its logits.
  while (kept + 1 < what->prompt_count && kept < g->cache->length &&
         g->cache->tokens[kept] == what->prompt[kept]) {
    ++kept;
  }
  what->kept = kept;
  what->finished = MEGCC_GENERATED_MOST;
  status = megcc_cache_rewind(g->cache, kept);
  if (status == MEGCC_OK) {
    status = megcc_generator_append(g, what->prompt + kept, what->prompt_count - kept);
  }
  decoder.begun = 1;  // it goes on with a text: a space in front of it stays
  for (made = 0; status == MEGCC_OK && made < what->most; ++made) {
    int32_t token;
    status = megcc_generator_next(g, sampler, &token);
    if (status != MEGCC_OK) break;
    if (is_stop(what, token)) {
      what->finished = MEGCC_GENERATED_STOP;
      break;
    }
    status = give(g, what, &decoder, token, &enough);
    if (status != MEGCC_OK || made + 1 == what->most) break;
    if (enough || g->cache->length == g->cache->capacity) {
      what->finished = enough ? MEGCC_GENERATED_CALLER : MEGCC_GENERATED_CAPACITY;
      break;
    }
    status = megcc_generator_append(g, &token, 1);
  }
  if (status == MEGCC_OK) status = give(g, what, &decoder, -1, &enough);
  return status;
}
