// kernel: dequantize_ref X=i8
// op: dequantize
// dtype: x=i8,u8 y=f32
// arch: portable
// isa: none
// rank: 0
// params: X=X
// work: size
// cost: 4
//
// The reference. Differences are of 16 bits, of which vectors have twice as many.
#include "megcc_dtype.h"
#include "megcc_kernel.h"
#include "op/dequantize.h"

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  const MEGCC_CTYPE(X) *restrict x = ptr[0];
  float *restrict y = ptr[1];
  const int16_t zero = (int16_t)attr[DEQUANTIZE_ZERO];
  const float scale = megcc_attr_f32(attr[DEQUANTIZE_SCALE]);
  (void)workspace;
  for (int32_t i = begin; i < end; ++i) y[i] = (float)(int16_t)(x[i] - zero) * scale;
}
