// The body of the global_pool kernels: four vectors of channels at a time stay in registers over
// all pixels, which are taken in runs: a sum of runs rounds by far less than one sum of thousands.
// FUNC says what is computed; WIDE is 1 where the result of f16 is f32.
#ifndef MEGCC_GLOBAL_POOL_H
#define MEGCC_GLOBAL_POOL_H

#include "megcc_elem.h"
#include "simd/megcc_simd.h"
#include "op/global_pool.h"

#ifndef FUNC
#define FUNC GLOBAL_POOL_MAX
#endif
#ifndef WIDE
#define WIDE 0
#endif

#if FUNC == GLOBAL_POOL_MAX
#define EMPTY (-MEGCC_INFINITY)
#define COMBINE megcc_vf_nanmax
#else
#define EMPTY 0.0f
#define COMBINE megcc_vf_add
#endif

#if WIDE
typedef float megcc_pooled_t;
#define STORE megcc_vf_lanes_n
#else
typedef megcc_elem_t megcc_pooled_t;
#define STORE megcc_vf_store_n
#endif

// Channels of a work item, pixels of a run.
enum { BLOCK = 64 };
enum { RUN = FUNC == GLOBAL_POOL_AVG ? 32 : INT32_MAX };

MEGCC_INLINE megcc_vf megcc_global_pool_finish(megcc_vf acc, int32_t pixels) {
  return FUNC == GLOBAL_POOL_AVG ? megcc_vf_div(acc, megcc_vf_dup((float)pixels)) : acc;
}

MEGCC_INLINE int32_t megcc_global_pool_run(int32_t left) { return left < RUN ? left : RUN; }

MEGCC_INLINE void megcc_global_pool_pool_four(const megcc_elem_t *src, megcc_pooled_t *dst,
                                              int32_t pixels, int32_t step) {
  const megcc_vf empty = megcc_vf_dup(EMPTY);
  megcc_vf t0 = empty, t1 = empty, t2 = empty, t3 = empty;
  for (int32_t left = pixels; left > 0; left -= megcc_global_pool_run(left)) {
    megcc_vf a0 = empty, a1 = empty, a2 = empty, a3 = empty;
    for (int32_t p = megcc_global_pool_run(left); p > 0; --p, src += step) {
      a0 = COMBINE(a0, megcc_vf_load(src));
      a1 = COMBINE(a1, megcc_vf_load(src + MEGCC_VL));
      a2 = COMBINE(a2, megcc_vf_load(src + 2 * MEGCC_VL));
      a3 = COMBINE(a3, megcc_vf_load(src + 3 * MEGCC_VL));
    }
    t0 = COMBINE(t0, a0);
    t1 = COMBINE(t1, a1);
    t2 = COMBINE(t2, a2);
    t3 = COMBINE(t3, a3);
  }
  STORE(dst, megcc_global_pool_finish(t0, pixels), MEGCC_VL);
  STORE(dst + MEGCC_VL, megcc_global_pool_finish(t1, pixels), MEGCC_VL);
  STORE(dst + 2 * MEGCC_VL, megcc_global_pool_finish(t2, pixels), MEGCC_VL);
  STORE(dst + 3 * MEGCC_VL, megcc_global_pool_finish(t3, pixels), MEGCC_VL);
}

MEGCC_INLINE void megcc_global_pool_pool_one(const megcc_elem_t *src, megcc_pooled_t *dst,
                                             int32_t pixels, int32_t step, int32_t lanes) {
  const megcc_vf empty = megcc_vf_dup(EMPTY);
  megcc_vf total = empty;
  for (int32_t left = pixels; left > 0; left -= megcc_global_pool_run(left)) {
    megcc_vf acc = empty;
    for (int32_t p = megcc_global_pool_run(left); p > 0; --p, src += step)
      acc = COMBINE(acc, megcc_vf_load_n(src, lanes));
    total = COMBINE(total, acc);
  }
  STORE(dst, megcc_global_pool_finish(total, pixels), lanes);
}

MEGCC_INLINE void megcc_global_pool(void *const *ptr, const int32_t *attr, int32_t begin,
                                    int32_t end) {
  const int32_t pixels = attr[GLOBAL_POOL_HW], channels = attr[GLOBAL_POOL_C];
  const int32_t blocks = (channels + BLOCK - 1) / BLOCK;
  for (int32_t item = begin; item < end; ++item) {
    const int32_t n = item / blocks;
    int32_t c = item % blocks * BLOCK;
    const int32_t last = c + BLOCK < channels ? c + BLOCK : channels;
    const megcc_elem_t *src =
        (const megcc_elem_t *)ptr[0] + (size_t)n * (size_t)pixels * (size_t)channels;
    megcc_pooled_t *dst = (megcc_pooled_t *)ptr[1] + (size_t)n * (size_t)channels;
    for (; c + 4 * MEGCC_VL <= last; c += 4 * MEGCC_VL)
      megcc_global_pool_pool_four(src + c, dst + c, pixels, channels);
    for (; c + MEGCC_VL <= last; c += MEGCC_VL)
      megcc_global_pool_pool_one(src + c, dst + c, pixels, channels, MEGCC_VL);
    if (c < last) megcc_global_pool_pool_one(src + c, dst + c, pixels, channels, last - c);
  }
}

#endif  // MEGCC_GLOBAL_POOL_H
