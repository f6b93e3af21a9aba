/// megcc_cache.h: what a language model remembers of a sequence of tokens. In packages made by
/// `tvmc compile --generate`.
///
/// For models whose inputs `past_key_values.N.key` and `.value` become the outputs `present.N.key`
/// and `.value`; one sequence in each cache. All caches of a model share its weights, and a context
/// can go from one to another: what a run needs of it is bound before the run.
#ifndef MEGCC_CACHE_H
#define MEGCC_CACHE_H

#include "megcc.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Keys and values of a sequence of tokens, and the tokens.
typedef struct megcc_cache megcc_cache_t;

/// Bytes of the memory that `megcc_cache_create` needs, for at most `capacity` tokens. Where past
/// and present are states (`tvmc compile --state`) there is one set of keys and values, and a run
/// appends to it; else there are two, which change places after each run.
///
/// MEGCC_ERR_NAME: the model lacks a port. MEGCC_ERR_SHAPE: a port's shape is not that of a cache,
/// or the model takes no sequence so long. MEGCC_ERR_SIZE: the capacity is 0, or above 2^31 - 1.
MEGCC_API megcc_status_t megcc_cache_bytes(const megcc_model_t *model, megcc_context_t *context,
                                           uint32_t capacity, size_t *bytes);

/// Makes an empty cache in `mem`, aligned to MEGCC_ALIGNMENT. The model and `mem` must stay where
/// they are; `context` is asked for shapes only.
MEGCC_API megcc_status_t megcc_cache_create(const megcc_model_t *model, megcc_context_t *context,
                                            uint32_t capacity, void *mem, size_t bytes,
                                            megcc_cache_t **cache);

/// Most tokens of the sequence, how many there are, and which.
MEGCC_API uint32_t megcc_cache_capacity(const megcc_cache_t *cache);
MEGCC_API uint32_t megcc_cache_length(const megcc_cache_t *cache);
MEGCC_API const int32_t *megcc_cache_tokens(const megcc_cache_t *cache);

/// Forgets all tokens but the first `length`. MEGCC_ERR_SIZE: there are not as many.
MEGCC_API megcc_status_t megcc_cache_rewind(megcc_cache_t *cache, uint32_t length);

/// Replaces a sequence by the first `length` tokens of another one of the same package.
/// MEGCC_ERR_SIZE: there are not as many, or no room for them. MEGCC_ERR_DATA: they are of another
/// package. After an error the sequence is as it was before.
MEGCC_API megcc_status_t megcc_cache_copy(megcc_cache_t *cache, const megcc_cache_t *from,
                                          uint32_t length);

/// Bytes of the first `length` tokens when they are saved. MEGCC_ERR_SIZE: there are not as many.
MEGCC_API megcc_status_t megcc_cache_saved_bytes(const megcc_cache_t *cache, uint32_t length,
                                                 size_t *bytes);

/// Writes the first `length` tokens, with their keys and values and a digest of the program, to
/// `data`. MEGCC_ERR_SIZE: there are not as many. MEGCC_ERR_MEMORY: there is no room for them.
MEGCC_API megcc_status_t megcc_cache_save(const megcc_cache_t *cache, uint32_t length, void *data,
                                          size_t bytes);

/// Replaces a sequence by a saved one. All is checked before anything is written, so after an error
/// the sequence is as it was before.
///
/// MEGCC_ERR_DATA: it was saved by another package, or another machine's program of this one.
/// MEGCC_ERR_SIZE: it has more tokens than the capacity. MEGCC_ERR_INDEX: a token is outside of the
/// vocabulary. MEGCC_ERR_TRUNCATED, _MAGIC, _VERSION, _CHECKSUM, _CORRUPT: this is no saved
/// sequence, or not all of one.
MEGCC_API megcc_status_t megcc_cache_load(megcc_cache_t *cache, const void *data, size_t bytes);

/// For loops of your own: shapes and memory of past and present, for a run on `count` more tokens.
/// The other inputs must have their shapes. MEGCC_ERR_SIZE: there is no room for the tokens.
MEGCC_API megcc_status_t megcc_cache_bind(const megcc_cache_t *cache, megcc_context_t *context,
                                          uint32_t count);

/// For loops of your own: the tokens of the run that was bound, after it. MEGCC_ERR_SIZE: there is
/// no room for them. MEGCC_ERR_INDEX: one is outside of the vocabulary.
MEGCC_API megcc_status_t megcc_cache_append(megcc_cache_t *cache, const int32_t *tokens,
                                            uint32_t count);

#ifdef __cplusplus
}
#endif

#endif  // MEGCC_CACHE_H
