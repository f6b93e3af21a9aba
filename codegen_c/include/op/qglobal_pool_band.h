// op qglobal_pool_band: qpool2d over all pixels, a band of rows at a time, channels last.
//
//   in    x: X [hw, c]
//   in    before: i32 [c]
//   out   after: i32 [c]
//   out   y: Y [c]
//   fact  func: QPOOL2D_*
//
// `x` is HW pixels of an image of TOTAL, from number FIRST on. `after` is the sum of the pixels so
// far less their zero points, which the call of the next band gets as `before`; the first band's
// has nothing. Behind the last band `y` is the result of op/qpool2d.h, to the bit; before, that of
// the pixels so far.
#ifndef MEGCC_OP_QGLOBAL_POOL_BAND_H
#define MEGCC_OP_QGLOBAL_POOL_BAND_H
#include "op/qpool2d.h"
enum {
  QGLOBAL_POOL_BAND_HW,  // pixels of the band
  QGLOBAL_POOL_BAND_C,
  QGLOBAL_POOL_BAND_FIRST,   // pixels of the image before the band's
  QGLOBAL_POOL_BAND_TOTAL,   // pixels of the image
  QGLOBAL_POOL_BAND_X_ZERO,  // these as in op/qpool2d.h
  QGLOBAL_POOL_BAND_Y_ZERO,
  QGLOBAL_POOL_BAND_LOW,
  QGLOBAL_POOL_BAND_HIGH,
  QGLOBAL_POOL_BAND_SCALE,
  QGLOBAL_POOL_BAND_OFFSET,
  QGLOBAL_POOL_BAND_ATTRS
};
#endif  // MEGCC_OP_QGLOBAL_POOL_BAND_H
