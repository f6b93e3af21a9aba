// The body of the global_pool kernels: four vectors of channels at a time stay in registers over
// all pixels, which are taken in runs: a sum of runs rounds by far less than one sum of thousands.
// FUNC says what is computed; WIDE is 1 where the result of f16 is f32. With BAND the pixels are
// some of an image's: a run that they do not end is the next ones', so that sums are the same.
#ifndef MEGCC_GLOBAL_POOL_H
#define MEGCC_GLOBAL_POOL_H

#include "megcc_elem.h"
#include "simd/megcc_simd.h"
#include "op/global_pool_band.h"

#ifndef BAND
#define BAND 0
#endif
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

// Pixels of `step` elements, from number `first` on of `total`. For each channel `before` has the
// sum of the runs that have ended, and one row on that of the run that goes on; so has `after`.
typedef struct {
  int32_t pixels, step, first, total;
  const float *before;
  float *after;
} megcc_global_pool_t;

MEGCC_INLINE megcc_vf megcc_global_pool_finish(megcc_vf acc, const megcc_global_pool_t *p) {
  return FUNC == GLOBAL_POOL_AVG ? megcc_vf_div(acc, megcc_vf_dup((float)p->total)) : acc;
}

// Pixels up to the end of the run that pixel `first` is in.
MEGCC_INLINE int32_t megcc_global_pool_left(const megcc_global_pool_t *p) {
  return BAND ? RUN - p->first % RUN : RUN;
}

// What the accumulators begin with: row 0 or 1 of `before`.
MEGCC_INLINE megcc_vf megcc_global_pool_begin(const megcc_global_pool_t *p, int32_t row, int32_t c,
                                              int32_t lanes) {
  if (!BAND || p->first == 0) return megcc_vf_dup(EMPTY);
  return megcc_vf_of(p->before + (ptrdiff_t)row * p->step + c, lanes);
}

MEGCC_INLINE void megcc_global_pool_end(const megcc_global_pool_t *p, megcc_pooled_t *dst,
                                        megcc_vf total, megcc_vf acc, int32_t c, int32_t lanes) {
  if (BAND) {
    megcc_vf_lanes_n(p->after + c, total, lanes);
    megcc_vf_lanes_n(p->after + p->step + c, acc, lanes);
    total = COMBINE(total, acc);
  }
  STORE(dst + c, megcc_global_pool_finish(total, p), lanes);
}

MEGCC_INLINE void megcc_global_pool_four(const megcc_global_pool_t *p, const megcc_elem_t *src,
                                         megcc_pooled_t *dst, int32_t c) {
  const megcc_vf empty = megcc_vf_dup(EMPTY);
  megcc_vf t0 = megcc_global_pool_begin(p, 0, c, MEGCC_VL);
  megcc_vf t1 = megcc_global_pool_begin(p, 0, c + MEGCC_VL, MEGCC_VL);
  megcc_vf t2 = megcc_global_pool_begin(p, 0, c + 2 * MEGCC_VL, MEGCC_VL);
  megcc_vf t3 = megcc_global_pool_begin(p, 0, c + 3 * MEGCC_VL, MEGCC_VL);
  megcc_vf a0 = megcc_global_pool_begin(p, 1, c, MEGCC_VL);
  megcc_vf a1 = megcc_global_pool_begin(p, 1, c + MEGCC_VL, MEGCC_VL);
  megcc_vf a2 = megcc_global_pool_begin(p, 1, c + 2 * MEGCC_VL, MEGCC_VL);
  megcc_vf a3 = megcc_global_pool_begin(p, 1, c + 3 * MEGCC_VL, MEGCC_VL);
  src += c;
  for (int32_t left = p->pixels, run = megcc_global_pool_left(p); left > 0; run = RUN) {
    const int32_t some = left < run ? left : run;
    left -= some;
    for (int32_t k = some; k > 0; --k, src += p->step) {
      a0 = COMBINE(a0, megcc_vf_load(src));
      a1 = COMBINE(a1, megcc_vf_load(src + MEGCC_VL));
      a2 = COMBINE(a2, megcc_vf_load(src + 2 * MEGCC_VL));
      a3 = COMBINE(a3, megcc_vf_load(src + 3 * MEGCC_VL));
    }
    if (BAND && some < run) break;
    t0 = COMBINE(t0, a0), a0 = empty;
    t1 = COMBINE(t1, a1), a1 = empty;
    t2 = COMBINE(t2, a2), a2 = empty;
    t3 = COMBINE(t3, a3), a3 = empty;
  }
  megcc_global_pool_end(p, dst, t0, a0, c, MEGCC_VL);
  megcc_global_pool_end(p, dst, t1, a1, c + MEGCC_VL, MEGCC_VL);
  megcc_global_pool_end(p, dst, t2, a2, c + 2 * MEGCC_VL, MEGCC_VL);
  megcc_global_pool_end(p, dst, t3, a3, c + 3 * MEGCC_VL, MEGCC_VL);
}

MEGCC_INLINE void megcc_global_pool_one(const megcc_global_pool_t *p, const megcc_elem_t *src,
                                        megcc_pooled_t *dst, int32_t c, int32_t lanes) {
  megcc_vf total = megcc_global_pool_begin(p, 0, c, lanes);
  megcc_vf acc = megcc_global_pool_begin(p, 1, c, lanes);
  src += c;
  for (int32_t left = p->pixels, run = megcc_global_pool_left(p); left > 0; run = RUN) {
    const int32_t some = left < run ? left : run;
    left -= some;
    for (int32_t k = some; k > 0; --k, src += p->step)
      acc = COMBINE(acc, megcc_vf_load_n(src, lanes));
    if (BAND && some < run) break;
    total = COMBINE(total, acc);
    acc = megcc_vf_dup(EMPTY);
  }
  megcc_global_pool_end(p, dst, total, acc, c, lanes);
}

// Block number `block` of the channels.
MEGCC_INLINE void megcc_global_pool_block(const megcc_global_pool_t *p, const megcc_elem_t *src,
                                          megcc_pooled_t *dst, int32_t block) {
  const int32_t channels = p->step;
  int32_t c = block * BLOCK;
  const int32_t last = c + BLOCK < channels ? c + BLOCK : channels;
  for (; c + 4 * MEGCC_VL <= last; c += 4 * MEGCC_VL) megcc_global_pool_four(p, src, dst, c);
  for (; c + MEGCC_VL <= last; c += MEGCC_VL) megcc_global_pool_one(p, src, dst, c, MEGCC_VL);
  if (c < last) megcc_global_pool_one(p, src, dst, c, last - c);
}

#if BAND
MEGCC_INLINE void megcc_global_pool(void *const *ptr, const int32_t *attr, int32_t begin,
                                    int32_t end) {
  const megcc_global_pool_t p = {attr[GLOBAL_POOL_BAND_HW],
                                 attr[GLOBAL_POOL_BAND_C],
                                 attr[GLOBAL_POOL_BAND_FIRST],
                                 attr[GLOBAL_POOL_BAND_TOTAL],
                                 ptr[1],
                                 ptr[2]};
  for (int32_t item = begin; item < end; ++item) megcc_global_pool_block(&p, ptr[0], ptr[3], item);
}
#else
MEGCC_INLINE void megcc_global_pool(void *const *ptr, const int32_t *attr, int32_t begin,
                                    int32_t end) {
  const int32_t pixels = attr[GLOBAL_POOL_HW], channels = attr[GLOBAL_POOL_C];
  const megcc_global_pool_t p = {pixels, channels, 0, pixels, NULL, NULL};
  const int32_t blocks = (channels + BLOCK - 1) / BLOCK;
  for (int32_t item = begin; item < end; ++item) {
    const size_t n = (size_t)(item / blocks);
    const megcc_elem_t *src = (const megcc_elem_t *)ptr[0] + n * (size_t)pixels * (size_t)channels;
    megcc_pooled_t *dst = (megcc_pooled_t *)ptr[1] + n * (size_t)channels;
    megcc_global_pool_block(&p, src, dst, item % blocks);
  }
}
#endif

#endif  // MEGCC_GLOBAL_POOL_H
