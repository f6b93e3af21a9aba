// Square tiles of elements of 1, 2 or 4 bytes (ESIZE), transposed in registers.
//
//   MEGCC_TILE                       rows and columns of a tile
//   megcc_tile(x, x_step, y, y_step)  y[r * y_step + c] = x[c * x_step + r]; steps in elements
//   megcc_tile_pair(x, x_step, y)     where MEGCC_TILE_PAIR is defined: a tile and the one below it
//                                     in x, to the rows y[0] ... y[MEGCC_TILE - 1], which move on
//
// Rows are paired by elements, the pairs by pairs, and so on: log2(MEGCC_TILE) steps.
#ifndef MEGCC_TILE_H
#define MEGCC_TILE_H

#include <stddef.h>

#include "megcc_dtype.h"
#include "megcc_kernel.h"

typedef MEGCC_BYTES(ESIZE) megcc_tile_t;
#if ESIZE == 4
#define MEGCC_TILE 4
#else
#define MEGCC_TILE 8
#endif

#if defined(__ARM_NEON) || defined(__ARM_NEON__)
#include <arm_neon.h>

#if ESIZE == 4
MEGCC_INLINE void megcc_tile(const megcc_tile_t *x, ptrdiff_t x_step, megcc_tile_t *y,
                             ptrdiff_t y_step) {
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

// By name: `stp` that moves its address on. It takes lanes as 16 bytes, which is another order on a
// big-endian machine.
#if defined(__aarch64__) && !defined(__AARCH64EB__) && !defined(MEGCC_SMALL)
#define MEGCC_TILE_PAIR
MEGCC_INLINE void megcc_tile_two(megcc_tile_t **y, uint64x2_t a, uint64x2_t b) {
  megcc_tile_t(*to)[8] = (megcc_tile_t(*)[8]) * y;
  __asm__("stp %q2, %q3, [%1], #32" : "=m"(*to), "+r"(*y) : "w"(a), "w"(b));
}

MEGCC_INLINE void megcc_tile_pair(const megcc_tile_t *x, ptrdiff_t s, megcc_tile_t **y) {
  const uint32_t *src = (const uint32_t *)x;
  const uint32x4x2_t a = vtrnq_u32(vld1q_u32(src), vld1q_u32(src + s));
  const uint32x4x2_t b = vtrnq_u32(vld1q_u32(src + 2 * s), vld1q_u32(src + 3 * s));
  const uint32x4x2_t c = vtrnq_u32(vld1q_u32(src + 4 * s), vld1q_u32(src + 5 * s));
  const uint32x4x2_t d = vtrnq_u32(vld1q_u32(src + 6 * s), vld1q_u32(src + 7 * s));
  const uint64x2_t a0 = vreinterpretq_u64_u32(a.val[0]), a1 = vreinterpretq_u64_u32(a.val[1]);
  const uint64x2_t b0 = vreinterpretq_u64_u32(b.val[0]), b1 = vreinterpretq_u64_u32(b.val[1]);
  const uint64x2_t c0 = vreinterpretq_u64_u32(c.val[0]), c1 = vreinterpretq_u64_u32(c.val[1]);
  const uint64x2_t d0 = vreinterpretq_u64_u32(d.val[0]), d1 = vreinterpretq_u64_u32(d.val[1]);
  megcc_tile_two(y, vtrn1q_u64(a0, b0), vtrn1q_u64(c0, d0));
  megcc_tile_two(y + 1, vtrn1q_u64(a1, b1), vtrn1q_u64(c1, d1));
  megcc_tile_two(y + 2, vtrn2q_u64(a0, b0), vtrn2q_u64(c0, d0));
  megcc_tile_two(y + 3, vtrn2q_u64(a1, b1), vtrn2q_u64(c1, d1));
}
#endif
#elif ESIZE == 2
// Rows r and r + 4 of what four rows have become.
MEGCC_INLINE void megcc_tile_halves(uint16_t *y, ptrdiff_t far, uint32x4_t a, uint32x4_t b) {
  vst1q_u16(y, vreinterpretq_u16_u32(vcombine_u32(vget_low_u32(a), vget_low_u32(b))));
  vst1q_u16(y + far, vreinterpretq_u16_u32(vcombine_u32(vget_high_u32(a), vget_high_u32(b))));
}

// Pairs of rows of four, by pairs of elements.
MEGCC_INLINE uint32x4x2_t megcc_tile_pairs(uint16x8_t a, uint16x8_t b) {
  return vtrnq_u32(vreinterpretq_u32_u16(a), vreinterpretq_u32_u16(b));
}

MEGCC_INLINE void megcc_tile(const megcc_tile_t *x, ptrdiff_t s, megcc_tile_t *y, ptrdiff_t t) {
  const uint16_t *src = (const uint16_t *)x;
  uint16_t *dst = (uint16_t *)y;
  const uint16x8x2_t a = vtrnq_u16(vld1q_u16(src), vld1q_u16(src + s));
  const uint16x8x2_t b = vtrnq_u16(vld1q_u16(src + 2 * s), vld1q_u16(src + 3 * s));
  const uint16x8x2_t c = vtrnq_u16(vld1q_u16(src + 4 * s), vld1q_u16(src + 5 * s));
  const uint16x8x2_t d = vtrnq_u16(vld1q_u16(src + 6 * s), vld1q_u16(src + 7 * s));
  const uint32x4x2_t even = megcc_tile_pairs(a.val[0], b.val[0]);
  const uint32x4x2_t odd = megcc_tile_pairs(a.val[1], b.val[1]);
  const uint32x4x2_t even2 = megcc_tile_pairs(c.val[0], d.val[0]);
  const uint32x4x2_t odd2 = megcc_tile_pairs(c.val[1], d.val[1]);
  megcc_tile_halves(dst, 4 * t, even.val[0], even2.val[0]);
  megcc_tile_halves(dst + t, 4 * t, odd.val[0], odd2.val[0]);
  megcc_tile_halves(dst + 2 * t, 4 * t, even.val[1], even2.val[1]);
  megcc_tile_halves(dst + 3 * t, 4 * t, odd.val[1], odd2.val[1]);
}
#else
MEGCC_INLINE uint16x4x2_t megcc_tile_pairs(uint8x8_t a, uint8x8_t b) {
  return vtrn_u16(vreinterpret_u16_u8(a), vreinterpret_u16_u8(b));
}

// Rows r and r + 4 of what four rows have become.
MEGCC_INLINE void megcc_tile_halves(uint8_t *y, ptrdiff_t far, uint16x4_t a, uint16x4_t b) {
  const uint32x2x2_t r = vtrn_u32(vreinterpret_u32_u16(a), vreinterpret_u32_u16(b));
  vst1_u8(y, vreinterpret_u8_u32(r.val[0]));
  vst1_u8(y + far, vreinterpret_u8_u32(r.val[1]));
}

MEGCC_INLINE void megcc_tile(const megcc_tile_t *x, ptrdiff_t s, megcc_tile_t *y, ptrdiff_t t) {
  const uint8x8x2_t a = vtrn_u8(vld1_u8(x), vld1_u8(x + s));
  const uint8x8x2_t b = vtrn_u8(vld1_u8(x + 2 * s), vld1_u8(x + 3 * s));
  const uint8x8x2_t c = vtrn_u8(vld1_u8(x + 4 * s), vld1_u8(x + 5 * s));
  const uint8x8x2_t d = vtrn_u8(vld1_u8(x + 6 * s), vld1_u8(x + 7 * s));
  const uint16x4x2_t even = megcc_tile_pairs(a.val[0], b.val[0]);
  const uint16x4x2_t odd = megcc_tile_pairs(a.val[1], b.val[1]);
  const uint16x4x2_t even2 = megcc_tile_pairs(c.val[0], d.val[0]);
  const uint16x4x2_t odd2 = megcc_tile_pairs(c.val[1], d.val[1]);
  megcc_tile_halves(y, 4 * t, even.val[0], even2.val[0]);
  megcc_tile_halves(y + t, 4 * t, odd.val[0], odd2.val[0]);
  megcc_tile_halves(y + 2 * t, 4 * t, even.val[1], even2.val[1]);
  megcc_tile_halves(y + 3 * t, 4 * t, odd.val[1], odd2.val[1]);
}
#endif
#elif defined(__SSE2__)
#include <emmintrin.h>

#if ESIZE == 4
MEGCC_INLINE __m128i megcc_tile_row(const megcc_tile_t *x) {
  return _mm_loadu_si128((const __m128i *)(const void *)x);
}

MEGCC_INLINE void megcc_tile_store(megcc_tile_t *y, __m128i v) {
  _mm_storeu_si128((__m128i *)(void *)y, v);
}

MEGCC_INLINE void megcc_tile(const megcc_tile_t *x, ptrdiff_t s, megcc_tile_t *y, ptrdiff_t t) {
  const __m128i r0 = megcc_tile_row(x), r1 = megcc_tile_row(x + s);
  const __m128i r2 = megcc_tile_row(x + 2 * s), r3 = megcc_tile_row(x + 3 * s);
  const __m128i a = _mm_unpacklo_epi32(r0, r1), b = _mm_unpacklo_epi32(r2, r3);
  const __m128i c = _mm_unpackhi_epi32(r0, r1), d = _mm_unpackhi_epi32(r2, r3);
  megcc_tile_store(y, _mm_unpacklo_epi64(a, b));
  megcc_tile_store(y + t, _mm_unpackhi_epi64(a, b));
  megcc_tile_store(y + 2 * t, _mm_unpacklo_epi64(c, d));
  megcc_tile_store(y + 3 * t, _mm_unpackhi_epi64(c, d));
}
#elif ESIZE == 2
MEGCC_INLINE __m128i megcc_tile_row(const megcc_tile_t *x) {
  return _mm_loadu_si128((const __m128i *)(const void *)x);
}

MEGCC_INLINE void megcc_tile_two(megcc_tile_t *y, ptrdiff_t t, __m128i a, __m128i b) {
  _mm_storeu_si128((__m128i *)(void *)y, _mm_unpacklo_epi64(a, b));
  _mm_storeu_si128((__m128i *)(void *)(y + t), _mm_unpackhi_epi64(a, b));
}

MEGCC_INLINE void megcc_tile(const megcc_tile_t *x, ptrdiff_t s, megcc_tile_t *y, ptrdiff_t t) {
  const __m128i r0 = megcc_tile_row(x), r1 = megcc_tile_row(x + s);
  const __m128i r2 = megcc_tile_row(x + 2 * s), r3 = megcc_tile_row(x + 3 * s);
  const __m128i r4 = megcc_tile_row(x + 4 * s), r5 = megcc_tile_row(x + 5 * s);
  const __m128i r6 = megcc_tile_row(x + 6 * s), r7 = megcc_tile_row(x + 7 * s);
  const __m128i a = _mm_unpacklo_epi16(r0, r1), b = _mm_unpacklo_epi16(r2, r3);
  const __m128i c = _mm_unpacklo_epi16(r4, r5), d = _mm_unpacklo_epi16(r6, r7);
  const __m128i e = _mm_unpackhi_epi16(r0, r1), f = _mm_unpackhi_epi16(r2, r3);
  const __m128i g = _mm_unpackhi_epi16(r4, r5), h = _mm_unpackhi_epi16(r6, r7);
  megcc_tile_two(y, t, _mm_unpacklo_epi32(a, b), _mm_unpacklo_epi32(c, d));
  megcc_tile_two(y + 2 * t, t, _mm_unpackhi_epi32(a, b), _mm_unpackhi_epi32(c, d));
  megcc_tile_two(y + 4 * t, t, _mm_unpacklo_epi32(e, f), _mm_unpacklo_epi32(g, h));
  megcc_tile_two(y + 6 * t, t, _mm_unpackhi_epi32(e, f), _mm_unpackhi_epi32(g, h));
}
#else
MEGCC_INLINE __m128i megcc_tile_row(const megcc_tile_t *x) {
  return _mm_loadl_epi64((const __m128i *)(const void *)x);
}

MEGCC_INLINE void megcc_tile_two(megcc_tile_t *y, ptrdiff_t t, __m128i v) {
  _mm_storel_epi64((__m128i *)(void *)y, v);
  _mm_storel_epi64((__m128i *)(void *)(y + t), _mm_unpackhi_epi64(v, v));
}

MEGCC_INLINE void megcc_tile(const megcc_tile_t *x, ptrdiff_t s, megcc_tile_t *y, ptrdiff_t t) {
  const __m128i a = _mm_unpacklo_epi8(megcc_tile_row(x), megcc_tile_row(x + s));
  const __m128i b = _mm_unpacklo_epi8(megcc_tile_row(x + 2 * s), megcc_tile_row(x + 3 * s));
  const __m128i c = _mm_unpacklo_epi8(megcc_tile_row(x + 4 * s), megcc_tile_row(x + 5 * s));
  const __m128i d = _mm_unpacklo_epi8(megcc_tile_row(x + 6 * s), megcc_tile_row(x + 7 * s));
  const __m128i e = _mm_unpacklo_epi16(a, b), f = _mm_unpacklo_epi16(c, d);
  const __m128i g = _mm_unpackhi_epi16(a, b), h = _mm_unpackhi_epi16(c, d);
  megcc_tile_two(y, t, _mm_unpacklo_epi32(e, f));
  megcc_tile_two(y + 2 * t, t, _mm_unpackhi_epi32(e, f));
  megcc_tile_two(y + 4 * t, t, _mm_unpacklo_epi32(g, h));
  megcc_tile_two(y + 6 * t, t, _mm_unpackhi_epi32(g, h));
}
#endif
#else
MEGCC_INLINE void megcc_tile(const megcc_tile_t *x, ptrdiff_t x_step, megcc_tile_t *y,
                             ptrdiff_t y_step) {
  for (int r = 0; r < MEGCC_TILE; ++r)
    for (int c = 0; c < MEGCC_TILE; ++c) y[r * y_step + c] = x[c * x_step + r];
}
#endif

#endif  // MEGCC_TILE_H
