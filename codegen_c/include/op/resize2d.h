// op resize2d: sampling of an image on another grid, as ONNX Resize says.
//
//   in    x: T [n, c, h, w]
//   out   y: T [n, c, oh, ow]
//   fact  nchw: 0 1
//   fact  mode: RESIZE2D_NEAREST RESIZE2D_LINEAR
//   fact  coord: RESIZE2D_HALF_PIXEL RESIZE2D_ALIGN_CORNERS RESIZE2D_ASYMMETRIC
//   fact  coord: RESIZE2D_PYTORCH_HALF_PIXEL
//   fact  round: RESIZE2D_FLOOR RESIZE2D_CEIL RESIZE2D_PREFER_FLOOR RESIZE2D_PREFER_CEIL
//
// Channels come last unless `nchw` is 1.
//
// COORD is how output coordinate o becomes an input coordinate: HALF_PIXEL (o + 0.5) / scale - 0.5,
// ALIGN_CORNERS o * (in - 1) / (out - 1), ASYMMETRIC o / scale, PYTORCH_HALF_PIXEL as HALF_PIXEL
// but 0 where out is 1. ROUND is how NEAREST rounds it: FLOOR, CEIL, or to the nearest with halves
// going down (PREFER_FLOOR) or up (PREFER_CEIL).
#ifndef MEGCC_OP_RESIZE2D_H
#define MEGCC_OP_RESIZE2D_H
#define RESIZE2D_NEAREST 0
#define RESIZE2D_LINEAR 1
#define RESIZE2D_HALF_PIXEL 0
#define RESIZE2D_ALIGN_CORNERS 1
#define RESIZE2D_ASYMMETRIC 2
#define RESIZE2D_PYTORCH_HALF_PIXEL 3
#define RESIZE2D_FLOOR 0
#define RESIZE2D_CEIL 1
#define RESIZE2D_PREFER_FLOOR 2
#define RESIZE2D_PREFER_CEIL 3
enum {
  RESIZE2D_N,
  RESIZE2D_C,
  RESIZE2D_H,
  RESIZE2D_W,
  RESIZE2D_OH,
  RESIZE2D_OW,
  RESIZE2D_SCALE_H,  // float bits: output rows over input rows; 0.0 is OH / H
  RESIZE2D_SCALE_W,  // float bits: the same of columns
  RESIZE2D_COORD,    // RESIZE2D_HALF_PIXEL, ...
  RESIZE2D_ROUND,    // RESIZE2D_FLOOR, ...
  RESIZE2D_ATTRS
};
#endif  // MEGCC_OP_RESIZE2D_H
