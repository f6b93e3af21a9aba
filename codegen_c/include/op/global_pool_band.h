// op global_pool_band: max or average over all pixels, a band of rows at a time, channels last.
//
//   in    x: X [hw, c]
//   in    before: f32 [2, c]
//   out   after: f32 [2, c]
//   out   y: Y [c]
//   fact  func: GLOBAL_POOL_*
//
// `x` is HW pixels of an image of TOTAL, from number FIRST on. `after` is what the call of the next
// band gets as `before`, of the pixels so far; the first band's has nothing. Behind the last band
// `y` is the result of op/global_pool.h, to the bit; before, that of the pixels so far over TOTAL.
#ifndef MEGCC_OP_GLOBAL_POOL_BAND_H
#define MEGCC_OP_GLOBAL_POOL_BAND_H
#include "op/global_pool.h"
enum {
  GLOBAL_POOL_BAND_HW,  // pixels of the band
  GLOBAL_POOL_BAND_C,
  GLOBAL_POOL_BAND_FIRST,  // pixels of the image before the band's
  GLOBAL_POOL_BAND_TOTAL,  // pixels of the image
  GLOBAL_POOL_BAND_ATTRS
};
#endif  // MEGCC_OP_GLOBAL_POOL_BAND_H
