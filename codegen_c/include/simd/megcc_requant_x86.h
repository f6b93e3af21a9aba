// megcc_requant.h for AVX2 (8 sums at a time) and AVX-512 (16): to real numbers, to 8 bits, to the
// bit. The macros that megcc_requant.h wants are defined before.
#ifndef MEGCC_REQUANT_X86_H
#define MEGCC_REQUANT_X86_H

#include "megcc_requant.h"
#include "simd/megcc_intrinsics_x86.h"

#ifdef __AVX512BW__
typedef __m512 megcc_reals;
typedef __m512i megcc_ints;
#define MEGCC_REQUANT_LANES 16
#define MEGCC_X86_(name) _mm512_##name
#else
typedef __m256 megcc_reals;
typedef __m256i megcc_ints;
#define MEGCC_REQUANT_LANES 8
#define MEGCC_X86_(name) _mm256_##name
#endif

// A call's numbers in every lane.
typedef struct {
  megcc_ints zero;
  megcc_reals low, high;
} megcc_narrow;

MEGCC_INLINE megcc_narrow megcc_narrow_of(const megcc_rescale *r) {
  megcc_narrow n;
  n.zero = MEGCC_X86_(set1_epi32)(r->zero);
  n.low = MEGCC_X86_(set1_ps)((float)(r->low - r->zero));
  n.high = MEGCC_X86_(set1_ps)((float)(r->high - r->zero));
  return n;
}

// sum * scale, plus `offset` if OFFSET; the product is rounded, whatever the compiler may contract.
MEGCC_INLINE megcc_reals megcc_scaled(megcc_ints sum, megcc_reals scale, megcc_reals offset) {
  megcc_reals v = MEGCC_X86_(mul_ps)(MEGCC_X86_(cvtepi32_ps)(sum), scale);
#if OFFSET
  __asm__("" : "+v"(v));
  v = MEGCC_X86_(add_ps)(v, offset);
#else
  (void)offset;
#endif
  return v;
}

// Rounded, clamped, and stored as bytes; a NaN, which stands first, becomes the lower limit.
MEGCC_INLINE void megcc_stored(const megcc_narrow *n, megcc_reals v, void *dst) {
  const megcc_reals in = MEGCC_X86_(min_ps)(MEGCC_X86_(max_ps)(v, n->low), n->high);
  const megcc_ints whole = MEGCC_X86_(add_epi32)(MEGCC_X86_(cvtps_epi32)(in), n->zero);
#ifdef __AVX512BW__
  _mm_storeu_si128((__m128i *)(void *)dst, _mm512_cvtepi32_epi8(whole));
#else
  // The lowest of the four bytes of each lane; then the two halves' four bytes side by side.
  const __m256i bytes =
      _mm256_shuffle_epi8(whole, _mm256_setr_epi8(0, 4, 8, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
                                                  0, 4, 8, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0));
  const __m128i low = _mm256_castsi256_si128(bytes), high = _mm256_extracti128_si256(bytes, 1);
  _mm_storel_epi64((__m128i *)(void *)dst, _mm_unpacklo_epi32(low, high));
#endif
}

#endif  // MEGCC_REQUANT_X86_H
