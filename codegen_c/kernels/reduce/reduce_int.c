// kernel: reduce_int FUNC=REDUCE_SUM DTYPE=i32
// op: reduce
// dtype: i8, u8, i16, u16, i32, u32, i64, u64
// arch: portable
// isa: none
// when: func in (REDUCE_SUM, REDUCE_MAX, REDUCE_MIN, REDUCE_PROD)
// rank: 0
// params: FUNC=func DTYPE=T
// work: outer * inner
// cost: 4 * axis
//
// One line at a time; sums and products wrap.
#include "megcc_dtype.h"
#include "math/megcc_int.h"
#include "megcc_kernel.h"
#include "op/reduce.h"

typedef MEGCC_CTYPE(DTYPE) elem_t;
typedef MEGCC_WTYPE(DTYPE) wrap_t;

#define IS_SIGNED ((elem_t)-1 < (elem_t)1)
#define HIGHEST \
  ((elem_t)(IS_SIGNED ? (wrap_t)-1 >> (sizeof(wrap_t) - sizeof(elem_t)) * 8 >> 1 : (wrap_t)-1))
#define LOWEST ((elem_t)(IS_SIGNED ? -(int64_t)HIGHEST - 1 : 0))

MEGCC_INLINE elem_t line(const elem_t *x, int32_t n, ptrdiff_t step) {
#if FUNC == REDUCE_SUM || FUNC == REDUCE_PROD
  wrap_t total = FUNC == REDUCE_PROD;
  for (int32_t i = 0; i < n; ++i) {
    const wrap_t v = (wrap_t)x[i * step];
    total = FUNC == REDUCE_PROD ? total * v : total + v;
  }
  return (elem_t)total;
#elif FUNC == REDUCE_MAX
  elem_t most = LOWEST;
  for (int32_t i = 0; i < n; ++i) most = x[i * step] > most ? x[i * step] : most;
  return most;
#elif FUNC == REDUCE_MIN
  elem_t least = HIGHEST;
  for (int32_t i = 0; i < n; ++i) least = x[i * step] < least ? x[i * step] : least;
  return least;
#else
#error "reduce_int.c does not have this FUNC"
#endif
}

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  (void)workspace;
  const elem_t *x = ptr[0];
  elem_t *y = ptr[1];
  const int32_t n = attr[REDUCE_AXIS], inner = attr[REDUCE_INNER];
  for (int32_t item = begin; item < end; ++item)
    y[item] = line(x + (size_t)(item / inner) * (size_t)n * (size_t)inner + item % inner, n, inner);
}
