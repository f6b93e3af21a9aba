// Integer arithmetic with a defined result for every input, and conversions from float.
//
// C leaves overflow, division by zero, INT_MIN / -1, shifts by the width and out-of-range float
// conversions undefined. Here integers wrap; x / 0 is 0 and x % 0 is 0; INT_MIN / -1 is INT_MIN;
// a shift by the width or more (or by a negative count) gives 0, or the sign for a signed right
// shift; a float out of range saturates (to the largest float that fits) and NaN gives the minimum.
// All of it compiles to a compare and a select where operands are unknown, to nothing where the
// divisor or count is a constant.
#ifndef MEGCC_INT_H
#define MEGCC_INT_H

#include <stdint.h>

#include "megcc_kernel.h"

// floor(a / b) and the remainder with b's sign; div and mod truncate, as C does.
#define MEGCC_DIVIDE_SIGNED(T, U, S)                                                    \
  MEGCC_INLINE T megcc_div_##S(T a, T b) {                                              \
    return (T)(b == 0 ? 0 : b == -1 ? (T)(0 - (U)a) : (T)(a / b));                      \
  }                                                                                     \
  MEGCC_INLINE T megcc_mod_##S(T a, T b) { return (T)(b == 0 || b == -1 ? 0 : a % b); } \
  MEGCC_INLINE T megcc_floormod_##S(T a, T b) {                                         \
    T r = megcc_mod_##S(a, b);                                                          \
    return (T)(r != 0 && (r ^ b) < 0 ? r + b : r);                                      \
  }                                                                                     \
  MEGCC_INLINE T megcc_floordiv_##S(T a, T b) {                                         \
    T q = megcc_div_##S(a, b);                                                          \
    T r = megcc_mod_##S(a, b);                                                          \
    return (T)(r != 0 && (r ^ b) < 0 ? q - 1 : q);                                      \
  }

#define MEGCC_DIVIDE_UNSIGNED(T, S)                                          \
  MEGCC_INLINE T megcc_div_##S(T a, T b) { return (T)(b == 0 ? 0 : a / b); } \
  MEGCC_INLINE T megcc_mod_##S(T a, T b) { return (T)(b == 0 ? 0 : a % b); }

// U computes without promotion to a narrower signed type; W is the width in bits.
#define MEGCC_SHIFT(T, U, S, W)                                   \
  MEGCC_INLINE T megcc_shl_##S(T a, T b) {                        \
    return (T)((uint64_t)b < (W) ? (U)a << ((U)b & ((W)-1)) : 0); \
  }

#define MEGCC_SHIFT_RIGHT_UNSIGNED(T, U, S, W) \
  MEGCC_INLINE T megcc_shr_##S(T a, T b) { return (T)(b < (W) ? (U)a >> ((U)b & ((W)-1)) : 0); }

#define MEGCC_SHIFT_RIGHT_SIGNED(T, S, W) \
  MEGCC_INLINE T megcc_shr_##S(T a, T b) { return (T)(a >> ((uint64_t)b < (W) ? (int)b : (W)-1)); }

#define MEGCC_MIN_MAX(T, S)                                        \
  MEGCC_INLINE T megcc_min_##S(T a, T b) { return a < b ? a : b; } \
  MEGCC_INLINE T megcc_max_##S(T a, T b) { return a > b ? a : b; }

// Floats: a NaN in the first operand survives, one in the second does not (one instruction each);
// in the `nan` forms any NaN does. `choose` computes both its values, whichever it is.
#define MEGCC_MIN_MAX_FLOAT(T, S)                                               \
  MEGCC_INLINE T megcc_choose_##S(int yes, T a, T b) { return yes ? a : b; }    \
  MEGCC_INLINE T megcc_min_##S(T a, T b) { return b < a ? b : a; }              \
  MEGCC_INLINE T megcc_max_##S(T a, T b) { return b > a ? b : a; }              \
  MEGCC_INLINE T megcc_nanmin_##S(T a, T b) { return b < a || b != b ? b : a; } \
  MEGCC_INLINE T megcc_nanmax_##S(T a, T b) { return b > a || b != b ? b : a; }

#define MEGCC_SIGNED(T, U, S, W) \
  MEGCC_MIN_MAX(T, S)            \
  MEGCC_DIVIDE_SIGNED(T, U, S)   \
  MEGCC_SHIFT(T, U, S, W)        \
  MEGCC_SHIFT_RIGHT_SIGNED(T, S, W)

#define MEGCC_UNSIGNED(T, U, S, W) \
  MEGCC_MIN_MAX(T, S)              \
  MEGCC_DIVIDE_UNSIGNED(T, S)      \
  MEGCC_SHIFT(T, U, S, W)          \
  MEGCC_SHIFT_RIGHT_UNSIGNED(T, U, S, W)

// clang-format off
MEGCC_SIGNED(int8_t, uint32_t, i8, 8)
MEGCC_SIGNED(int16_t, uint32_t, i16, 16)
MEGCC_SIGNED(int32_t, uint32_t, i32, 32)
MEGCC_SIGNED(int64_t, uint64_t, i64, 64)
MEGCC_UNSIGNED(uint8_t, uint32_t, u8, 8)
MEGCC_UNSIGNED(uint16_t, uint32_t, u16, 16)
MEGCC_UNSIGNED(uint32_t, uint32_t, u32, 32)
MEGCC_UNSIGNED(uint64_t, uint64_t, u64, 64)
MEGCC_MIN_MAX(int, bool)
MEGCC_MIN_MAX(ptrdiff_t, idx)
MEGCC_DIVIDE_SIGNED(ptrdiff_t, size_t, idx)
MEGCC_MIN_MAX_FLOAT(float, f32)
MEGCC_MIN_MAX_FLOAT(double, f64)
// clang-format on

// The bits of a float and back.

MEGCC_INLINE uint32_t megcc_f32_bits(float x) {
  union {
    float f;
    uint32_t u;
  } v;
  v.f = x;
  return v.u;
}

MEGCC_INLINE float megcc_f32_from_bits(uint32_t x) {
  union {
    float f;
    uint32_t u;
  } v;
  v.u = x;
  return v.f;
}

MEGCC_INLINE uint64_t megcc_f64_bits(double x) {
  union {
    double f;
    uint64_t u;
  } v;
  v.f = x;
  return v.u;
}

MEGCC_INLINE double megcc_f64_from_bits(uint64_t x) {
  union {
    double f;
    uint64_t u;
  } v;
  v.u = x;
  return v.f;
}

// Conversions that round towards zero. The upper clamp is the largest float below the limit.

MEGCC_INLINE int32_t megcc_f32_to_i32(float x) {
  x = x > -2147483648.0f ? x : -2147483648.0f;
  return (int32_t)(x < 2147483520.0f ? x : 2147483520.0f);
}

MEGCC_INLINE int64_t megcc_f32_to_i64(float x) {
  x = x > -9223372036854775808.0f ? x : -9223372036854775808.0f;
  return (int64_t)(x < 9223371487098961920.0f ? x : 9223371487098961920.0f);
}

MEGCC_INLINE uint64_t megcc_f32_to_u64(float x) {
  if (!(x >= 9223372036854775808.0f)) return (uint64_t)megcc_f32_to_i64(x);
  return (uint64_t)(x < 18446742974197923840.0f ? x : 18446742974197923840.0f);
}

MEGCC_INLINE int32_t megcc_f64_to_i32(double x) {
  x = x > -2147483648.0 ? x : -2147483648.0;
  return (int32_t)(x < 2147483647.0 ? x : 2147483647.0);
}

MEGCC_INLINE int64_t megcc_f64_to_i64(double x) {
  x = x > -9223372036854775808.0 ? x : -9223372036854775808.0;
  return (int64_t)(x < 9223372036854774784.0 ? x : 9223372036854774784.0);
}

MEGCC_INLINE uint64_t megcc_f64_to_u64(double x) {
  if (!(x >= 9223372036854775808.0)) return (uint64_t)megcc_f64_to_i64(x);
  return (uint64_t)(x < 18446744073709549568.0 ? x : 18446744073709549568.0);
}

MEGCC_INLINE int megcc_popcount_u64(uint64_t x) {
  x = x - ((x >> 1) & UINT64_C(0x5555555555555555));
  x = (x & UINT64_C(0x3333333333333333)) + ((x >> 2) & UINT64_C(0x3333333333333333));
  x = (x + (x >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f);
  return (int)((x * UINT64_C(0x0101010101010101)) >> 56);
}

/// Leading zeros; 64 for 0.
MEGCC_INLINE int megcc_clz_u64(uint64_t x) {
  x |= x >> 1;
  x |= x >> 2;
  x |= x >> 4;
  x |= x >> 8;
  x |= x >> 16;
  x |= x >> 32;
  return 64 - megcc_popcount_u64(x);
}

#endif  // MEGCC_INT_H
