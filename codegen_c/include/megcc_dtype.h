// C types by the names of `Program`'s dtypes, for kernels whose dtype is a parameter.
//
//   MEGCC_CTYPE(i32)   the element type
//   MEGCC_WTYPE(i32)   an unsigned type at least as wide as int in which + - * wrap
#ifndef MEGCC_DTYPE_H
#define MEGCC_DTYPE_H

#include <stdint.h>

#define MEGCC_CAT_(a, b) a##b
#define MEGCC_CAT(a, b) MEGCC_CAT_(a, b)
#define MEGCC_CTYPE(dtype) MEGCC_CAT(megcc_, dtype)
#define MEGCC_WTYPE(dtype) MEGCC_CAT(megcc_wrap_, dtype)

typedef float megcc_f32;
typedef double megcc_f64;
typedef uint8_t megcc_bool;  // 0 or 1
typedef int8_t megcc_i8;
typedef uint8_t megcc_u8;
typedef int16_t megcc_i16;
typedef uint16_t megcc_u16;
typedef int32_t megcc_i32;
typedef uint32_t megcc_u32;
typedef int64_t megcc_i64;
typedef uint64_t megcc_u64;

typedef uint32_t megcc_wrap_i8, megcc_wrap_u8, megcc_wrap_i16, megcc_wrap_u16, megcc_wrap_i32;
typedef uint32_t megcc_wrap_u32;
typedef uint64_t megcc_wrap_i64, megcc_wrap_u64;

// An element of 1, 2, 4 or 8 bytes that is only moved, whatever its type.
#define MEGCC_BYTES(esize) MEGCC_CAT(megcc_bytes_, esize)
#if defined(__GNUC__) || defined(__clang__)
#define MEGCC_MAY_ALIAS __attribute__((may_alias))
#else
#define MEGCC_MAY_ALIAS
#endif
typedef uint8_t megcc_bytes_1;
typedef uint16_t MEGCC_MAY_ALIAS megcc_bytes_2;
typedef uint32_t MEGCC_MAY_ALIAS megcc_bytes_4;
typedef uint64_t MEGCC_MAY_ALIAS megcc_bytes_8;

#endif  // MEGCC_DTYPE_H
