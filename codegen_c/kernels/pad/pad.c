// kernel: pad ESIZE=4 MODE=PAD_CONSTANT
// op: pad
// dtype: f32, f64, f16, bf16, bool, i8, u8, i16, u16, i32, u32, i64, u64
// arch: portable
// isa: none
// rank: 0
// params: ESIZE=sizeof(T) MODE=mode
// work: size
// cost: 8
//
// Rows along the last axis. An axis that is not padded is merged with the one before it, which is
// then padded by so many more elements; only constant padding allows that.
#include "megcc_dtype.h"
#include "megcc_kernel.h"
#include "megcc_nd.h"
#include "op/pad.h"

typedef MEGCC_BYTES(ESIZE) elem_t;

typedef struct {
  megcc_nd_t out;  // the output; the strides are the input's
  int32_t size[MEGCC_ND_RANK], before[MEGCC_ND_RANK];
} pad_t;

MEGCC_INLINE void describe(const int32_t *attr, pad_t *p) {
  int used = 0;
  for (int i = 0; i < MEGCC_ND_RANK; ++i) {
    const int32_t d = attr[PAD_D0 + i], a = attr[PAD_A0 + i], z = attr[PAD_Z0 + i];
    if (used > 0 && a == 0 && z == 0 && (d == 1 || MODE == PAD_CONSTANT)) {
      p->size[used - 1] *= d, p->before[used - 1] *= d, p->out.dim[used - 1] *= d;
    } else {
      p->size[used] = d, p->before[used] = a, p->out.dim[used++] = a + d + z;
    }
  }
  p->out.rank = used;
  ptrdiff_t step = 1;
  for (int i = used - 1; i >= 0; --i) {
    p->out.stride[0][i] = step;
    step *= p->size[i];
  }
}

// The input index behind output index `o` of axis `i`, or -1 where the fill value goes.
MEGCC_INLINE int32_t source(const pad_t *p, int i, int32_t o) {
  const int32_t n = p->size[i], k = o - p->before[i];
  if (k >= 0 && k < n) return k;
#if MODE == PAD_CONSTANT
  return -1;
#elif MODE == PAD_EDGE
  return k < 0 ? 0 : n - 1;
#elif MODE == PAD_REFLECT
  if (n == 1) return 0;
  const int32_t period = 2 * (n - 1), r = k % period, m = r < 0 ? r + period : r;
  return m < n ? m : period - m;
#else
  return k % n < 0 ? k % n + n : k % n;
#endif
}

MEGCC_INLINE elem_t fill_value(const int32_t *attr) {
  const uint64_t low = (uint32_t)attr[PAD_VALUE_LO], high = (uint32_t)attr[PAD_VALUE_HI];
  return (elem_t)(low | high << 32);
}

// Output elements [from, from + count) of a row whose input row is `x`.
MEGCC_INLINE void copy_row(const pad_t *p, const elem_t *x, elem_t *y, int32_t from, int32_t count,
                           elem_t fill) {
  const int last = p->out.rank - 1;
  const int32_t begin = p->before[last] - from, end = begin + p->size[last];
  const int32_t lo = begin < 0 ? 0 : begin < count ? begin : count;
  const int32_t hi = end < lo ? lo : end < count ? end : count;
#if MODE == PAD_CONSTANT
  for (int32_t k = 0; k < lo; ++k) y[k] = fill;
  for (int32_t k = hi; k < count; ++k) y[k] = fill;
#else
  (void)fill;
  for (int32_t k = 0; k < lo; ++k) y[k] = x[source(p, last, from + k)];
  for (int32_t k = hi; k < count; ++k) y[k] = x[source(p, last, from + k)];
#endif
  for (int32_t k = lo; k < hi; ++k) y[k] = x[k - begin];
}

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  (void)workspace;
  const elem_t *x = ptr[0];
  elem_t *y = ptr[1];
  const elem_t fill = fill_value(attr);
  pad_t p;
  megcc_nd_at_t at;
  if (begin >= end) return;
  describe(attr, &p);
  at = megcc_nd_seek(&p.out, begin);
  const int last = p.out.rank - 1;
  for (int32_t i = begin, count; i < end; i += count) {
    ptrdiff_t row = 0;
    int32_t outside = 0;
    count = megcc_nd_run(&p.out, &at, end - i);
    for (int k = 0; k < last; ++k) {
      const int32_t from = source(&p, k, at.index[k]);
      outside |= from;
      row += from * p.out.stride[0][k];
    }
    if (outside < 0)
      for (int32_t k = 0; k < count; ++k) y[i + k] = fill;
    else
      copy_row(&p, x + row, y + i, at.index[last], count, fill);
    megcc_nd_advance(&p.out, &at, count);
  }
}
