// op pad: x with A elements before and Z elements behind along every axis, up to 8 axes.
//
//   in    x: T [d0..d7]
//   out   y: T [size]
//   fact  mode: PAD_*
//
// A shorter shape is padded in front with ones (A 0, Z 0); y is [A0 + D0 + Z0, ..., A7 + D7 + Z7].
//
// CONSTANT fills with the element whose low and high 32 bits are VALUE_LO and VALUE_HI (a float
// fact gives the bits of an f32). EDGE repeats the outermost element, REFLECT mirrors without
// repeating it, WRAP starts again from the other side. A and Z may be negative, which cuts.
#ifndef MEGCC_OP_PAD_H
#define MEGCC_OP_PAD_H
#define PAD_CONSTANT 0
#define PAD_EDGE 1
#define PAD_REFLECT 2
#define PAD_WRAP 3
enum {
  PAD_SIZE,
  PAD_D0,
  PAD_D7 = PAD_D0 + 7,
  PAD_A0,
  PAD_A7 = PAD_A0 + 7,
  PAD_Z0,
  PAD_Z7 = PAD_Z0 + 7,
  PAD_VALUE_LO,
  PAD_VALUE_HI,
  PAD_ATTRS
};
#endif  // MEGCC_OP_PAD_H
