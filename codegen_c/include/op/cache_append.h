// op cache_append: y = past, where rows [before[i], before[i] + S) of each head of batch i are x.
//
//   in    x: X [b, s, h, d]
//   in    before: i64 [b]
//   in    past: T [b, h, p, row_bytes // sizeof(T)]
//   out   y: T [b, h, n, row_bytes // sizeof(T)]
//
// Rows that past does not have are 0. `before` is limited to 0, to N - S and to P; without room for
// S rows y is past. Elements of x are rounded to the type of the cache.
//
// In i8 a row of x in f32 is D numbers and in 4 more bytes, as a float, the factor of all of them:
// max |x| / 127. Numbers are x * (127 / max |x|) in f32, to nearest, ties to even, or 0 if the
// largest is below 1e-30. In a row with one that is not finite all are 0, and the factor is NaN.
#ifndef MEGCC_OP_CACHE_APPEND_H
#define MEGCC_OP_CACHE_APPEND_H
enum {
  CACHE_APPEND_B,
  CACHE_APPEND_S,  // new rows
  CACHE_APPEND_H,
  CACHE_APPEND_P,  // rows of past
  CACHE_APPEND_N,  // rows of y
  CACHE_APPEND_ROW_BYTES,
  CACHE_APPEND_D,
  CACHE_APPEND_ATTRS
};
#endif  // MEGCC_OP_CACHE_APPEND_H
