// op layer_norm: y = (x - mean) / sqrt(variance + EPS) * scale + bias over the last INNER elements.
//
//   in    x: T [outer, inner]
//   in    scale: T [inner] if scale
//   in    bias: T [inner] if bias
//   out   y: T [outer, inner]
//   fact  scale: 0 1
//   fact  bias: 0 1
//   fact  rms: 0 1
//
// `rms` 1: no mean is subtracted and the mean square takes the place of the variance. y may be the
// memory of x.
#ifndef MEGCC_OP_LAYER_NORM_H
#define MEGCC_OP_LAYER_NORM_H
enum {
  LAYER_NORM_OUTER,
  LAYER_NORM_INNER,
  LAYER_NORM_EPS,  // float bits
  LAYER_NORM_ATTRS
};
#endif  // MEGCC_OP_LAYER_NORM_H
