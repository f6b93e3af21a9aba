// Depthwise convolutions whose weights are in bf16: all of them become floats in the workspace.
#ifndef MEGCC_DW_BF16_H
#define MEGCC_DW_BF16_H

#include "megcc_epilogue.h"
#include "op/conv2d.h"
#include "simd/megcc_bf16.h"

#define MEGCC_DW_OPERANDS 5

// The operands `ptr` with the wide weights instead of those in bf16.
MEGCC_INLINE void megcc_dw_widen(void *const *ptr, const int32_t *attr, float *workspace,
                                 void **wide) {
  const size_t taps = (size_t)attr[CONV2D_KH] * (size_t)attr[CONV2D_KW];
  megcc_bf16_widen(ptr[1], workspace, taps * (size_t)attr[CONV2D_OC]);
  for (int i = 0; i < (RESIDUAL ? MEGCC_DW_OPERANDS : MEGCC_DW_OPERANDS - 1); ++i) wide[i] = ptr[i];
  wide[1] = workspace;
}

#endif  // MEGCC_DW_BF16_H
