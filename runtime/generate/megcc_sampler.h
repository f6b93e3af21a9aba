/// megcc_sampler.h: the next token of a language model, drawn from its logits. In packages made by
/// `tvmc compile --generate`.
///
/// Equal logits, settings and seeds give equal tokens on all machines: probabilities are integers,
/// and floats are only compared, or multiplied or divided once.
#ifndef MEGCC_SAMPLER_H
#define MEGCC_SAMPLER_H

#include "megcc.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Settings, in the order in which they act, and the state of the random numbers. Zeros (but for
/// `repetition_penalty` and `top_p`, where 0 stands for 1, too) change nothing: the token with the
/// largest logit is taken, of equal ones the first.
typedef struct megcc_sampler {
  float repetition_penalty;  ///< logits of tokens that were: divided by it above 0, else multiplied
  float temperature;         ///< 0: the largest logit; else logits are divided by it, 0.001 to 1000
  int32_t top_k;             ///< the so many most likely tokens; 0: all
  float top_p;               ///< the fewest of them that have this probability together; 1: all
  float min_p;               ///< those with so much of the most likely one's probability; 0: all
  uint64_t seed;             ///< of the random numbers
  uint64_t draws;            ///< number of the next draw: 0 at first
} megcc_sampler_t;

/// Bytes of the memory that `megcc_sample` needs for so many logits.
MEGCC_API size_t megcc_sample_bytes(uint32_t count);

/// Draws a token from `count` logits. `history` are the tokens that were, for the penalty.
///
/// MEGCC_ERR_DATA: a setting is out of range, or a logit is NaN or infinite (minus infinity stands
/// for a token that must not come). MEGCC_ERR_INDEX: a token of the history has no logit.
/// MEGCC_ERR_MEMORY: `work`, aligned for a float, is too small. The state is then as before.
MEGCC_API megcc_status_t megcc_sample(megcc_sampler_t *sampler, const float *logits, uint32_t count,
                                      const int32_t *history, size_t history_count, void *work,
                                      size_t work_bytes, int32_t *token);

#ifdef __cplusplus
}
#endif

#endif  // MEGCC_SAMPLER_H
