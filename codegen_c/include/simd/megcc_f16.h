// 16-bit floats in memory, float in registers.
//
// IEEE binary16 (f16) and bfloat16 (bf16) are stored as uint16_t. Conversions round to nearest,
// ties to even, and keep infinities, subnormals, signed zeros and (quietened) NaNs. Where the
// target has conversion instructions (Arm with __fp16, x86 with F16C) those are used.
#ifndef MEGCC_F16_H
#define MEGCC_F16_H

#include <stdint.h>

#include "math/megcc_int.h"

#if defined(__ARM_FP16_FORMAT_IEEE) && (__ARM_FP & 2)
#define MEGCC_F16_ARM 1
#elif defined(__F16C__)
#define MEGCC_F16_X86 1
#include "simd/megcc_intrinsics_x86.h"
#endif

/// Reference conversion without any instruction of the target; tests compare with it.
MEGCC_INLINE float megcc_f16_to_f32_soft(uint16_t h) {
  const uint32_t sign = (uint32_t)(h & 0x8000u) << 16;
  const uint32_t magnitude = (uint32_t)(h & 0x7fffu);
  // Exponent and fraction in their float places; a factor of 2^112 then corrects the exponent bias
  // and normalises subnormals on the way.
  const float scaled = megcc_f32_from_bits(magnitude << 13) * 5192296858534827628530496329220096.0f;
  const uint32_t special = 0x7f800000u | (magnitude << 13);
  const uint32_t bits = magnitude >= 0x7c00u ? special : megcc_f32_bits(scaled);
  const uint32_t quiet = magnitude > 0x7c00u ? 0x400000u : 0u;
  return megcc_f32_from_bits(sign | bits | quiet);
}

/// Reference conversion without any instruction of the target; tests compare with it.
MEGCC_INLINE uint16_t megcc_f32_to_f16_soft(float x) {
  const uint32_t bits = megcc_f32_bits(x);
  const uint32_t sign = (bits >> 16) & 0x8000u;
  const uint32_t magnitude = bits & 0x7fffffffu;
  // Normal results: round the 13 lost bits to even in integer arithmetic; a carry into the exponent
  // is right, up to infinity.
  const uint32_t normal = (magnitude - 0x38000000u + 0xfffu + ((magnitude >> 13) & 1u)) >> 13;
  // Subnormal results: adding 0.5 puts their last bit at the end of the fraction, and the addition
  // rounds it.
  const uint32_t tiny = megcc_f32_bits(megcc_f32_from_bits(magnitude) + 0.5f) - 0x3f000000u;
  const uint32_t nan = 0x7e00u | ((magnitude >> 13) & 0x3ffu);
  uint32_t h = magnitude < 0x38800000u ? tiny : normal;
  h = magnitude >= 0x47800000u ? 0x7c00u : h;
  h = magnitude > 0x7f800000u ? nan : h;
  return (uint16_t)(sign | h);
}

/// Finite numbers no larger than f16 has them; infinities and NaN stay.
MEGCC_INLINE float megcc_f16_hold(float x) {
  const float size = megcc_f32_from_bits(megcc_f32_bits(x) & 0x7fffffffu);
#if defined(__aarch64__) && defined(__GNUC__)
  // One instruction each; elsewhere these are calls of a library.
  const float held = __builtin_fmaxf(__builtin_fminf(x, 65504.0f), -65504.0f);
#else
  const float low = x > 65504.0f ? 65504.0f : x;
  const float held = low < -65504.0f ? -65504.0f : low;
#endif
  return size < megcc_f32_from_bits(0x7f800000u) ? held : x;
}

MEGCC_INLINE float megcc_f16_to_f32(uint16_t h) {
#if defined(MEGCC_F16_ARM)
  union {
    uint16_t u;
    __fp16 f;
  } v;
  v.u = h;
  return (float)v.f;
#elif defined(MEGCC_F16_X86)
  return _cvtsh_ss(h);
#else
  return megcc_f16_to_f32_soft(h);
#endif
}

MEGCC_INLINE uint16_t megcc_f32_to_f16(float x) {
#if defined(MEGCC_F16_ARM)
  union {
    uint16_t u;
    __fp16 f;
  } v;
  v.f = (__fp16)x;
  return v.u;
#elif defined(MEGCC_F16_X86)
  return (uint16_t)_cvtss_sh(x, 0);
#else
  return megcc_f32_to_f16_soft(x);
#endif
}

MEGCC_INLINE float megcc_bf16_to_f32(uint16_t h) { return megcc_f32_from_bits((uint32_t)h << 16); }

MEGCC_INLINE uint16_t megcc_f32_to_bf16(float x) {
  const uint32_t bits = megcc_f32_bits(x);
  const uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  const uint32_t nan = (bits >> 16) | 0x40u;
  return (uint16_t)((bits & 0x7fffffffu) > 0x7f800000u ? nan : rounded);
}

#endif  // MEGCC_F16_H
