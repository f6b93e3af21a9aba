// A decoder's loop: its ports, its memory, and runs that append to what it remembers.
//
// What is remembered lies in two sets of caches, past and present, which change places after each
// run. A run that fails leaves the past as it was.
#include "megcc_generate.h"

#include "megcc_tokenizer_image.h"

typedef struct cache {
  uint32_t input, output;  // numbers of past and present
  uint32_t heads, rows;    // rows: of a past that has always as many; else 0
  size_t row_bytes;        // of one head and token
  uint8_t *set[2];
} cache_t;

struct megcc_generator {
  const megcc_model_t *model;
  megcc_context_t *context;
  const megcc_tokenizer_t *tokenizer;
  uint32_t capacity, chunk, length;
  uint32_t past;                          // which set of the caches is the past
  uint32_t has_logits;                    // of the latest token
  uint32_t ids, mask, positions, logits;  // ports
  uint32_t vocabulary, n_caches;
  size_t logits_bytes, arena_bytes, piece_bytes;
  megcc_dtype_t logits_type, id_type;
  int32_t *tokens;
  void *id_data, *mask_data, *position_data;
  uint8_t *logits_data;
  float *latest;  // logits behind the latest token
  void *work;     // of the sampler
  char *piece;    // text of a token
  void *arena;
  cache_t *cache;
};

// ---- names ---------------------------------------------------------------------------------

static size_t length_of(const char *text) {
  size_t n = 0;
  while (text[n] != 0) ++n;
  return n;
}

static int begins_with(const char *text, const char *with) {
  while (*with != 0) {
    if (*text++ != *with++) return 0;
  }
  return 1;
}

// The number of the output present.N.key for the input past_key_values.N.key.
static megcc_status_t present_of(const megcc_model_t *model, const char *name, uint32_t *output) {
  static const char kPresent[] = "present.";
  char wanted[64];
  const char *const rest = name + sizeof "past_key_values." - 1;
  const size_t bytes = length_of(rest) + 1;
  if (sizeof kPresent - 1 + bytes > sizeof wanted) return MEGCC_ERR_NAME;
  megcc_t_copy(wanted, kPresent, sizeof kPresent - 1);
  megcc_t_copy(wanted + sizeof kPresent - 1, rest, bytes);
  return megcc_output_index(model, wanted, output);
}

// ---- ports ---------------------------------------------------------------------------------

static int is_index(megcc_dtype_t dtype) { return dtype == MEGCC_I64 || dtype == MEGCC_I32; }

// A cache's port: [1, heads, rows, size of a head].
static megcc_status_t find_cache(const megcc_generator_t *g, uint32_t input, cache_t *c) {
  megcc_tensor_info_t past, present;
  megcc_status_t status = megcc_input_info(g->context, input, &past);
  int32_t heads, size, empty[4] = {1, 0, 0, 0};
  c->input = input;
  if (status == MEGCC_OK) status = present_of(g->model, past.name, &c->output);
  if (status == MEGCC_OK) status = megcc_output_info(g->context, c->output, &present);
  if (status != MEGCC_OK) return status;
  if (past.rank != 4 || present.rank != 4 || past.dtype != present.dtype) return MEGCC_ERR_SHAPE;
  // A dim that only one of both says is that of the other, too.
  heads = past.dims[1] > 0 ? past.dims[1] : present.dims[1];
  size = past.dims[3] > 0 ? past.dims[3] : present.dims[3];
  if (heads <= 0 || size <= 0) return MEGCC_ERR_SHAPE;
  c->heads = (uint32_t)heads;
  // A past that may be empty grows; its dims may be those of an earlier run.
  empty[1] = heads;
  empty[3] = size;
  c->rows = megcc_set_input_shape(g->context, input, 4, empty) == MEGCC_OK ? 0
            : past.dims[2] > 0                                             ? (uint32_t)past.dims[2]
                                                                           : 0;
  c->row_bytes = megcc_dtype_bytes(past.dtype) * (size_t)size;
  if (c->row_bytes == 0 || (c->rows > 0 && c->rows < g->capacity)) return MEGCC_ERR_SHAPE;
  return MEGCC_OK;
}

// Looks at all ports; `caches` may be null, to count them.
static megcc_status_t find_ports(megcc_generator_t *g, cache_t *caches) {
  megcc_status_t status = megcc_input_index(g->model, "input_ids", &g->ids);
  megcc_tensor_info_t info;
  uint32_t i, inputs;
  cache_t one;
  if (status == MEGCC_OK) status = megcc_input_index(g->model, "attention_mask", &g->mask);
  if (status == MEGCC_OK) status = megcc_output_index(g->model, "logits", &g->logits);
  if (status == MEGCC_OK) status = megcc_input_count(g->model, &inputs);
  if (status == MEGCC_OK) status = megcc_input_info(g->context, g->ids, &info);
  if (status != MEGCC_OK) return status;
  g->id_type = info.dtype;
  g->positions = UINT32_MAX;
  if (megcc_input_index(g->model, "position_ids", &i) == MEGCC_OK) g->positions = i;
  g->n_caches = 0;
  for (i = 0; i < inputs; ++i) {
    status = megcc_input_info(g->context, i, &info);
    if (status != MEGCC_OK) return status;
    if (i == g->ids || i == g->mask || i == g->positions) {
      if (!is_index(info.dtype) || info.dtype != g->id_type || info.rank != 2) {
        return MEGCC_ERR_SHAPE;
      }
      continue;
    }
    if (!begins_with(info.name, "past_key_values.")) return MEGCC_ERR_NAME;
    status = find_cache(g, i, caches == NULL ? &one : caches + g->n_caches);
    if (status != MEGCC_OK) return status;
    ++g->n_caches;
  }
  status = megcc_output_info(g->context, g->logits, &info);
  if (status != MEGCC_OK) return status;
  if (g->n_caches == 0) return MEGCC_ERR_NAME;
  if (info.rank < 2 || info.dims[info.rank - 1] <= 0 ||
      (info.dtype != MEGCC_F32 && info.dtype != MEGCC_F16 && info.dtype != MEGCC_BF16)) {
    return MEGCC_ERR_SHAPE;
  }
  g->logits_type = info.dtype;
  g->vocabulary = (uint32_t)info.dims[info.rank - 1];
  if (g->tokenizer != NULL && (megcc_tokenizer_count(g->tokenizer) > g->vocabulary ||
                               (megcc_tokenizer_vocabulary(g->tokenizer) != 0 &&
                                megcc_tokenizer_vocabulary(g->tokenizer) != g->vocabulary))) {
    return MEGCC_ERR_DATA;
  }
  return MEGCC_OK;
}

// Tells the model that `count` tokens come behind `past` ones.
static megcc_status_t set_shapes(const megcc_generator_t *g, const cache_t *caches, uint32_t count,
                                 uint32_t past) {
  int32_t dims[4] = {1, (int32_t)count, 0, 0};
  megcc_status_t status = megcc_set_input_shape(g->context, g->ids, 2, dims);
  uint32_t i;
  if (status == MEGCC_OK && g->positions != UINT32_MAX) {
    status = megcc_set_input_shape(g->context, g->positions, 2, dims);
  }
  dims[1] = (int32_t)(past + count);
  if (status == MEGCC_OK) status = megcc_set_input_shape(g->context, g->mask, 2, dims);
  for (i = 0; status == MEGCC_OK && i < g->n_caches; ++i) {
    const cache_t *const c = caches + i;
    megcc_tensor_info_t info;
    status = megcc_output_info(g->context, c->output, &info);
    dims[1] = (int32_t)c->heads;
    dims[2] = (int32_t)(c->rows > 0 ? c->rows : past);
    dims[3] = (int32_t)(c->row_bytes / megcc_dtype_bytes(info.dtype));
    if (status == MEGCC_OK) status = megcc_set_input_shape(g->context, c->input, 4, dims);
  }
  return status;
}

// ---- memory --------------------------------------------------------------------------------

// Pieces of the caller's memory, each aligned; `mem` is null where they are only counted.
typedef struct layout {
  uint8_t *mem;
  size_t bytes;
  int too_much;
} layout_t;

static void *take(layout_t *l, size_t count, size_t size) {
  uint8_t *const data = l->mem == NULL ? NULL : l->mem + l->bytes;
  const size_t most = (SIZE_MAX >> 1) - l->bytes - MEGCC_ALIGNMENT;
  if (size > 0 && count > most / size) {
    l->too_much = 1;
    return NULL;
  }
  l->bytes += (count * size + MEGCC_ALIGNMENT - 1) / MEGCC_ALIGNMENT * MEGCC_ALIGNMENT;
  return data;
}

static void lay_out(megcc_generator_t *g, layout_t *l) {
  const size_t id = megcc_dtype_bytes(g->id_type);
  uint32_t i, k;
  g->tokens = (int32_t *)take(l, g->capacity, sizeof *g->tokens);
  g->id_data = take(l, g->chunk, id);
  g->mask_data = take(l, g->capacity, id);
  g->position_data = take(l, g->chunk, id);
  g->logits_data = (uint8_t *)take(l, g->logits_bytes, 1);
  g->latest = (float *)take(l, g->vocabulary, sizeof *g->latest);
  g->work = take(l, megcc_sample_bytes(g->vocabulary), 1);
  g->piece = (char *)take(l, g->piece_bytes, 1);
  g->arena = take(l, g->arena_bytes, 1);
  for (i = 0; i < g->n_caches; ++i) {
    cache_t *const c = g->cache + i;
    const size_t rows = (size_t)(c->rows > 0 ? c->rows : g->capacity) * c->heads;
    for (k = 0; k < 2; ++k) {
      uint8_t *const data = (uint8_t *)take(l, rows, c->row_bytes);
      if (l->mem != NULL) c->set[k] = data;
    }
  }
}

// What depends on the shapes: the most bytes of the arena and of the logits.
static megcc_status_t measure(megcc_generator_t *g, const cache_t *caches) {
  const uint32_t chunk = g->chunk, capacity = g->capacity;
  const uint32_t runs[4][2] = {
      {1, 0}, {chunk, 0}, {1, capacity - 1}, {chunk, capacity - chunk}};  // tokens, past
  uint32_t i;
  g->arena_bytes = g->logits_bytes = 0;
  for (i = 0; i < 4; ++i) {
    megcc_tensor_info_t info;
    size_t arena;
    megcc_status_t status = set_shapes(g, caches, runs[i][0], runs[i][1]);
    if (status == MEGCC_OK) status = megcc_arena_bytes(g->context, &arena);
    if (status == MEGCC_OK) status = megcc_output_info(g->context, g->logits, &info);
    if (status != MEGCC_OK) return status;
    if (arena > g->arena_bytes) g->arena_bytes = arena;
    if (info.bytes > g->logits_bytes) g->logits_bytes = info.bytes;
  }
  return MEGCC_OK;
}

static megcc_status_t prepare(megcc_generator_t *g, const megcc_model_t *model,
                              megcc_context_t *context, const megcc_tokenizer_t *tokenizer,
                              uint32_t capacity, uint32_t chunk) {
  if (model == NULL || context == NULL) return MEGCC_ERR_NULL;
  if (capacity == 0 || capacity > INT32_MAX || chunk == 0) return MEGCC_ERR_SIZE;
  g->model = model;
  g->context = context;
  g->tokenizer = tokenizer;
  g->capacity = capacity;
  g->chunk = chunk < capacity ? chunk : capacity;
  g->length = g->past = g->has_logits = 0;
  g->piece_bytes = tokenizer != NULL ? megcc_decode_bytes(tokenizer) : 0;
  return MEGCC_OK;
}

// The caches of a model lie behind the generator: to count bytes, they must lie somewhere, too.
enum { MOST_CACHES = 256 };

megcc_status_t megcc_generator_bytes(const megcc_model_t *model, megcc_context_t *context,
                                     const megcc_tokenizer_t *tokenizer, uint32_t capacity,
                                     uint32_t chunk, size_t *bytes) {
  cache_t caches[MOST_CACHES];
  megcc_generator_t g;
  layout_t l = {NULL, 0, 0};
  megcc_status_t status;
  if (bytes == NULL) return MEGCC_ERR_NULL;
  status = prepare(&g, model, context, tokenizer, capacity, chunk);
  if (status == MEGCC_OK) status = find_ports(&g, NULL);
  if (status != MEGCC_OK) return status;
  if (g.n_caches > MOST_CACHES) return MEGCC_ERR_SHAPE;
  status = find_ports(&g, caches);
  if (status == MEGCC_OK) status = measure(&g, caches);
  if (status != MEGCC_OK) return status;
  g.cache = caches;
  (void)take(&l, 1, sizeof g);
  (void)take(&l, g.n_caches, sizeof *g.cache);
  lay_out(&g, &l);
  if (l.too_much) return MEGCC_ERR_MEMORY;
  *bytes = l.bytes;
  return MEGCC_OK;
}

megcc_status_t megcc_generator_create(const megcc_model_t *model, megcc_context_t *context,
                                      const megcc_tokenizer_t *tokenizer, uint32_t capacity,
                                      uint32_t chunk, void *mem, size_t bytes,
                                      megcc_generator_t **generator) {
  megcc_generator_t *g;
  layout_t l = {(uint8_t *)mem, 0, 0};
  size_t need;
  megcc_status_t status;
  if (mem == NULL || generator == NULL) return MEGCC_ERR_NULL;
  status = megcc_generator_bytes(model, context, tokenizer, capacity, chunk, &need);
  if (status != MEGCC_OK) return status;
  if (bytes < need) return MEGCC_ERR_MEMORY;
  if ((uintptr_t)mem % MEGCC_ALIGNMENT != 0) return MEGCC_ERR_ALIGNMENT;
  g = (megcc_generator_t *)take(&l, 1, sizeof *g);
  status = prepare(g, model, context, tokenizer, capacity, chunk);
  if (status == MEGCC_OK) status = find_ports(g, NULL);
  g->cache = (cache_t *)take(&l, g->n_caches, sizeof *g->cache);
  if (status == MEGCC_OK) status = find_ports(g, g->cache);
  if (status == MEGCC_OK) status = measure(g, g->cache);
  if (status != MEGCC_OK) return status;
  lay_out(g, &l);
  *generator = g;
  return MEGCC_OK;
}

// ---- the sequence ----------------------------------------------------------------------------

uint32_t megcc_generator_capacity(const megcc_generator_t *g) { return g->capacity; }
uint32_t megcc_generator_length(const megcc_generator_t *g) { return g->length; }
const int32_t *megcc_generator_tokens(const megcc_generator_t *g) { return g->tokens; }

static void move_down(uint8_t *to, const uint8_t *from, size_t bytes) {
  size_t i;
  for (i = 0; i < bytes; ++i) to[i] = from[i];
}

megcc_status_t megcc_generator_rewind(megcc_generator_t *g, uint32_t length) {
  uint32_t i, h;
  if (g == NULL) return MEGCC_ERR_NULL;
  if (length > g->length) return MEGCC_ERR_SIZE;
  if (length == g->length) return MEGCC_OK;
  for (i = 0; i < g->n_caches; ++i) {
    const cache_t *const c = g->cache + i;
    uint8_t *const data = c->set[g->past];
    if (c->rows > 0) continue;  // each head's rows stay where they are
    for (h = 1; h < c->heads; ++h) {
      move_down(data + (size_t)h * length * c->row_bytes,
                data + (size_t)h * g->length * c->row_bytes, length * c->row_bytes);
    }
  }
  g->length = length;
  g->has_logits = 0;
  return MEGCC_OK;
}

// Past and present of a run on `count` tokens: the only place that knows that they are two.
static megcc_status_t bind_caches(const megcc_generator_t *g, uint32_t count) {
  megcc_status_t status = MEGCC_OK;
  uint32_t i;
  for (i = 0; status == MEGCC_OK && i < g->n_caches; ++i) {
    const cache_t *const c = g->cache + i;
    const size_t head = c->heads * c->row_bytes;
    const size_t past = c->rows > 0 ? c->rows : g->length;
    const size_t present = c->rows > 0 ? c->rows : g->length + count;
    status = megcc_bind_input(g->context, c->input, c->set[g->past], past * head);
    if (status == MEGCC_OK) {
      status = megcc_bind_output(g->context, c->output, c->set[!g->past], present * head);
    }
  }
  return status;
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
  megcc_tensor_info_t info;
  megcc_status_t status;
  size_t arena;
  uint32_t i;
  for (i = 0; i < count; ++i) {
    put(g, g->id_data, i, tokens[i]);
    put(g, g->position_data, i, (int32_t)(g->length + i));
  }
  for (i = 0; i < g->length + count; ++i) put(g, g->mask_data, i, 1);
  status = megcc_arena_bytes(g->context, &arena);
  if (status == MEGCC_OK && arena > g->arena_bytes) status = MEGCC_ERR_MEMORY;
  if (status == MEGCC_OK) status = megcc_set_arena(g->context, g->arena, g->arena_bytes);
  if (status == MEGCC_OK) status = megcc_output_info(g->context, g->logits, &info);
  if (status == MEGCC_OK && info.bytes > g->logits_bytes) status = MEGCC_ERR_MEMORY;
  if (status == MEGCC_OK) {
    status = megcc_bind_output(g->context, g->logits, g->logits_data, info.bytes);
  }
  if (status == MEGCC_OK) status = megcc_bind_input(g->context, g->ids, g->id_data, id * count);
  if (status == MEGCC_OK) {
    status = megcc_bind_input(g->context, g->mask, g->mask_data, id * (g->length + count));
  }
  if (status == MEGCC_OK && g->positions != UINT32_MAX) {
    status = megcc_bind_input(g->context, g->positions, g->position_data, id * count);
  }
  return status == MEGCC_OK ? bind_caches(g, count) : status;
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

// Keeps the logits of the latest token: those of the last row.
static megcc_status_t keep_logits(megcc_generator_t *g) {
  const size_t size = megcc_dtype_bytes(g->logits_type);
  const uint8_t *row;
  megcc_tensor_info_t info;
  const megcc_status_t status = megcc_output_info(g->context, g->logits, &info);
  uint32_t i;
  if (status != MEGCC_OK) return status;
  if (info.bytes < size * g->vocabulary) return MEGCC_ERR_SHAPE;
  row = g->logits_data + info.bytes - size * g->vocabulary;
  for (i = 0; i < g->vocabulary; ++i) {
    union {
      uint32_t u;
      float f;
      uint16_t h[2];
    } v;
    v.u = 0;
    megcc_t_copy(&v, row + size * i, size);
    if (g->logits_type == MEGCC_BF16) v.u <<= 16;
    g->latest[i] = g->logits_type == MEGCC_F16 ? of_half((uint16_t)v.u) : v.f;
  }
  g->has_logits = 1;
  return MEGCC_OK;
}

static megcc_status_t run(megcc_generator_t *g, const int32_t *tokens, uint32_t count) {
  megcc_status_t status = set_shapes(g, g->cache, count, g->length);
  uint32_t i;
  if (status == MEGCC_OK) status = bind(g, tokens, count);
  if (status == MEGCC_OK) status = megcc_run(g->context);
  if (status == MEGCC_OK) status = keep_logits(g);
  if (status != MEGCC_OK) return status;
  for (i = 0; i < count; ++i) g->tokens[g->length + i] = tokens[i];
  g->length += count;
  g->past = !g->past;
  return MEGCC_OK;
}

// Number of tokens: logits beyond are padding.
static uint32_t known(const megcc_generator_t *g) {
  return g->tokenizer != NULL ? megcc_tokenizer_count(g->tokenizer) : g->vocabulary;
}

static megcc_status_t check(const megcc_generator_t *g, const int32_t *tokens, size_t count) {
  size_t i;
  for (i = 0; i < count; ++i) {
    if (tokens[i] < 0 || (uint32_t)tokens[i] >= known(g)) return MEGCC_ERR_INDEX;
  }
  return MEGCC_OK;
}

megcc_status_t megcc_generator_append(megcc_generator_t *g, const int32_t *tokens, size_t count) {
  megcc_status_t status;
  uint32_t before;
  size_t done = 0;
  if (g == NULL || (tokens == NULL && count > 0)) return MEGCC_ERR_NULL;
  if (count > g->capacity - g->length) return MEGCC_ERR_SIZE;
  status = check(g, tokens, count);
  before = g->length;
  while (status == MEGCC_OK && done < count) {
    const size_t left = count - done;
    const uint32_t now = left < g->chunk ? (uint32_t)left : g->chunk;
    status = run(g, tokens + done, now);
    done += now;
  }
  if (status != MEGCC_OK && g->length > before) (void)megcc_generator_rewind(g, before);
  return status;
}

megcc_status_t megcc_generator_logits(megcc_generator_t *g, const float **logits, uint32_t *count) {
  if (g == NULL || logits == NULL || count == NULL) return MEGCC_ERR_NULL;
  if (!g->has_logits) return MEGCC_ERR_NOT_RUN;
  *logits = g->latest;
  *count = g->vocabulary;
  return MEGCC_OK;
}

megcc_status_t megcc_generator_next(megcc_generator_t *g, megcc_sampler_t *sampler,
                                    int32_t *token) {
  uint32_t count;
  if (g == NULL) return MEGCC_ERR_NULL;
  if (!g->has_logits) return MEGCC_ERR_NOT_RUN;
  count = known(g);
  return megcc_sample(sampler, g->latest, count, g->tokens, g->length, g->work,
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
  if (what->prompt_count == 0 || what->prompt_count > g->capacity) return MEGCC_ERR_SIZE;
  status = check(g, what->prompt, what->prompt_count);
  if (status != MEGCC_OK) return status;
  // The last token is computed in any case, for its logits.
  while (kept + 1 < what->prompt_count && kept < g->length &&
         g->tokens[kept] == what->prompt[kept]) {
    ++kept;
  }
  what->kept = kept;
  what->finished = MEGCC_GENERATED_MOST;
  status = megcc_generator_rewind(g, kept);
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
    if (enough || g->length == g->capacity) {
      what->finished = enough ? MEGCC_GENERATED_CALLER : MEGCC_GENERATED_CAPACITY;
      break;
    }
    status = megcc_generator_append(g, &token, 1);
  }
  if (status == MEGCC_OK) status = give(g, what, &decoder, -1, &enough);
  return status;
}
