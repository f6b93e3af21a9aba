// kernel: global_pool_nhwc_f32 FUNC=GLOBAL_POOL_MAX
// op: global_pool
// dtype: f32
// arch: portable
// isa: none
// rank: 0
// tolerance: 2e-6
// params: FUNC=func
// work: n * ceil(c, BLOCK)
// cost: 64 * hw
//
// The reference: 16 channels at a time, one pass over the pixels, in runs of 32:
// megcc_global_pool.h says why.
#include "math/megcc_int.h"
#include "megcc_kernel.h"
#include "op/global_pool.h"

#if FUNC == GLOBAL_POOL_MAX
#define EMPTY (-MEGCC_INFINITY)
#define COMBINE(a, b) megcc_nanmax_f32(b, a)  // of two zeros the later one, as vectors have it
#else
#define EMPTY 0.0f
#define COMBINE(a, b) ((a) + (b))
#endif

enum { BLOCK = 16 };
enum { RUN = 32 };

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  (void)workspace;
  const float *x = ptr[0];
  float *y = ptr[1];
  const int32_t pixels = attr[GLOBAL_POOL_HW], channels = attr[GLOBAL_POOL_C];
  const int32_t blocks = (channels + BLOCK - 1) / BLOCK;
  for (int32_t item = begin; item < end; ++item) {
    const int32_t n = item / blocks, c0 = item % blocks * BLOCK;
    const int32_t count = channels - c0 < BLOCK ? channels - c0 : BLOCK;
    const float *src = x + (size_t)n * (size_t)pixels * (size_t)channels + c0;
    float acc[BLOCK], total[BLOCK];
    for (int32_t c = 0; c < count; ++c) total[c] = EMPTY;
    for (int32_t p = 0; p < pixels;) {
      const int32_t last = pixels - p < RUN ? pixels : p + RUN;
      for (int32_t c = 0; c < count; ++c) acc[c] = EMPTY;
      for (; p < last; ++p, src += channels)
        for (int32_t c = 0; c < count; ++c) acc[c] = COMBINE(acc[c], src[c]);
      for (int32_t c = 0; c < count; ++c) total[c] = COMBINE(total[c], acc[c]);
    }
    float *dst = y + (size_t)n * (size_t)channels + c0;
    for (int32_t c = 0; c < count; ++c)
      dst[c] = FUNC == GLOBAL_POOL_AVG ? total[c] / (float)pixels : total[c];
  }
}
