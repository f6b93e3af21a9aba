// op attention_cached: causal attention of new rows over the filled rows of a cache.
//
//   in    q: T [b, m, h, d]
//   in    k: C [b, g, n, row]
//   in    v: C [b, g, n, row]
//   in    before: i64 [b]
//   in    bias: f32 [b if bias_b else 1, h if bias_h else 1, m, bias_n] if bias
//   in    sinks: f32 [h] if sinks
//   out   y: T [b, m, h, d]
//   fact  softcap: 0 1
//   fact  bias: 0 1
//   fact  sinks: 0 1
//
// Row i of batch j sees rows [0, before[j] + i] of the cache, of these the last WINDOW if that is
// not 0. Heads h / g at a time share a head of the cache. Scores are SCALE * q x k, and with
// `softcap` CAP * tanh(scores / CAP), then plus `bias`; the softmax is along the rows that are
// seen. A sink is one more score of a head, whose exponential is in the sum alone. `before` is
// limited to 0 and N - M, with `bias` also to BIAS_N - M; without room for M rows y is not written.
//
// A row of k and v is d elements, of i8 d numbers and in 4 more bytes, as a float, the factor of
// all of them (cache_append.h).
#ifndef MEGCC_OP_ATTENTION_CACHED_H
#define MEGCC_OP_ATTENTION_CACHED_H
enum {
  ATTENTION_CACHED_B,
  ATTENTION_CACHED_M,
  ATTENTION_CACHED_H,
  ATTENTION_CACHED_G,  // heads of the cache
  ATTENTION_CACHED_N,
  ATTENTION_CACHED_D,
  ATTENTION_CACHED_ROW,  // elements of a row of the cache
  ATTENTION_CACHED_WINDOW,
  ATTENTION_CACHED_SCALE,  // float bits
  ATTENTION_CACHED_CAP,    // float bits
  ATTENTION_CACHED_BIAS_N,
  ATTENTION_CACHED_BIAS_B,  // 0: one for all batches
  ATTENTION_CACHED_BIAS_H,  // 0: one for all heads
  ATTENTION_CACHED_SINKS,
  ATTENTION_CACHED_ATTRS
};
#endif  // MEGCC_OP_ATTENTION_CACHED_H
