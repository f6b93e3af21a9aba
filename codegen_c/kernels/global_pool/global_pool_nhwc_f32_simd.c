// kernel: global_pool_nhwc_f32_simd
// op: global_pool
// dtype: f32
// arch: arm64, armv7, x86
// isa: simd
// rank: 10
// tolerance: 2e-6
// params: FUNC=func
// work: n * ((c + BLOCK - 1) // BLOCK)
// cost: 256 * hw
//
// A work item is 64 channels of one image: four vectors at a time stay in registers over all
// pixels.
#include "megcc_kernel.h"
#include "simd/megcc_simd.h"
#include "op/global_pool.h"

#ifndef MEGCC_SYMBOL
#define MEGCC_SYMBOL megcc_global_pool_nhwc_f32_simd
#endif
#ifndef FUNC
#define FUNC GLOBAL_POOL_MAX
#endif

#if FUNC == GLOBAL_POOL_MAX
#define EMPTY (-MEGCC_INFINITY)
#define COMBINE megcc_vf_nanmax
#else
#define EMPTY 0.0f
#define COMBINE megcc_vf_add
#endif

enum { BLOCK = 64 };

MEGCC_INLINE megcc_vf finish(megcc_vf acc, float scale) {
  return FUNC == GLOBAL_POOL_AVG ? megcc_vf_mul(acc, megcc_vf_dup(scale)) : acc;
}

MEGCC_INLINE void pool_four(const float *src, float *dst, int32_t pixels, int32_t step,
                            float scale) {
  megcc_vf a0 = megcc_vf_dup(EMPTY), a1 = a0, a2 = a0, a3 = a0;
  for (int32_t p = 0; p < pixels; ++p, src += step) {
    a0 = COMBINE(a0, megcc_vf_load(src));
    a1 = COMBINE(a1, megcc_vf_load(src + MEGCC_VL));
    a2 = COMBINE(a2, megcc_vf_load(src + 2 * MEGCC_VL));
    a3 = COMBINE(a3, megcc_vf_load(src + 3 * MEGCC_VL));
  }
  megcc_vf_store(dst, finish(a0, scale));
  megcc_vf_store(dst + MEGCC_VL, finish(a1, scale));
  megcc_vf_store(dst + 2 * MEGCC_VL, finish(a2, scale));
  megcc_vf_store(dst + 3 * MEGCC_VL, finish(a3, scale));
}

MEGCC_INLINE void pool_one(const float *src, float *dst, int32_t pixels, int32_t step, float scale,
                           int32_t lanes) {
  megcc_vf acc = megcc_vf_dup(EMPTY);
  for (int32_t p = 0; p < pixels; ++p, src += step) acc = COMBINE(acc, megcc_vf_load_n(src, lanes));
  megcc_vf_store_n(dst, finish(acc, scale), lanes);
}

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  (void)workspace;
  const int32_t pixels = attr[GLOBAL_POOL_HW], channels = attr[GLOBAL_POOL_C];
  const int32_t blocks = (channels + BLOCK - 1) / BLOCK;
  const float scale = 1.0f / (float)pixels;
  for (int32_t item = begin; item < end; ++item) {
    const int32_t n = item / blocks;
    int32_t c = item % blocks * BLOCK;
    const int32_t last = c + BLOCK < channels ? c + BLOCK : channels;
    const float *src = (const float *)ptr[0] + (size_t)n * (size_t)pixels * (size_t)channels;
    float *dst = (float *)ptr[1] + (size_t)n * (size_t)channels;
    for (; c + 4 * MEGCC_VL <= last; c += 4 * MEGCC_VL)
      pool_four(src + c, dst + c, pixels, channels, scale);
    for (; c + MEGCC_VL <= last; c += MEGCC_VL)
      pool_one(src + c, dst + c, pixels, channels, scale, MEGCC_VL);
    if (c < last) pool_one(src + c, dst + c, pixels, channels, scale, last - c);
  }
}
