// op cache_append: y = past, where rows [before[i], before[i] + S) of each head of batch i are x.
//
//   in    x: T [b, s, h, row_bytes // sizeof(T)]
//   in    before: i64 [b]
//   in    past: T [b, h, p, row_bytes // sizeof(T)]
//   out   y: T [b, h, n, row_bytes // sizeof(T)]
//
// Rows that past does not have are 0. `before` is limited to 0, to N - S and to P; without room for
// S rows y is past.
#ifndef MEGCC_OP_CACHE_APPEND_H
#define MEGCC_OP_CACHE_APPEND_H
enum {
  CACHE_APPEND_B,
  CACHE_APPEND_S,  // new rows
  CACHE_APPEND_H,
  CACHE_APPEND_P,  // rows of past
  CACHE_APPEND_N,  // rows of y
  CACHE_APPEND_ROW_BYTES,
  CACHE_APPEND_ATTRS
};
#endif  // MEGCC_OP_CACHE_APPEND_H
