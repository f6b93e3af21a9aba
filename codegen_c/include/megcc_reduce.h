// The body of the reduce kernels on floats. FUNC says what is computed, ROWS that lines are
// contiguous. A line is taken in runs: a sum of runs rounds by far less than one sum of thousands.
#ifndef MEGCC_REDUCE_H
#define MEGCC_REDUCE_H

#include "megcc_elem.h"
#include "simd/megcc_simd.h"
#include "op/reduce.h"

#ifndef FUNC
#define FUNC REDUCE_SUM
#endif
#ifndef ROWS
#define ROWS 1
#endif

// EMPTY is neutral for MERGE.
#if FUNC == REDUCE_MAX
#define EMPTY (-MEGCC_INFINITY)
#define MERGE megcc_vf_nanmax
#elif FUNC == REDUCE_MIN
#define EMPTY MEGCC_INFINITY
#define MERGE megcc_vf_nanmin
#elif FUNC == REDUCE_PROD
#define EMPTY 1.0f
#define MERGE megcc_vf_mul
#else
#define EMPTY 0.0f
#define MERGE megcc_vf_add
#endif

// Elements that one accumulator takes before it is added to the others.
enum { RUN = 32 };

MEGCC_INLINE megcc_vf megcc_reduce_finish(megcc_vf v, int32_t n) {
  (void)n;
#if FUNC == REDUCE_MEAN
  return megcc_vf_div(v, megcc_vf_dup((float)n));
#else
  return v;
#endif
}

#if ROWS
MEGCC_INLINE megcc_vf megcc_reduce_add(megcc_vf acc, const megcc_elem_t *p) {
  const megcc_vf x = megcc_vf_load(p);
  return MERGE(acc, x);
}

static float megcc_reduce_line(const megcc_elem_t *x, int32_t n) {
  const megcc_vf empty = megcc_vf_dup(EMPTY);
  megcc_vf all = empty;
  float lanes[MEGCC_VL];
  int32_t i = 0;
  while (n - i >= MEGCC_VL) {
    megcc_vf a0 = empty, a1 = empty, a2 = empty, a3 = empty;
    const int32_t end = n - i < RUN * 4 * MEGCC_VL ? n : i + RUN * 4 * MEGCC_VL;
    for (; i + 4 * MEGCC_VL <= end; i += 4 * MEGCC_VL) {
      a0 = megcc_reduce_add(a0, x + i);
      a1 = megcc_reduce_add(a1, x + i + MEGCC_VL);
      a2 = megcc_reduce_add(a2, x + i + 2 * MEGCC_VL);
      a3 = megcc_reduce_add(a3, x + i + 3 * MEGCC_VL);
    }
    for (; i + MEGCC_VL <= end; i += MEGCC_VL) a0 = megcc_reduce_add(a0, x + i);
    all = MERGE(all, MERGE(MERGE(a0, a1), MERGE(a2, a3)));
  }
  megcc_vf_lanes(lanes, all);
  megcc_vf total = megcc_vf_dup(lanes[0]);
  for (int k = 1; k < MEGCC_VL; ++k) total = MERGE(total, megcc_vf_dup(lanes[k]));
  for (; i < n; ++i) {
    const megcc_vf t = megcc_vf_dup(megcc_elem_f32(x[i]));
    total = MERGE(total, t);
  }
  return megcc_vf_first(megcc_reduce_finish(total, n));
}
#else
MEGCC_INLINE void megcc_reduce_columns(const megcc_elem_t *x, megcc_elem_t *y, int32_t n,
                                       ptrdiff_t step, int32_t lanes) {
  const megcc_vf empty = megcc_vf_dup(EMPTY);
  megcc_vf all = empty;
  for (int32_t i = 0; i < n;) {
    megcc_vf a0 = empty, a1 = empty;
    const int32_t end = n - i < 2 * RUN ? n : i + 2 * RUN;
    for (; i + 2 <= end; i += 2, x += 2 * step) {
      const megcc_vf p = megcc_vf_load_n(x, lanes), q = megcc_vf_load_n(x + step, lanes);
      a0 = MERGE(a0, p);
      a1 = MERGE(a1, q);
    }
    if (i < end) {
      const megcc_vf p = megcc_vf_load_n(x, lanes);
      a0 = MERGE(a0, p);
      ++i;
    }
    all = MERGE(all, MERGE(a0, a1));
  }
  megcc_vf_store_n(y, megcc_reduce_finish(all, n), lanes);
}
#endif

MEGCC_INLINE void megcc_reduce(void *const *ptr, const int32_t *attr, int32_t begin, int32_t end) {
  const megcc_elem_t *x = ptr[0];
  megcc_elem_t *y = ptr[1];
  const int32_t n = attr[REDUCE_AXIS];
#if ROWS
  for (int32_t item = begin; item < end; ++item)
    y[item] = megcc_elem_of(megcc_reduce_line(x + (size_t)item * (size_t)n, n));
#else
  const int32_t inner = attr[REDUCE_INNER];
  for (int32_t item = begin, lanes; item < end; item += lanes) {
    const int32_t outer = item / inner, column = item % inner;
    const megcc_elem_t *src = x + (size_t)outer * (size_t)n * (size_t)inner + column;
    const int32_t left = inner - column < end - item ? inner - column : end - item;
    lanes = left < MEGCC_VL ? left : MEGCC_VL;
    if (lanes == MEGCC_VL)
      megcc_reduce_columns(src, y + item, n, inner, MEGCC_VL);
    else
      megcc_reduce_columns(src, y + item, n, inner, lanes);
  }
#endif
}

#endif  // MEGCC_REDUCE_H
