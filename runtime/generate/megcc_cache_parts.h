// Parts of a cache that megcc_generate.c needs, too. Not for applications.
#ifndef MEGCC_CACHE_PARTS_H
#define MEGCC_CACHE_PARTS_H

#include "megcc_cache.h"

// Past and present of the keys, or of the values, of a layer.
typedef struct megcc_cache_pair {
  uint32_t input, output;  // their numbers
  uint32_t heads, rows;    // rows: of a past that has always as many; else 0
  uint32_t one_memory;     // they are a state
  size_t row_bytes;        // of one head and token
  uint8_t *set[2];         // the past is that of megcc_cache_t::past; equal in one memory
} megcc_cache_pair_t;

enum { MEGCC_CACHE_MOST_PAIRS = 256 };

struct megcc_cache {
  const megcc_model_t *model;
  uint32_t capacity, length;
  uint32_t past;        // which set of a pair is the past
  uint32_t changes;     // counts what changes the sequence
  uint32_t vocabulary;  // tokens are below
  uint32_t n_pairs;
  int32_t *tokens;
  megcc_cache_pair_t *pair;
};

// Pieces of the caller's memory, each aligned; `mem` is null where they are only counted.
typedef struct megcc_pieces {
  uint8_t *mem;
  size_t bytes;
  int too_much;
} megcc_pieces_t;

void *megcc_piece(megcc_pieces_t *p, size_t count, size_t size);

int megcc_begins_with(const char *text, const char *with);

// Looks at a model's ports; the cache's pairs are those of `pairs`, and it has no memory.
megcc_status_t megcc_cache_find(megcc_cache_t *cache, const megcc_model_t *model,
                                megcc_context_t *context, uint32_t capacity,
                                megcc_cache_pair_t pairs[MEGCC_CACHE_MOST_PAIRS]);

// A cache that was found, in pieces of memory; null where they are only counted.
megcc_cache_t *megcc_cache_place(const megcc_cache_t *found, megcc_pieces_t *p);

// Tells the model how long a past is.
megcc_status_t megcc_cache_set_shapes(const megcc_cache_t *cache, megcc_context_t *context,
                                      uint32_t past);

megcc_status_t megcc_cache_check(const megcc_cache_t *cache, const int32_t *tokens, size_t count);

// Whether two caches are of one program, with equal pairs.
int megcc_cache_alike(const megcc_cache_t *a, const megcc_cache_t *b);

#endif  // MEGCC_CACHE_PARTS_H
