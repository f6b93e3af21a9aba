// op cast: elements converted to another type.
//
//   in    x: X [size]
//   out   y: Y [size]
//
// f32 to an integer truncates, saturates at the limits of i32 (u32 and i64: i64; u64: u64; a NaN is
// the lower limit), then wraps to a smaller type; integers wrap; to bool is x != 0.
#ifndef MEGCC_OP_CAST_H
#define MEGCC_OP_CAST_H
enum {
  CAST_SIZE,  // elements
  CAST_ATTRS
};
#endif  // MEGCC_OP_CAST_H
