// megcc_simd.h for lanes of other types: what the vector loops of generated kernels load and store.
//
// A vector has MEGCC_VL lanes of any type. Integers below 32 bits are widened when they are loaded;
// a store takes their low bits. In memory, truth values are bytes of 0 or 1.
//
//   vf load(p) load_n(p, n), store(p, v) store_n(p, v, n)    megcc_vf_*: f32, megcc_vh_*: f16,
//                                                            megcc_vb_*: bf16
//   vi the same                    megcc_vi_*: i32, megcc_vi8_*: i8, megcc_vu8_*: u8
//   vm the same                    megcc_vm_*: bool
//   vf megcc_vh_round(v) megcc_vb_round(v)    each lane rounded to f16 or bf16
//   vi megcc_vi_mul min max select(m, a, b);  vm megcc_vi_lt le eq ne (a, b)
//   vi megcc_vf_to_i32(v)          truncates; saturates as megcc_f32_to_i32 does
#ifndef MEGCC_SIMD_TYPES_H
#define MEGCC_SIMD_TYPES_H

#include "simd/megcc_bf16.h"
#include "simd/megcc_simd.h"
#include "simd/megcc_vh.h"

#if defined(MEGCC_SIMD_NEON_H)

MEGCC_INLINE megcc_vi megcc_vi_load(const int32_t *p) { return vld1q_s32(p); }
MEGCC_INLINE void megcc_vi_store(int32_t *p, megcc_vi v) { vst1q_s32(p, v); }
MEGCC_INLINE megcc_vi megcc_vi_mul(megcc_vi a, megcc_vi b) { return vmulq_s32(a, b); }
MEGCC_INLINE megcc_vi megcc_vi_min(megcc_vi a, megcc_vi b) { return vminq_s32(a, b); }
MEGCC_INLINE megcc_vi megcc_vi_max(megcc_vi a, megcc_vi b) { return vmaxq_s32(a, b); }
MEGCC_INLINE megcc_vm megcc_vi_lt(megcc_vi a, megcc_vi b) { return vcltq_s32(a, b); }
MEGCC_INLINE megcc_vm megcc_vi_eq(megcc_vi a, megcc_vi b) { return vceqq_s32(a, b); }

// A word's bytes in the order of memory, which is the order of the lanes.
MEGCC_INLINE uint32_t megcc_neon_word(uint32_t bytes) {
#if defined(__AARCH64EB__) || defined(__ARM_BIG_ENDIAN)
  return __builtin_bswap32(bytes);
#else
  return bytes;
#endif
}
MEGCC_INLINE uint32x2_t megcc_neon_bytes(const void *p) {
  uint32_t bytes;
  __builtin_memcpy(&bytes, p, sizeof bytes);
  return vdup_n_u32(megcc_neon_word(bytes));
}
MEGCC_INLINE megcc_vi megcc_vi8_load(const int8_t *p) {
  return vmovl_s16(vget_low_s16(vmovl_s8(vreinterpret_s8_u32(megcc_neon_bytes(p)))));
}
MEGCC_INLINE megcc_vi megcc_vu8_load(const uint8_t *p) {
  return vreinterpretq_s32_u32(
      vmovl_u16(vget_low_u16(vmovl_u8(vreinterpret_u8_u32(megcc_neon_bytes(p))))));
}
MEGCC_INLINE void megcc_vu8_store(uint8_t *p, megcc_vi v) {
  const uint16x4_t half = vmovn_u32(vreinterpretq_u32_s32(v));
  const uint8x8_t bytes = vmovn_u16(vcombine_u16(half, half));
  const uint32_t word = megcc_neon_word(vget_lane_u32(vreinterpret_u32_u8(bytes), 0));
  __builtin_memcpy(p, &word, sizeof word);
}
MEGCC_INLINE void megcc_vi_store_low16(uint16_t *p, megcc_vi v) {
  vst1_u16(p, vmovn_u32(vreinterpretq_u32_s32(v)));
}

#elif defined(MEGCC_SIMD_MVE_H)

MEGCC_INLINE megcc_vi megcc_vi_load(const int32_t *p) { return vldrwq_s32(p); }
MEGCC_INLINE void megcc_vi_store(int32_t *p, megcc_vi v) { vstrwq_s32(p, v); }
MEGCC_INLINE megcc_vi megcc_vi_mul(megcc_vi a, megcc_vi b) { return vmulq_s32(a, b); }
MEGCC_INLINE megcc_vi megcc_vi_min(megcc_vi a, megcc_vi b) { return vminq_s32(a, b); }
MEGCC_INLINE megcc_vi megcc_vi_max(megcc_vi a, megcc_vi b) { return vmaxq_s32(a, b); }
MEGCC_INLINE megcc_vm megcc_vi_lt(megcc_vi a, megcc_vi b) { return vcmpltq_s32(a, b); }
MEGCC_INLINE megcc_vm megcc_vi_eq(megcc_vi a, megcc_vi b) { return vcmpeqq_s32(a, b); }
MEGCC_INLINE megcc_vi megcc_vi8_load(const int8_t *p) { return vldrbq_s32(p); }
MEGCC_INLINE megcc_vi megcc_vu8_load(const uint8_t *p) {
  return vreinterpretq_s32_u32(vldrbq_u32(p));
}
MEGCC_INLINE void megcc_vu8_store(uint8_t *p, megcc_vi v) {
  vstrbq_u32(p, vreinterpretq_u32_s32(v));
}
MEGCC_INLINE void megcc_vi_store_low16(uint16_t *p, megcc_vi v) {
  vstrhq_u32(p, vreinterpretq_u32_s32(v));
}

#elif defined(MEGCC_SIMD_X86_H)

#if MEGCC_VL == 16
#define MEGCC_X86_WIDE(name, p) _mm512_##name(_mm_loadu_si128((const __m128i *)(const void *)(p)))
MEGCC_INLINE megcc_vi megcc_vi_load(const int32_t *p) { return _mm512_loadu_si512(p); }
MEGCC_INLINE void megcc_vi_store(int32_t *p, megcc_vi v) { _mm512_storeu_si512(p, v); }
MEGCC_INLINE megcc_vm megcc_vi_lt(megcc_vi a, megcc_vi b) { return _mm512_cmplt_epi32_mask(a, b); }
MEGCC_INLINE megcc_vm megcc_vi_eq(megcc_vi a, megcc_vi b) { return _mm512_cmpeq_epi32_mask(a, b); }
MEGCC_INLINE void megcc_vu8_store(uint8_t *p, megcc_vi v) {
  _mm_storeu_si128((__m128i *)(void *)p, _mm512_cvtepi32_epi8(v));
}
MEGCC_INLINE void megcc_vi_store_low16(uint16_t *p, megcc_vi v) {
  _mm256_storeu_si256((__m256i *)(void *)p, _mm512_cvtepi32_epi16(v));
}
#else
#define MEGCC_X86_WIDE(name, p) _mm256_##name(_mm_loadl_epi64((const __m128i *)(const void *)(p)))
MEGCC_INLINE megcc_vi megcc_vi_load(const int32_t *p) {
  return _mm256_loadu_si256((const __m256i *)(const void *)p);
}
MEGCC_INLINE void megcc_vi_store(int32_t *p, megcc_vi v) {
  _mm256_storeu_si256((__m256i *)(void *)p, v);
}
MEGCC_INLINE megcc_vm megcc_vi_lt(megcc_vi a, megcc_vi b) {
  return _mm256_castsi256_ps(_mm256_cmpgt_epi32(b, a));
}
MEGCC_INLINE megcc_vm megcc_vi_eq(megcc_vi a, megcc_vi b) {
  return _mm256_castsi256_ps(_mm256_cmpeq_epi32(a, b));
}
// The low halves of eight words.
MEGCC_INLINE __m128i megcc_x86_low16(megcc_vi v) {
  const __m256i low = _mm256_and_si256(v, _mm256_set1_epi32(0xffff));
  return _mm_packus_epi32(_mm256_castsi256_si128(low), _mm256_extracti128_si256(low, 1));
}
MEGCC_INLINE void megcc_vu8_store(uint8_t *p, megcc_vi v) {
  const __m128i low = megcc_x86_low16(_mm256_and_si256(v, _mm256_set1_epi32(0xff)));
  _mm_storel_epi64((__m128i *)(void *)p, _mm_packus_epi16(low, low));
}
MEGCC_INLINE void megcc_vi_store_low16(uint16_t *p, megcc_vi v) {
  _mm_storeu_si128((__m128i *)(void *)p, megcc_x86_low16(v));
}
#endif
MEGCC_INLINE megcc_vi megcc_vi_mul(megcc_vi a, megcc_vi b) { return MEGCC_MM(mullo_epi32)(a, b); }
MEGCC_INLINE megcc_vi megcc_vi_min(megcc_vi a, megcc_vi b) { return MEGCC_MM(min_epi32)(a, b); }
MEGCC_INLINE megcc_vi megcc_vi_max(megcc_vi a, megcc_vi b) { return MEGCC_MM(max_epi32)(a, b); }
MEGCC_INLINE megcc_vi megcc_vi8_load(const int8_t *p) { return MEGCC_X86_WIDE(cvtepi8_epi32, p); }
MEGCC_INLINE megcc_vi megcc_vu8_load(const uint8_t *p) { return MEGCC_X86_WIDE(cvtepu8_epi32, p); }

#else

#if MEGCC_VL == 4
#define MEGCC_C_EACH(of) \
  { of(0), of(1), of(2), of(3) }
#define MEGCC_C_MASK(m) (m)
#else
#define MEGCC_C_EACH(of) of(0)
#define MEGCC_C_MASK(m) (-(m))
#endif
#define MEGCC_C_OF_MEMORY(k) p[k]
MEGCC_INLINE megcc_vi megcc_vi_load(const int32_t *p) {
  const megcc_vi v = MEGCC_C_EACH(MEGCC_C_OF_MEMORY);
  return v;
}
MEGCC_INLINE megcc_vi megcc_vi8_load(const int8_t *p) {
  const megcc_vi v = MEGCC_C_EACH(MEGCC_C_OF_MEMORY);
  return v;
}
MEGCC_INLINE megcc_vi megcc_vu8_load(const uint8_t *p) {
  const megcc_vi v = MEGCC_C_EACH(MEGCC_C_OF_MEMORY);
  return v;
}
MEGCC_INLINE void megcc_vi_store(int32_t *p, megcc_vi v) {
  for (int k = 0; k < MEGCC_VL; ++k) p[k] = MEGCC_C_LANE(v, k);
}
MEGCC_INLINE void megcc_vu8_store(uint8_t *p, megcc_vi v) {
  for (int k = 0; k < MEGCC_VL; ++k) p[k] = (uint8_t)MEGCC_C_LANE(v, k);
}
MEGCC_INLINE void megcc_vi_store_low16(uint16_t *p, megcc_vi v) {
  for (int k = 0; k < MEGCC_VL; ++k) p[k] = (uint16_t)MEGCC_C_LANE(v, k);
}
MEGCC_INLINE megcc_vi megcc_vi_mul(megcc_vi a, megcc_vi b) {
#if MEGCC_VL == 4
  typedef uint32_t vu __attribute__((vector_size(16)));
  return (megcc_vi)((vu)a * (vu)b);
#else
  return (int32_t)((uint32_t)a * (uint32_t)b);
#endif
}
MEGCC_INLINE megcc_vm megcc_vi_lt(megcc_vi a, megcc_vi b) { return MEGCC_C_MASK(a < b); }
MEGCC_INLINE megcc_vm megcc_vi_eq(megcc_vi a, megcc_vi b) { return MEGCC_C_MASK(a == b); }
MEGCC_INLINE megcc_vi megcc_vi_min(megcc_vi a, megcc_vi b) {
  const megcc_vm m = MEGCC_C_MASK(a < b);
  return (a & m) | (b & ~m);
}
MEGCC_INLINE megcc_vi megcc_vi_max(megcc_vi a, megcc_vi b) {
  const megcc_vm m = MEGCC_C_MASK(b < a);
  return (a & m) | (b & ~m);
}

#endif

MEGCC_INLINE megcc_vm megcc_vi_le(megcc_vi a, megcc_vi b) {
  return megcc_vm_not(megcc_vi_lt(b, a));
}
MEGCC_INLINE megcc_vm megcc_vi_ne(megcc_vi a, megcc_vi b) {
  return megcc_vm_not(megcc_vi_eq(a, b));
}
MEGCC_INLINE megcc_vi megcc_vi_select(megcc_vm m, megcc_vi a, megcc_vi b) {
  return megcc_vf_bits(megcc_vf_select(m, megcc_vi_float(a), megcc_vi_float(b)));
}
MEGCC_INLINE megcc_vi megcc_vf_to_i32(megcc_vf v) {
  const megcc_vf low = megcc_vf_dup(-2147483648.0f);
  const megcc_vf high = megcc_vf_dup(2147483520.0f);
#if defined(__aarch64__) && defined(MEGCC_SIMD_NEON_H)
  // Of a signalling NaN, a maximum would be a NaN.
  return megcc_vf_to_vi(vminnmq_f32(megcc_vf_select(megcc_vf_gt(v, low), v, low), high));
#else
  v = megcc_vf_select(megcc_vf_gt(v, low), v, low);
  return megcc_vf_to_vi(megcc_vf_select(megcc_vf_lt(v, high), v, high));
#endif
}

MEGCC_INLINE void megcc_vi8_store(int8_t *p, megcc_vi v) { megcc_vu8_store((uint8_t *)p, v); }
MEGCC_INLINE megcc_vm megcc_vm_load(const uint8_t *p) {
  return megcc_vi_lt(megcc_vi_dup(0), megcc_vu8_load(p));
}
MEGCC_INLINE void megcc_vm_store(uint8_t *p, megcc_vm m) {
  megcc_vu8_store(p, megcc_vi_select(m, megcc_vi_dup(1), megcc_vi_dup(0)));
}

// The bits of bf16, in the low halves of the lanes.
MEGCC_INLINE megcc_vi megcc_vb_bits(megcc_vf v) {
  const megcc_vi bits = megcc_vf_bits(v), top = megcc_vi_shr(bits, 16);
  const megcc_vi odd = megcc_vi_and(top, megcc_vi_dup(1));
  const megcc_vi up = megcc_vi_add(bits, megcc_vi_add(odd, megcc_vi_dup(0x7fff)));
  return megcc_vi_select(megcc_vf_eq(v, v), megcc_vi_shr(up, 16),
                         megcc_vi_or(top, megcc_vi_dup(0x40)));
}
MEGCC_INLINE megcc_vf megcc_vb_load(const uint16_t *p) { return megcc_vf_load_bf16(p); }
MEGCC_INLINE void megcc_vb_store(uint16_t *p, megcc_vf v) {
  megcc_vi_store_low16(p, megcc_vb_bits(v));
}
MEGCC_INLINE megcc_vf megcc_vb_round(megcc_vf v) {
  return megcc_vi_float(megcc_vi_shl(megcc_vb_bits(v), 16));
}

#define MEGCC_SIMD_SOME(name, type, vector)                                \
  MEGCC_INLINE vector megcc_##name##_load_n(const type *p, int32_t n) {    \
    type lanes[MEGCC_VL] = {0};                                            \
    for (int32_t k = 0; k < n; ++k) lanes[k] = p[k];                       \
    return megcc_##name##_load(lanes);                                     \
  }                                                                        \
  MEGCC_INLINE void megcc_##name##_store_n(type *p, vector v, int32_t n) { \
    type lanes[MEGCC_VL];                                                  \
    megcc_##name##_store(lanes, v);                                        \
    for (int32_t k = 0; k < n; ++k) p[k] = lanes[k];                       \
  }
MEGCC_SIMD_SOME(vi, int32_t, megcc_vi)
MEGCC_SIMD_SOME(vi8, int8_t, megcc_vi)
MEGCC_SIMD_SOME(vu8, uint8_t, megcc_vi)
MEGCC_SIMD_SOME(vm, uint8_t, megcc_vm)
MEGCC_SIMD_SOME(vb, uint16_t, megcc_vf)

#endif  // MEGCC_SIMD_TYPES_H
