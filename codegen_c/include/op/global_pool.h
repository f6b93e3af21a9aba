// op global_pool: max or average over all pixels, channels last.
//
//   in    x: X [n, hw, c]
//   out   y: Y [n, c]
//   fact  func: GLOBAL_POOL_*
#ifndef MEGCC_OP_GLOBAL_POOL_H
#define MEGCC_OP_GLOBAL_POOL_H
#define GLOBAL_POOL_MAX 0
#define GLOBAL_POOL_AVG 1
enum {
  GLOBAL_POOL_N,
  GLOBAL_POOL_HW,  // pixels of an image
  GLOBAL_POOL_C,
  GLOBAL_POOL_ATTRS
};
#endif  // MEGCC_OP_GLOBAL_POOL_H
