/// megcc_generate.h: a language model that goes on with a text, token by token. In packages made by
/// `tvmc compile --generate`.
///
/// For models with the ports that onnxruntime-genai's builder and optimum give a decoder:
/// `input_ids`, `attention_mask`, `position_ids` (where there is one), `past_key_values.N.key` and
/// `.value` -> `logits`, `present.N.key` and `.value`; one sequence at a time. The order of calls:
///
///     megcc_model_open, megcc_context_create    as for any model
///     megcc_tokenizer_open                      for text; may be left out
///     megcc_generator_bytes, _create            with a cache; the context is the generator's then
///     megcc_generate                            any number of times
///
/// `megcc_cache.h` has what can be done with the sequence: rewind, copy, save, load.
#ifndef MEGCC_GENERATE_H
#define MEGCC_GENERATE_H

#include "megcc_cache.h"
#include "megcc_sampler.h"
#include "megcc_tokenizer.h"

#ifdef __cplusplus
extern "C" {
#endif

/// A model that appends to a sequence of tokens.
typedef struct megcc_generator megcc_generator_t;

/// Bytes of the memory that `megcc_generator_create` needs, for sequences of at most `capacity`
/// tokens of which at most `chunk` are computed in one run. A larger chunk computes a prompt faster
/// and takes more memory. `tokenizer` may be null.
///
/// MEGCC_ERR_NAME: the model lacks a port. MEGCC_ERR_SHAPE: a port's shape is not that of a
/// decoder, or the model takes no sequence so long. MEGCC_ERR_DATA: the tokenizer is that of
/// another model.
MEGCC_API megcc_status_t megcc_generator_bytes(const megcc_model_t *model, megcc_context_t *context,
                                               const megcc_tokenizer_t *tokenizer,
                                               uint32_t capacity, uint32_t chunk, size_t *bytes);

/// Makes a generator in `mem`, aligned to MEGCC_ALIGNMENT. The model, the context, the tokenizer
/// and `mem` must stay where they are, and the context does no runs of others.
MEGCC_API megcc_status_t megcc_generator_create(const megcc_model_t *model,
                                                megcc_context_t *context,
                                                const megcc_tokenizer_t *tokenizer,
                                                uint32_t capacity, uint32_t chunk, void *mem,
                                                size_t bytes, megcc_generator_t **generator);

/// The sequence: that of the generator itself, until another one is used.
MEGCC_API megcc_cache_t *megcc_generator_cache(megcc_generator_t *generator);

/// Goes on with another sequence from now on; the generator's own one stays as it is. The caches of
/// many sequences thus share a context and an arena. MEGCC_ERR_DATA: it is of another package.
/// MEGCC_ERR_SIZE: its capacity is another one.
MEGCC_API megcc_status_t megcc_generator_use(megcc_generator_t *generator, megcc_cache_t *cache);

/// Appends tokens to the sequence. MEGCC_ERR_SIZE: there is no room for them. MEGCC_ERR_INDEX: one
/// is outside of the vocabulary. After an error the sequence is as it was before.
MEGCC_API megcc_status_t megcc_generator_append(megcc_generator_t *generator, const int32_t *tokens,
                                                size_t count);

/// The logits behind the latest token, until the next call. MEGCC_ERR_NOT_RUN: nothing was appended
/// since the sequence was empty, rewound, replaced or exchanged.
MEGCC_API megcc_status_t megcc_generator_logits(megcc_generator_t *generator, const float **logits,
                                                uint32_t *count);

/// Draws a token behind the latest one, without appending it. MEGCC_ERR_NOT_RUN as above; others
/// are those of megcc_sample. A token that the tokenizer does not have is never drawn.
MEGCC_API megcc_status_t megcc_generator_next(megcc_generator_t *generator,
                                              megcc_sampler_t *sampler, int32_t *token);

/// Why a generation ended.
typedef enum megcc_generated {
  MEGCC_GENERATED_MOST,      // there are as many tokens as wanted
  MEGCC_GENERATED_STOP,      // a stop token was drawn, which is not given to the callback
  MEGCC_GENERATED_CAPACITY,  // the sequence has no room for more
  MEGCC_GENERATED_CALLER     // the callback did not want more
} megcc_generated_t;

/// Takes a token, and the characters that it completes (none, or several; not ended by a 0). Called
/// with the token -1 at the end, where a character has begun that does not end. Not 0: it is
/// enough.
typedef int (*megcc_token_fn)(void *user, int32_t token, const char *text, size_t bytes);

/// What is generated.
typedef struct megcc_generation {
  const int32_t *prompt;
  size_t prompt_count;
  uint32_t most;         ///< tokens behind the prompt
  const int32_t *stops;  ///< tokens that end it; may be null
  size_t stop_count;
  megcc_token_fn take;  ///< may be null
  void *user;
  uint32_t kept;               ///< out: tokens of the prompt that the sequence began with already
  megcc_generated_t finished;  ///< out
} megcc_generation_t;

/// Goes on with a prompt. What the sequence and the prompt have in common at their beginnings is
/// not computed again, so a conversation is a prompt that grows.
///
/// MEGCC_ERR_SIZE: the prompt is empty, or longer than the capacity. MEGCC_ERR_INDEX: it has a
/// token outside of the vocabulary. The sequence is then as it was before the call.
MEGCC_API megcc_status_t megcc_generate(megcc_generator_t *generator, megcc_sampler_t *sampler,
                                        megcc_generation_t *generation);

#ifdef __cplusplus
}
#endif

#endif  // MEGCC_GENERATE_H
