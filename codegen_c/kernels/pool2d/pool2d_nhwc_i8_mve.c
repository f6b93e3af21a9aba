// kernel: pool2d_nhwc_i8_mve T=i8
// like: pool2d_nhwc_i8
// arch: cortexm
// isa: mve
// rank: 10
//
// The largest byte of every window: 16 channels at a time stay in a register over all taps.
#include <arm_mve.h>

#include "megcc_requant.h"
#include "op/pool2d.h"

#define MEGCC_POOL(name) POOL2D_##name
#include "megcc_pool8.h"

MEGCC_INLINE uint8x16_t megcc_pool8_larger(uint8x16_t a, uint8x16_t b) {
  if (MEGCC_IS_UNSIGNED(T)) return vmaxq_u8(a, b);
  return vreinterpretq_u8_s8(vmaxq_s8(vreinterpretq_s8_u8(a), vreinterpretq_s8_u8(b)));
}

// Bytes that are not read are 0 in all taps, and are not written.
MEGCC_HOT static void megcc_pool8_max(const void *how, const megcc_pool8_t *t, uint8_t *dst) {
  (void)how;
  const uint8_t *src = t->src;
  for (int32_t left = t->channels; left > 0; left -= 16, src += 16, dst += 16) {
    const mve_pred16_t some = vctp8q((uint32_t)left);
    const uint8_t *line = src;
    uint8x16_t most = vldrbq_z_u8(line, some);
    for (int32_t i = 0; i < t->rows; ++i, line += t->row_step) {
      const uint8_t *p = line;
      for (int32_t j = 0; j < t->cols; ++j, p += t->col_step) {
        most = megcc_pool8_larger(most, vldrbq_z_u8(p, some));
      }
    }
    vstrbq_p_u8(dst, most, some);
  }
}

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  (void)workspace;
  megcc_pool8(ptr, attr, begin, end, megcc_pool8_max, NULL);
}
