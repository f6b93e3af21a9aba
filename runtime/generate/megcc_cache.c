// A sequence's keys and values: their ports, their memory, and what can be done with them.
//
// Where past and present are a state, a run writes its rows behind those that are there. Else they
// are two sets, which change places after each run. In both, a run that fails leaves the rows of
// the past as they were.
#include "megcc_cache_parts.h"

#include "megcc_tokenizer_image.h"
#include "megcc_vm.h"

// ---- names ---------------------------------------------------------------------------------

static size_t length_of(const char *text) {
  size_t n = 0;
  while (text[n] != 0) ++n;
  return n;
}

int megcc_begins_with(const char *text, const char *with) {
  while (*with != 0) {
    if (*text++ != *with++) return 0;
  }
  return 1;
}

static const char kPast[] = "past_key_values.";

// The number of the output present.N.key for the input past_key_values.N.key.
static megcc_status_t present_of(const megcc_model_t *model, const char *name, uint32_t *output) {
  static const char kPresent[] = "present.";
  char wanted[64];
  const char *const rest = name + sizeof kPast - 1;
  const size_t bytes = length_of(rest) + 1;
  if (sizeof kPresent - 1 + bytes > sizeof wanted) return MEGCC_ERR_NAME;
  megcc_t_copy(wanted, kPresent, sizeof kPresent - 1);
  megcc_t_copy(wanted + sizeof kPresent - 1, rest, bytes);
  return megcc_output_index(model, wanted, output);
}

// ---- ports ---------------------------------------------------------------------------------

// How many rows a past has: 0 where it may be empty, and then grows.
static uint32_t rows_of(const megcc_cache_t *cache, megcc_context_t *context,
                        const megcc_cache_pair_t *c, const megcc_tensor_info_t *past,
                        int32_t size) {
  int32_t dims[4] = {1, 0, 0, 0};
  // The dims that the port says may be those of an earlier run.
  const uint32_t said = past->dims[2] > 0 ? (uint32_t)past->dims[2] : 0;
  dims[1] = (int32_t)c->heads;
  dims[2] = c->one_memory ? (int32_t)cache->capacity : 0;
  dims[3] = size;
  if (megcc_set_input_shape(context, c->input, 4, dims) == MEGCC_OK) return (uint32_t)dims[2];
  return said;
}

// A pair of ports: [1, heads, rows, size of a head].
static megcc_status_t find_pair(const megcc_cache_t *cache, megcc_context_t *context,
                                uint32_t input, megcc_cache_pair_t *c) {
  megcc_tensor_info_t past, present;
  megcc_status_t status = megcc_input_info(context, input, &past);
  uint32_t output;
  int32_t heads, size;
  c->input = input;
  c->set[0] = c->set[1] = NULL;
  if (status == MEGCC_OK) status = present_of(cache->model, past.name, &c->output);
  if (status == MEGCC_OK) status = megcc_output_info(context, c->output, &present);
  if (status != MEGCC_OK) return status;
  c->one_memory = megcc_state_output(cache->model, input, &output) == MEGCC_OK;
  if (c->one_memory && output != c->output) return MEGCC_ERR_SHAPE;
  if (past.rank != 4 || present.rank != 4 || past.dtype != present.dtype) return MEGCC_ERR_SHAPE;
  // A dim that only one of both says is that of the other, too.
  heads = past.dims[1] > 0 ? past.dims[1] : present.dims[1];
  size = past.dims[3] > 0 ? past.dims[3] : present.dims[3];
  if (heads <= 0 || size <= 0) return MEGCC_ERR_SHAPE;
  c->heads = (uint32_t)heads;
  c->row_bytes = megcc_dtype_bytes(past.dtype) * (size_t)size;
  c->rows = rows_of(cache, context, c, &past, size);
  if (c->row_bytes == 0 || (c->rows > 0 && c->rows < cache->capacity)) return MEGCC_ERR_SHAPE;
  return MEGCC_OK;
}

megcc_status_t megcc_cache_find(megcc_cache_t *cache, const megcc_model_t *model,
                                megcc_context_t *context, uint32_t capacity,
                                megcc_cache_pair_t pairs[MEGCC_CACHE_MOST_PAIRS]) {
  uint32_t i, inputs, logits;
  megcc_tensor_info_t info;
  megcc_status_t status;
  if (model == NULL || context == NULL) return MEGCC_ERR_NULL;
  if (capacity == 0 || capacity > INT32_MAX) return MEGCC_ERR_SIZE;
  cache->model = model;
  cache->capacity = capacity;
  cache->length = cache->past = cache->n_pairs = 0;
  cache->changes = 1;
  cache->tokens = NULL;
  cache->pair = pairs;
  status = megcc_input_count(model, &inputs);
  for (i = 0; status == MEGCC_OK && i < inputs; ++i) {
    status = megcc_input_info(context, i, &info);
    if (status != MEGCC_OK || !megcc_begins_with(info.name, kPast)) continue;
    if (cache->n_pairs == MEGCC_CACHE_MOST_PAIRS) return MEGCC_ERR_SHAPE;
    status = find_pair(cache, context, i, pairs + cache->n_pairs++);
  }
  if (status == MEGCC_OK && cache->n_pairs == 0) status = MEGCC_ERR_NAME;
  if (status == MEGCC_OK) status = megcc_output_index(model, "logits", &logits);
  if (status == MEGCC_OK) status = megcc_output_info(context, logits, &info);
  if (status != MEGCC_OK) return status;
  if (info.rank < 2 || info.dims[info.rank - 1] <= 0) return MEGCC_ERR_SHAPE;
  cache->vocabulary = (uint32_t)info.dims[info.rank - 1];
  return MEGCC_OK;
}

megcc_status_t megcc_cache_set_shapes(const megcc_cache_t *cache, megcc_context_t *context,
                                      uint32_t past) {
  megcc_status_t status = MEGCC_OK;
  uint32_t i;
  for (i = 0; status == MEGCC_OK && i < cache->n_pairs; ++i) {
    const megcc_cache_pair_t *const c = cache->pair + i;
    megcc_tensor_info_t info;
    int32_t dims[4] = {1, 0, 0, 0};
    status = megcc_output_info(context, c->output, &info);
    dims[1] = (int32_t)c->heads;
    dims[2] = (int32_t)(c->rows > 0 ? c->rows : past);
    dims[3] = (int32_t)(c->row_bytes / megcc_dtype_bytes(info.dtype));
    if (status == MEGCC_OK) status = megcc_set_input_shape(context, c->input, 4, dims);
  }
  return status;
}

// ---- memory --------------------------------------------------------------------------------

void *megcc_piece(megcc_pieces_t *p, size_t count, size_t size) {
  uint8_t *const data = p->mem == NULL ? NULL : p->mem + p->bytes;
  const size_t most = (SIZE_MAX >> 1) - p->bytes - MEGCC_ALIGNMENT;
  if (size > 0 && count > most / size) {
    p->too_much = 1;
    return NULL;
  }
  p->bytes += (count * size + MEGCC_ALIGNMENT - 1) / MEGCC_ALIGNMENT * MEGCC_ALIGNMENT;
  return data;
}

megcc_cache_t *megcc_cache_place(const megcc_cache_t *found, megcc_pieces_t *p) {
  megcc_cache_t *const cache = (megcc_cache_t *)megcc_piece(p, 1, sizeof *cache);
  megcc_cache_pair_t *const pair =
      (megcc_cache_pair_t *)megcc_piece(p, found->n_pairs, sizeof *pair);
  int32_t *const tokens = (int32_t *)megcc_piece(p, found->capacity, sizeof *tokens);
  uint32_t i;
  for (i = 0; i < found->n_pairs; ++i) {
    megcc_cache_pair_t c = found->pair[i];
    const size_t rows = (size_t)(c.rows > 0 ? c.rows : found->capacity) * c.heads;
    c.set[0] = (uint8_t *)megcc_piece(p, rows, c.row_bytes);
    c.set[1] = c.one_memory ? c.set[0] : (uint8_t *)megcc_piece(p, rows, c.row_bytes);
    if (p->mem != NULL) pair[i] = c;
  }
  if (p->mem == NULL) return NULL;
  *cache = *found;
  cache->pair = pair;
  cache->tokens = tokens;
  return cache;
}

megcc_status_t megcc_cache_bytes(const megcc_model_t *model, megcc_context_t *context,
                                 uint32_t capacity, size_t *bytes) {
  megcc_cache_pair_t pairs[MEGCC_CACHE_MOST_PAIRS];
  megcc_pieces_t p = {NULL, 0, 0};
  megcc_cache_t found;
  megcc_status_t status;
  if (bytes == NULL) return MEGCC_ERR_NULL;
  status = megcc_cache_find(&found, model, context, capacity, pairs);
  if (status != MEGCC_OK) return status;
  (void)megcc_cache_place(&found, &p);
  if (p.too_much) return MEGCC_ERR_MEMORY;
  *bytes = p.bytes;
  return MEGCC_OK;
}

megcc_status_t megcc_cache_create(const megcc_model_t *model, megcc_context_t *context,
                                  uint32_t capacity, void *mem, size_t bytes,
                                  megcc_cache_t **cache) {
  megcc_cache_pair_t pairs[MEGCC_CACHE_MOST_PAIRS];
  megcc_pieces_t p = {(uint8_t *)mem, 0, 0};
  megcc_cache_t found;
  size_t need;
  megcc_status_t status;
  if (mem == NULL || cache == NULL) return MEGCC_ERR_NULL;
  status = megcc_cache_bytes(model, context, capacity, &need);
  if (status != MEGCC_OK) return status;
  if (bytes < need) return MEGCC_ERR_MEMORY;
  if ((uintptr_t)mem % MEGCC_ALIGNMENT != 0) return MEGCC_ERR_ALIGNMENT;
  status = megcc_cache_find(&found, model, context, capacity, pairs);
  if (status == MEGCC_OK) *cache = megcc_cache_place(&found, &p);
  return status;
}

// ---- the sequence ----------------------------------------------------------------------------

uint32_t megcc_cache_capacity(const megcc_cache_t *cache) { return cache->capacity; }
uint32_t megcc_cache_length(const megcc_cache_t *cache) { return cache->length; }
const int32_t *megcc_cache_tokens(const megcc_cache_t *cache) { return cache->tokens; }

// From one head's rows to the next one's, where the sequence has `length` tokens.
static size_t head_bytes(const megcc_cache_pair_t *c, uint32_t length) {
  return (c->rows > 0 ? c->rows : length) * c->row_bytes;
}

static void move_down(uint8_t *to, const uint8_t *from, size_t bytes) {
  size_t i;
  for (i = 0; i < bytes; ++i) to[i] = from[i];
}

megcc_status_t megcc_cache_rewind(megcc_cache_t *cache, uint32_t length) {
  uint32_t i, h;
  if (cache == NULL) return MEGCC_ERR_NULL;
  if (length > cache->length) return MEGCC_ERR_SIZE;
  if (length == cache->length) return MEGCC_OK;
  for (i = 0; i < cache->n_pairs; ++i) {
    const megcc_cache_pair_t *const c = cache->pair + i;
    uint8_t *const data = c->set[cache->past];
    if (c->rows > 0) continue;  // each head's rows stay where they are
    for (h = 1; h < c->heads; ++h) {
      move_down(data + h * head_bytes(c, length), data + h * head_bytes(c, cache->length),
                length * c->row_bytes);
    }
  }
  cache->length = length;
  ++cache->changes;
  return MEGCC_OK;
}

int megcc_cache_alike(const megcc_cache_t *a, const megcc_cache_t *b) {
  uint32_t i;
  if (a->model->program[MEGCC_H_CHECKSUM] != b->model->program[MEGCC_H_CHECKSUM] ||
      a->n_pairs != b->n_pairs) {
    return 0;
  }
  for (i = 0; i < a->n_pairs; ++i) {
    if (a->pair[i].heads != b->pair[i].heads || a->pair[i].row_bytes != b->pair[i].row_bytes) {
      return 0;
    }
  }
  return 1;
}

megcc_status_t megcc_cache_copy(megcc_cache_t *cache, const megcc_cache_t *from, uint32_t length) {
  uint32_t i, h;
  if (cache == NULL || from == NULL) return MEGCC_ERR_NULL;
  if (cache == from) return megcc_cache_rewind(cache, length);
  if (!megcc_cache_alike(cache, from)) return MEGCC_ERR_DATA;
  if (length > from->length || length > cache->capacity) return MEGCC_ERR_SIZE;
  for (i = 0; i < cache->n_pairs; ++i) {
    const megcc_cache_pair_t *const c = cache->pair + i, *const other = from->pair + i;
    for (h = 0; h < c->heads; ++h) {
      megcc_t_copy(c->set[cache->past] + h * head_bytes(c, length),
                   other->set[from->past] + h * head_bytes(other, from->length),
                   length * c->row_bytes);
    }
  }
  megcc_t_copy(cache->tokens, from->tokens, length * sizeof *cache->tokens);
  cache->length = length;
  ++cache->changes;
  return MEGCC_OK;
}

// ---- runs --------------------------------------------------------------------------------------

megcc_status_t megcc_cache_check(const megcc_cache_t *cache, const int32_t *tokens, size_t count) {
  size_t i;
  for (i = 0; i < count; ++i) {
    if (tokens[i] < 0 || (uint32_t)tokens[i] >= cache->vocabulary) return MEGCC_ERR_INDEX;
  }
  return MEGCC_OK;
}

megcc_status_t megcc_cache_bind(const megcc_cache_t *cache, megcc_context_t *context,
                                uint32_t count) {
  megcc_status_t status;
  uint32_t i;
  if (cache == NULL || context == NULL) return MEGCC_ERR_NULL;
  if (count > cache->capacity - cache->length) return MEGCC_ERR_SIZE;
  status = megcc_cache_set_shapes(cache, context, cache->length);
  for (i = 0; status == MEGCC_OK && i < cache->n_pairs; ++i) {
    const megcc_cache_pair_t *const c = cache->pair + i;
    status = megcc_bind_input(context, c->input, c->set[cache->past],
                              c->heads * head_bytes(c, cache->length));
    if (status == MEGCC_OK && !c->one_memory) {
      status = megcc_bind_output(context, c->output, c->set[!cache->past],
                                 c->heads * head_bytes(c, cache->length + count));
    }
  }
  return status;
}

megcc_status_t megcc_cache_append(megcc_cache_t *cache, const int32_t *tokens, uint32_t count) {
  megcc_status_t status;
  if (cache == NULL || (tokens == NULL && count > 0)) return MEGCC_ERR_NULL;
  if (count > cache->capacity - cache->length) return MEGCC_ERR_SIZE;
  status = megcc_cache_check(cache, tokens, count);
  if (status != MEGCC_OK) return status;
  megcc_t_copy(cache->tokens + cache->length, tokens, count * sizeof *tokens);
  cache->length += count;
  cache->past = !cache->past;
  ++cache->changes;
  return MEGCC_OK;
}

// ---- a saved sequence ------------------------------------------------------------------------

#define MAGIC 0x4B47454Du  // "MEGK"
#define VERSION 1u

// 32-bit words of this machine's byte order, then the tokens, then the rows of each pair and head.
enum {
  S_MAGIC,
  S_CHECKSUM,  // CRC-32 of everything behind this word
  S_VERSION,
  S_PROGRAM,  // checksum, kernels and bytes of the program
  S_BYTES = S_PROGRAM + 4,
  S_LENGTH = S_BYTES + 2,
  S_WORDS = 16
};

static void digest(const megcc_cache_t *cache, uint32_t words[4]) {
  const uint32_t *const h = cache->model->program;
  words[0] = h[MEGCC_H_CHECKSUM];
  words[1] = h[MEGCC_H_FINGERPRINT];
  words[2] = h[MEGCC_H_FINGERPRINT + 1];
  words[3] = h[MEGCC_H_BYTES];
}

// Bytes of `length` tokens, of a length that the cache has room for: they fit in memory.
static size_t saved_bytes(const megcc_cache_t *cache, uint32_t length) {
  size_t row = sizeof *cache->tokens;
  uint32_t i;
  for (i = 0; i < cache->n_pairs; ++i) row += cache->pair[i].heads * cache->pair[i].row_bytes;
  return S_WORDS * sizeof(uint32_t) + length * row;
}

megcc_status_t megcc_cache_saved_bytes(const megcc_cache_t *cache, uint32_t length, size_t *bytes) {
  if (cache == NULL || bytes == NULL) return MEGCC_ERR_NULL;
  if (length > cache->length) return MEGCC_ERR_SIZE;
  *bytes = saved_bytes(cache, length);
  return MEGCC_OK;
}

megcc_status_t megcc_cache_save(const megcc_cache_t *cache, uint32_t length, void *data,
                                size_t bytes) {
  uint32_t header[S_WORDS] = {MAGIC, 0, VERSION}, i, h;
  uint8_t *const begin = (uint8_t *)data;
  uint8_t *to = begin + sizeof header;
  size_t need;
  const megcc_status_t status = megcc_cache_saved_bytes(cache, length, &need);
  if (status != MEGCC_OK) return status;
  if (data == NULL) return MEGCC_ERR_NULL;
  if (bytes < need) return MEGCC_ERR_MEMORY;
  digest(cache, header + S_PROGRAM);
  header[S_BYTES] = (uint32_t)need;
  header[S_BYTES + 1] = (uint32_t)((uint64_t)need >> 32);
  header[S_LENGTH] = length;
  megcc_t_copy(begin, header, sizeof header);
  megcc_t_copy(to, cache->tokens, length * sizeof *cache->tokens);
  to += length * sizeof *cache->tokens;
  for (i = 0; i < cache->n_pairs; ++i) {
    const megcc_cache_pair_t *const c = cache->pair + i;
    for (h = 0; h < c->heads; ++h, to += length * c->row_bytes) {
      megcc_t_copy(to, c->set[cache->past] + h * head_bytes(c, cache->length),
                   length * c->row_bytes);
    }
  }
  header[S_CHECKSUM] = megcc_crc32(begin + 4 * S_VERSION, need - 4 * S_VERSION);
  megcc_t_copy(begin, header, sizeof header);
  return MEGCC_OK;
}

// What is saved in `data`, whole and of this package: the words of its header.
static megcc_status_t check_saved(const megcc_cache_t *cache, const uint8_t *data, size_t bytes,
                                  uint32_t header[S_WORDS]) {
  const size_t begin = 4 * (size_t)S_WORDS;
  uint32_t program[4], i;
  int32_t token;
  uint64_t said;
  if (bytes < begin) return MEGCC_ERR_TRUNCATED;
  megcc_t_copy(header, data, begin);
  if (header[S_MAGIC] != MAGIC) return MEGCC_ERR_MAGIC;
  if (header[S_VERSION] != VERSION) return MEGCC_ERR_VERSION;
  digest(cache, program);
  if (!megcc_t_equal(header + S_PROGRAM, program, sizeof program)) return MEGCC_ERR_DATA;
  said = header[S_BYTES] | (uint64_t)header[S_BYTES + 1] << 32;
  if (bytes < said) return MEGCC_ERR_TRUNCATED;
  if (bytes > said) return MEGCC_ERR_CORRUPT;
  if (megcc_crc32(data + 4 * S_VERSION, bytes - 4 * S_VERSION) != header[S_CHECKSUM]) {
    return MEGCC_ERR_CHECKSUM;
  }
  if (header[S_LENGTH] > cache->capacity) return MEGCC_ERR_SIZE;
  if (bytes != saved_bytes(cache, header[S_LENGTH])) return MEGCC_ERR_CORRUPT;
  for (i = 0; i < header[S_LENGTH]; ++i) {
    megcc_t_copy(&token, data + begin + i * sizeof token, sizeof token);
    if (megcc_cache_check(cache, &token, 1) != MEGCC_OK) return MEGCC_ERR_INDEX;
  }
  return MEGCC_OK;
}

megcc_status_t megcc_cache_load(megcc_cache_t *cache, const void *data, size_t bytes) {
  const uint8_t *from = (const uint8_t *)data;
  uint32_t header[S_WORDS], length, i, h;
  megcc_status_t status;
  if (cache == NULL || data == NULL) return MEGCC_ERR_NULL;
  status = check_saved(cache, from, bytes, header);
  if (status != MEGCC_OK) return status;
  length = header[S_LENGTH];
  from += sizeof header;
  megcc_t_copy(cache->tokens, from, length * sizeof *cache->tokens);
  from += length * sizeof *cache->tokens;
  for (i = 0; i < cache->n_pairs; ++i) {
    const megcc_cache_pair_t *const c = cache->pair + i;
    for (h = 0; h < c->heads; ++h, from += length * c->row_bytes) {
      megcc_t_copy(c->set[cache->past] + h * head_bytes(c, length), from, length * c->row_bytes);
    }
  }
  cache->length = length;
  ++cache->changes;
  return MEGCC_OK;
}
