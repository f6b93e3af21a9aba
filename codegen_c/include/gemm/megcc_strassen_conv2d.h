// conv2d of one tap at stride 1 without padding by megcc_strassen.h: pixels are rows.
#ifndef MEGCC_STRASSEN_CONV2D_H
#define MEGCC_STRASSEN_CONV2D_H

#include "gemm/megcc_strassen.h"
#include "op/conv2d.h"

MEGCC_INLINE void megcc_strassen_conv2d(void *const *ptr, const int32_t *attr, void *workspace,
                                        int32_t begin, int32_t end) {
  megcc_strassen_t s;
  s.x = ptr[0];
  s.rows = s.batch = attr[CONV2D_N] * attr[CONV2D_OH] * attr[CONV2D_OW];
  s.stride = 0;
  s.k = attr[CONV2D_IC];
  s.n = attr[CONV2D_OC];
  s.weights = ptr[1];
  s.bias = ptr[2];
  s.residual = MEGCC_RESIDUAL(ptr, 3);
  s.y = MEGCC_OUTPUT(ptr, 3);
  s.act_a = megcc_attr_f32(attr[CONV2D_ACT_A]);
  s.act_b = megcc_attr_f32(attr[CONV2D_ACT_B]);
  megcc_strassen(&s, workspace, begin, end);
}

#endif  // MEGCC_STRASSEN_CONV2D_H
