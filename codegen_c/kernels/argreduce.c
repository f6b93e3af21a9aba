// kernel: argreduce
// op: argreduce
// dtype: f32, i8, u8, i16, u16, i32, u32, i64, u64
// arch: portable
// isa: none
// rank: 0
// params: FUNC=func LAST=last DTYPE=T
// work: outer * inner
// cost: 4 * axis
//
// One line at a time. A NaN is found only when it is the first element.
#include "megcc_dtype.h"
#include "megcc_kernel.h"
#include "op/argreduce.h"

#ifndef MEGCC_SYMBOL
#define MEGCC_SYMBOL megcc_argreduce
#endif
#ifndef FUNC
#define FUNC ARGREDUCE_MAX
#endif
#ifndef LAST
#define LAST 0
#endif
#ifndef DTYPE
#define DTYPE f32
#endif

typedef MEGCC_CTYPE(DTYPE) elem_t;

MEGCC_INLINE int wins(elem_t v, elem_t best) {
  return LAST && v == best ? 1 : FUNC == ARGREDUCE_MAX ? v > best : v < best;
}

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  (void)workspace;
  int64_t *y = ptr[1];
  const int32_t n = attr[ARGREDUCE_AXIS], inner = attr[ARGREDUCE_INNER];
  for (int32_t item = begin; item < end; ++item) {
    const elem_t *x = (const elem_t *)ptr[0] + (size_t)(item / inner) * n * inner + item % inner;
    elem_t best = *x;
    int32_t at = 0;
    for (int32_t i = 1; i < n; ++i) {
      const elem_t v = x[(ptrdiff_t)i * inner];
      if (wins(v, best)) best = v, at = i;
    }
    y[item] = at;
  }
}
