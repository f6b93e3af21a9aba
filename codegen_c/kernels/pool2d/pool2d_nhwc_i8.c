// kernel: pool2d_nhwc_i8 T=i8
// op: pool2d
// dtype: i8, u8
// arch: portable
// isa: none
// when: func == POOL2D_MAX
// rank: 0
// params: T=T
// overlap: sizeof(T) * c * ow * min(n * oh, pt // sh + 1)
//   if pl + pr <= dw * (kw - 1) and pt + pb <= dh * (kh - 1) else -1
// work: n * oh
// cost: ow * c * kh * kw
//
// The largest byte of every window: megcc_pool8.h. The output pixel is the accumulator, one pass
// per tap over the channels, which compilers vectorise.
#include "megcc_dtype.h"
#include "op/pool2d.h"

#define MEGCC_POOL(name) POOL2D_##name
#include "megcc_pool8.h"

enum { BLOCK = 64 };

// `n` channels, at most BLOCK, of which the first is number `c`.
MEGCC_INLINE void megcc_pool8_most(const megcc_pool8_t *t, MEGCC_CTYPE(T) * dst, int32_t c,
                                   int32_t n) {
  MEGCC_CTYPE(T) most[BLOCK];
  for (int32_t k = 0; k < n; ++k) most[k] = ((const MEGCC_CTYPE(T) *)t->src + c)[k];
  for (int32_t i = 0; i < t->rows; ++i) {
    for (int32_t j = 0; j < t->cols; ++j) {
      const MEGCC_CTYPE(T) *p = (const MEGCC_CTYPE(T) *)t->src + i * t->row_step + j * t->col_step;
      for (int32_t k = 0; k < n; ++k) most[k] = p[c + k] > most[k] ? p[c + k] : most[k];
    }
  }
  for (int32_t k = 0; k < n; ++k) dst[c + k] = most[k];
}

static void megcc_pool8_max(const void *how, const megcc_pool8_t *t, uint8_t *dst) {
  MEGCC_CTYPE(T) *y = (MEGCC_CTYPE(T) *)dst;
  int32_t c = 0;
  (void)how;
  for (; t->channels - c >= BLOCK; c += BLOCK) megcc_pool8_most(t, y, c, BLOCK);
  if (c < t->channels) megcc_pool8_most(t, y, c, t->channels - c);
}

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  (void)workspace;
  megcc_pool8(ptr, attr, begin, end, megcc_pool8_max, NULL);
}
