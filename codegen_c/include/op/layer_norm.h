// op layer_norm: y = (x - mean) / sqrt(variance + EPS) * scale + bias over the last INNER elements.
//
//   inputs   x[OUTER, INNER], scale[INNER] only when fact `scale` is 1, bias[INNER] only when fact
//            `bias` is 1
//   outputs  y[OUTER, INNER]; may be the memory of x
//   facts    dtype, every attribute below in lower case, scale, bias, rms (1: no mean is subtracted
//            and the mean square takes the place of the variance)
#ifndef MEGCC_OP_LAYER_NORM_H
#define MEGCC_OP_LAYER_NORM_H
enum {
  LAYER_NORM_OUTER,
  LAYER_NORM_INNER,
  LAYER_NORM_EPS,  // float bits
  LAYER_NORM_ATTRS
};
#endif  // MEGCC_OP_LAYER_NORM_H
