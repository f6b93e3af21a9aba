// kernel: transpose_b4_simd
// op: transpose
// dtype: f32, i32, u32
// arch: arm64, armv7, x86
// isa: simd
// rank: 10
// work: size
// cost: 8
//
// As transpose.c, with planes in tiles of 4 x 4 that are transposed in registers. Blocks of 64
// input rows keep what four output rows share in the cache.
#include <stddef.h>

#include "megcc_dtype.h"
#include "simd/megcc_simd.h"

#ifndef MEGCC_SYMBOL
#define MEGCC_SYMBOL megcc_transpose_b4_simd
#endif

typedef megcc_bytes_4 elem_t;
enum { BLOCK = 64 };

#if defined(__ARM_NEON) || defined(__ARM_NEON__)
MEGCC_INLINE void tile(const elem_t *x, ptrdiff_t x_step, elem_t *y, ptrdiff_t y_step) {
  const uint32_t *src = (const uint32_t *)x;
  uint32_t *dst = (uint32_t *)y;
  const uint32x4x2_t a = vtrnq_u32(vld1q_u32(src), vld1q_u32(src + x_step));
  const uint32x4x2_t b = vtrnq_u32(vld1q_u32(src + 2 * x_step), vld1q_u32(src + 3 * x_step));
  vst1q_u32(dst, vcombine_u32(vget_low_u32(a.val[0]), vget_low_u32(b.val[0])));
  vst1q_u32(dst + y_step, vcombine_u32(vget_low_u32(a.val[1]), vget_low_u32(b.val[1])));
  vst1q_u32(dst + 2 * y_step, vcombine_u32(vget_high_u32(a.val[0]), vget_high_u32(b.val[0])));
  vst1q_u32(dst + 3 * y_step, vcombine_u32(vget_high_u32(a.val[1]), vget_high_u32(b.val[1])));
}
#elif defined(__SSE2__)
#include <emmintrin.h>
MEGCC_INLINE void tile(const elem_t *x, ptrdiff_t x_step, elem_t *y, ptrdiff_t y_step) {
  const __m128i r0 = _mm_loadu_si128((const __m128i *)(const void *)x);
  const __m128i r1 = _mm_loadu_si128((const __m128i *)(const void *)(x + x_step));
  const __m128i r2 = _mm_loadu_si128((const __m128i *)(const void *)(x + 2 * x_step));
  const __m128i r3 = _mm_loadu_si128((const __m128i *)(const void *)(x + 3 * x_step));
  const __m128i a = _mm_unpacklo_epi32(r0, r1), b = _mm_unpacklo_epi32(r2, r3);
  const __m128i c = _mm_unpackhi_epi32(r0, r1), d = _mm_unpackhi_epi32(r2, r3);
  _mm_storeu_si128((__m128i *)(void *)y, _mm_unpacklo_epi64(a, b));
  _mm_storeu_si128((__m128i *)(void *)(y + y_step), _mm_unpackhi_epi64(a, b));
  _mm_storeu_si128((__m128i *)(void *)(y + 2 * y_step), _mm_unpacklo_epi64(c, d));
  _mm_storeu_si128((__m128i *)(void *)(y + 3 * y_step), _mm_unpackhi_epi64(c, d));
}
#else
MEGCC_INLINE void tile(const elem_t *x, ptrdiff_t x_step, elem_t *y, ptrdiff_t y_step) {
  for (int r = 0; r < 4; ++r)
    for (int c = 0; c < 4; ++c) y[r * y_step + c] = x[c * x_step + r];
}
#endif

MEGCC_INLINE void edge(const elem_t *x, ptrdiff_t x_step, elem_t *y, int32_t begin, int32_t end) {
  for (int32_t c = begin; c < end; ++c) y[c] = x[c * x_step];
}

static void plane(const elem_t *x, ptrdiff_t x_step, elem_t *y, ptrdiff_t y_step, int32_t rows,
                  int32_t cols) {
  for (int32_t c0 = 0; c0 < cols; c0 += BLOCK) {
    const int32_t c1 = cols - c0 < BLOCK ? cols : c0 + BLOCK, whole = c0 + (c1 - c0) / 4 * 4;
    int32_t r = 0;
    for (; r + 4 <= rows; r += 4) {
      for (int32_t c = c0; c < whole; c += 4)
        tile(x + c * x_step + r, x_step, y + r * y_step + c, y_step);
      for (int32_t k = r; k < r + 4; ++k) edge(x + k, x_step, y + k * y_step, whole, c1);
    }
    for (; r < rows; ++r) edge(x + r, x_step, y + r * y_step, c0, c1);
  }
}

#include "megcc_transpose.h"

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  (void)workspace;
  megcc_transpose_run(ptr[0], ptr[1], attr, begin, end);
}
