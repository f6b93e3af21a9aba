// op attention_cached: causal attention of new rows over the filled rows of a cache.
//
//   in    q: T [b, m, h, d]
//   in    k: T [b, g, n, d]
//   in    v: T [b, g, n, d]
//   in    before: i64 [b]
//   out   y: T [b, m, h, d]
//   fact  softcap: 0 1
//
// Row i of batch j sees rows [0, before[j] + i] of the cache, of these the last WINDOW if that is
// not 0. Heads h / g at a time share a head of the cache. Scores are SCALE * q x k, and with
// `softcap` CAP * tanh(scores / CAP); the softmax is along the rows that are seen. `before` is
// limited to 0 and N - M; without room for M rows y is not written.
#ifndef MEGCC_OP_ATTENTION_CACHED_H
#define MEGCC_OP_ATTENTION_CACHED_H
enum {
  ATTENTION_CACHED_B,
  ATTENTION_CACHED_M,
  ATTENTION_CACHED_H,
  ATTENTION_CACHED_G,  // heads of the cache
  ATTENTION_CACHED_N,
  ATTENTION_CACHED_D,
  ATTENTION_CACHED_WINDOW,
  ATTENTION_CACHED_SCALE,  // float bits
  ATTENTION_CACHED_CAP,    // float bits
  ATTENTION_CACHED_ATTRS
};
#endif  // MEGCC_OP_ATTENTION_CACHED_H
