// The next token: penalty, temperature, top-k, top-p, min-p, then a draw.
//
// Machines differ in exp, and in whether a product and a sum are rounded once or twice. So
// logits become integers first: 20 bits behind the point, probabilities 32.
#include "megcc_sampler.h"

enum { POINT = 20, INVERSE = 36 };
#define ONE ((uint64_t)1 << 32)           // a probability of 1
#define FARTHEST ((uint64_t)24 << POINT)  // exp(-24) is below 2^-32
#define MINUS_INFINITY (-((int64_t)1 << 46))

// A float as an integer with POINT bits behind the point, towards 0; at most 2^44.
static int64_t fixed(float value) {
  const union {
    float f;
    uint32_t u;
  } bits = {value};
  const uint32_t exponent = bits.u >> 23 & 0xFF;
  const int64_t mantissa = (int64_t)((bits.u & 0x7FFFFF) | (exponent > 0 ? 0x800000 : 0));
  // mantissa * 2^(exponent - 150)
  const int shift = (int)exponent - 150 + POINT;
  int64_t size;
  if (bits.u == 0xFF800000u) return MINUS_INFINITY;
  if (shift > 20) {
    size = (int64_t)1 << 44;
  } else if (shift >= 0) {
    size = mantissa * ((int64_t)1 << shift);
  } else {
    size = shift > -32 ? mantissa >> -shift : 0;
  }
  return bits.u >> 31 ? -size : size;
}

// Product of two numbers with 32 bits behind the point, the first at most 1, the second below 1.
static uint64_t times(uint64_t a, uint32_t b) {
  return a >= ONE ? b : ((a & 0xFFFFFFFF) * b) >> 32;
}

// exp(-distance / 2^POINT) * 2^32, to 4 units.
static uint64_t exp_of(uint64_t distance) {
  // ln(2)^n / n!, of n from 0
  static const uint32_t kTerms[] = {0,         2977044472u, 1031764991u, 238388332u,
                                    41309550u, 5726720u,    661577u,     65510u,
                                    5676u,     437u,        30u};
  uint64_t power, sum = kTerms[10];
  uint32_t fraction;
  int n;
  if (distance >= FARTHEST) return 0;
  power = distance * 1549082005u;  // log2(e) * 2^30: 50 bits behind the point
  fraction = (uint32_t)(power >> (POINT + 30 - 32));
  for (n = 9; n >= 0; --n) sum = (n > 0 ? kTerms[n] : ONE) - times(sum, fraction);
  return sum >> (power >> (POINT + 30));
}

// ---- random numbers: Philox4x32-10 (Salmon et al., SC'11), as in docs/random-numbers.md ------

static uint64_t random_of(uint64_t seed, uint64_t draw) {
  uint32_t c0 = 0, c1 = 0, c2 = (uint32_t)draw, c3 = (uint32_t)(draw >> 32);
  uint32_t k0 = (uint32_t)seed, k1 = (uint32_t)(seed >> 32);
  int round;
  for (round = 0; round < 10; ++round) {
    const uint64_t a = (uint64_t)0xD2511F53u * c0, b = (uint64_t)0xCD9E8D57u * c2;
    c0 = (uint32_t)(b >> 32) ^ c1 ^ k0;
    c1 = (uint32_t)b;
    c2 = (uint32_t)(a >> 32) ^ c3 ^ k1;
    c3 = (uint32_t)a;
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return c0 | (uint64_t)c1 << 32;
}

// The upper 64 bits of a product: a random number below `below`.
static uint64_t scaled(uint64_t random, uint64_t below) {
  const uint64_t rl = random & 0xFFFFFFFF, rh = random >> 32;
  const uint64_t bl = below & 0xFFFFFFFF, bh = below >> 32;
  const uint64_t middle = (rl * bl >> 32) + (rh * bl & 0xFFFFFFFF) + (rl * bh & 0xFFFFFFFF);
  return rh * bh + (rh * bl >> 32) + (rl * bh >> 32) + (middle >> 32);
}

// ---- tokens by their logits ------------------------------------------------------------------

#define LARGEST 3.4028234e38f

typedef struct choice {
  const float *value;  // logits after the penalty
  uint32_t *order;     // tokens: a heap of the first `waiting`, then those taken out, latest first
  uint32_t count, waiting;
  int64_t largest;
  int64_t farthest;  // from the largest logit: tokens beyond have no probability
  uint64_t inverse;  // of the temperature, INVERSE bits behind the point
} choice_t;

// Whether a token comes before another one: it has the larger logit, of equal ones the lower id.
static int comes_first(const choice_t *c, uint32_t a, uint32_t b) {
  if (c->value[a] > c->value[b]) return 1;
  return !(c->value[a] < c->value[b]) && a < b;
}

static void sink(choice_t *c, uint32_t place) {
  const uint32_t token = c->order[place];
  for (;;) {
    uint32_t child = 2 * place + 1;
    if (child >= c->waiting) break;
    if (child + 1 < c->waiting && comes_first(c, c->order[child + 1], c->order[child])) ++child;
    if (!comes_first(c, c->order[child], token)) break;
    c->order[place] = c->order[child];
    place = child;
  }
  c->order[place] = token;
}

// Takes the most likely token out of the heap, to the place that this frees.
static uint32_t take_out(choice_t *c) {
  const uint32_t token = c->order[0];
  c->order[0] = c->order[--c->waiting];
  c->order[c->waiting] = token;
  if (c->waiting > 0) sink(c, 0);
  return token;
}

// A token's probability, where that of the most likely one is 1.
static uint64_t weight(const choice_t *c, uint32_t token) {
  const int64_t distance = c->largest - fixed(c->value[token]);
  if (distance >= c->farthest) return 0;
  return exp_of((uint64_t)distance * c->inverse >> INVERSE);
}

// Whether a part of a sum has reached `share` of it (POINT bits behind the point).
static int reaches(uint64_t part, uint64_t sum, int64_t share) {
  const uint64_t low = sum & (((uint64_t)1 << POINT) - 1);
  return part >= (sum >> POINT) * (uint64_t)share + (low * (uint64_t)share >> POINT);
}

static int32_t draw(choice_t *c, const megcc_sampler_t *s) {
  const uint32_t limit =
      s->top_k > 0 && (uint32_t)s->top_k < c->count ? (uint32_t)s->top_k : c->count;
  const int has_share = s->top_p > 0 && s->top_p < 1;
  const uint64_t least = (uint64_t)fixed(s->min_p) << (32 - POINT);
  uint64_t sum = 0, part = 0, left;
  uint32_t i, first = 0;
  if (has_share && limit == c->count) {
    for (i = 0; i < c->count; ++i) sum += weight(c, i);
  }
  if (has_share || limit < c->count) {
    for (i = c->count / 2; i-- > 0;) sink(c, i);
    for (i = 0; i < limit; ++i) {
      const uint32_t token = take_out(c);
      part += weight(c, token);
      if (limit == c->count && reaches(part, sum, fixed(s->top_p))) break;
    }
    if (limit < c->count) {
      const uint32_t end = c->count - 1;
      sum = part;
      part = 0;
      // Those taken out lie at the end, the most likely one last.
      for (i = 0; has_share && i < limit; ++i) {
        part += weight(c, c->order[end - i]);
        if (!reaches(part, sum, fixed(s->top_p))) continue;
        c->waiting = end - i;
        break;
      }
    }
    first = c->waiting;
  }
  sum = 0;
  for (i = first; i < c->count; ++i) {
    const uint64_t one = weight(c, c->order[i]);
    if (one >= least) sum += one;
  }
  left = scaled(random_of(s->seed, s->draws), sum);
  for (i = c->count; i-- > first;) {
    const uint64_t one = weight(c, c->order[i]);
    if (one < least) continue;
    if (left < one) return (int32_t)c->order[i];
    left -= one;
  }
  return (int32_t)c->order[first];  // not reached: `left` was below the sum
}

size_t megcc_sample_bytes(uint32_t count) {
  return (size_t)count * (sizeof(float) + sizeof(uint32_t));
}

// The first of the largest values: 0 where one is no number, or not a finite one above 0.
static int find_largest(const float *value, uint32_t count, uint32_t *best) {
  enum { AT_ONCE = 16 };
  float top = value[0];
  uint32_t i = 0, k, end;
  int is_number = top <= LARGEST;
  *best = 0;
  while (i < count) {
    int more = 0;  // whether one of the next is larger, or no number
    end = count - i < AT_ONCE ? count : i + AT_ONCE;
    for (k = i; k < end; ++k) more |= !(value[k] <= top);
    for (k = i; more && k < end; ++k) {
      is_number &= value[k] <= LARGEST;
      if (value[k] > top) {
        top = value[k];
        *best = k;
      }
    }
    i = end;
  }
  return is_number;
}

static int is_within(float value, float least, float most) {
  return value >= least && value <= most;
}

megcc_status_t megcc_sample(megcc_sampler_t *sampler, const float *logits, uint32_t count,
                            const int32_t *history, size_t history_count, void *work,
                            size_t work_bytes, int32_t *token) {
  const float penalty = sampler == NULL ? 0 : sampler->repetition_penalty;
  const int punishes = penalty > 0 && (penalty < 1 || penalty > 1);
  float *value = (float *)work;
  uint32_t i, best = 0;
  void *behind;
  choice_t c;
  size_t k;
  if (sampler == NULL || logits == NULL || work == NULL || token == NULL ||
      (history == NULL && history_count > 0)) {
    return MEGCC_ERR_NULL;
  }
  if (work_bytes < megcc_sample_bytes(count)) return MEGCC_ERR_MEMORY;
  if ((uintptr_t)work % sizeof *value != 0) return MEGCC_ERR_ALIGNMENT;
  if (count == 0 || sampler->top_k < 0 || !is_within(sampler->top_p, 0, 1) ||
      !is_within(sampler->min_p, 0, 1) || !is_within(penalty, 0, 1000) ||
      !is_within(sampler->temperature, 0, 1000) ||
      (sampler->temperature > 0 && sampler->temperature < 0.001f)) {
    return MEGCC_ERR_DATA;
  }
  behind = value + count;
  c.order = (uint32_t *)behind;
  c.count = c.waiting = count;
  if (!find_largest(logits, count, &best)) return MEGCC_ERR_DATA;
  for (i = 0; punishes && i < count; ++i) {
    value[i] = logits[i];
    c.order[i] = 0;
  }
  for (k = 0; k < history_count; ++k) {
    const uint32_t id = (uint32_t)history[k];
    if (history[k] < 0 || id >= count) return MEGCC_ERR_INDEX;
    if (!punishes || c.order[id]) continue;
    c.order[id] = 1;
    value[id] = value[id] > 0 ? value[id] / penalty : value[id] * penalty;
  }
  c.value = punishes ? value : logits;
  if (punishes) (void)find_largest(value, count, &best);
  c.largest = fixed(c.value[best]);
  if (c.largest == MINUS_INFINITY) return MEGCC_ERR_DATA;
  if (sampler->temperature > 0) {
    const int64_t temperature = fixed(sampler->temperature);
    for (i = 0; i < count; ++i) c.order[i] = i;
    c.farthest = 24 * temperature;
    c.inverse = ((uint64_t)1 << (POINT + INVERSE)) / (uint64_t)temperature;
    best = (uint32_t)draw(&c, sampler);
    ++sampler->draws;
  }
  *token = (int32_t)best;
  return MEGCC_OK;
}
