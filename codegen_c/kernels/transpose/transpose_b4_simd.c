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
#if defined(__aarch64__)
  const uint64x2_t a0 = vreinterpretq_u64_u32(a.val[0]), a1 = vreinterpretq_u64_u32(a.val[1]);
  const uint64x2_t b0 = vreinterpretq_u64_u32(b.val[0]), b1 = vreinterpretq_u64_u32(b.val[1]);
  vst1q_u32(dst, vreinterpretq_u32_u64(vtrn1q_u64(a0, b0)));
  vst1q_u32(dst + y_step, vreinterpretq_u32_u64(vtrn1q_u64(a1, b1)));
  vst1q_u32(dst + 2 * y_step, vreinterpretq_u32_u64(vtrn2q_u64(a0, b0)));
  vst1q_u32(dst + 3 * y_step, vreinterpretq_u32_u64(vtrn2q_u64(a1, b1)));
#else
  vst1q_u32(dst, vcombine_u32(vget_low_u32(a.val[0]), vget_low_u32(b.val[0])));
  vst1q_u32(dst + y_step, vcombine_u32(vget_low_u32(a.val[1]), vget_low_u32(b.val[1])));
  vst1q_u32(dst + 2 * y_step, vcombine_u32(vget_high_u32(a.val[0]), vget_high_u32(b.val[0])));
  vst1q_u32(dst + 3 * y_step, vcombine_u32(vget_high_u32(a.val[1]), vget_high_u32(b.val[1])));
#endif
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

// Two or three planes become pairs or triples, and back: compilers know the instructions.
MEGCC_INLINE void interleave(const elem_t *x, ptrdiff_t x_step, elem_t *y, int32_t rows, int n) {
  MEGCC_IVDEP
  for (ptrdiff_t r = 0; r < rows; ++r) {
    y[r * n] = x[r];
    y[r * n + 1] = x[x_step + r];
    if (n == 3) y[r * n + 2] = x[2 * x_step + r];
  }
}

MEGCC_INLINE void separate(const elem_t *x, elem_t *y, ptrdiff_t y_step, int32_t cols, int n) {
  MEGCC_IVDEP
  for (ptrdiff_t c = 0; c < cols; ++c) {
    y[c] = x[c * n];
    y[y_step + c] = x[c * n + 1];
    if (n == 3) y[2 * y_step + c] = x[c * n + 2];
  }
}

// What is narrower than a tile, and part of a wider plane.
MEGCC_COLD static void strip(const elem_t *x, ptrdiff_t x_step, elem_t *y, ptrdiff_t y_step,
                             int32_t rows, int32_t cols) {
  for (int32_t r = 0; r < rows; ++r)
    for (int32_t c = 0; c < cols; ++c) y[r * y_step + c] = x[c * x_step + r];
}

// A tile for rows and columns that fill none: the last whole one, once more.
static void plane(const elem_t *x, ptrdiff_t x_step, elem_t *y, ptrdiff_t y_step, int32_t rows,
                  int32_t cols) {
  if (cols == 2 && y_step == 2) {
    interleave(x, x_step, y, rows, 2);
  } else if (cols == 3 && y_step == 3) {
    interleave(x, x_step, y, rows, 3);
  } else if (rows == 2 && x_step == 2) {
    separate(x, y, y_step, cols, 2);
  } else if (rows == 3 && x_step == 3) {
    separate(x, y, y_step, cols, 3);
  } else if (rows < 4 || cols < 4) {
    strip(x, x_step, y, y_step, rows, cols);
  } else {
    for (int32_t c0 = 0; c0 < cols; c0 += BLOCK) {
      const int32_t c1 = cols - c0 < BLOCK ? cols : c0 + BLOCK;
      for (int32_t i = 0; i < rows; i += 4) {
        const int32_t r = i + 4 <= rows ? i : rows - 4;
        const elem_t *from = x + c0 * x_step + r;
        elem_t *to = y + r * y_step + c0;
        int32_t left = c1 - c0;
        for (; left >= 4; left -= 4, from += 4 * x_step, to += 4) tile(from, x_step, to, y_step);
        if (left) tile(from - (4 - left) * x_step, x_step, to - (4 - left), y_step);
      }
    }
  }
}

#include "megcc_transpose.h"

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  (void)workspace;
  megcc_transpose_run(ptr[0], ptr[1], attr, begin, end);
}
