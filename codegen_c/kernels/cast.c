// kernel: cast
// op: cast
// dtype: x=f32,bool,i8,u8,i16,u16,i32,u32,i64,u64 y=f32,bool,i8,u8,i16,u16,i32,u32,i64,u64
// arch: portable
// isa: none
// rank: 0
// params: FROM=X TO=Y
// work: size
// cost: 8
//
// One element at a time.
#include "megcc_dtype.h"
#include "megcc_int.h"
#include "megcc_kernel.h"
#include "op/cast.h"

#ifndef MEGCC_SYMBOL
#define MEGCC_SYMBOL megcc_cast
#endif
#ifndef FROM
#define FROM f32
#endif
#ifndef TO
#define TO i32
#endif

// The names of dtypes as numbers, so that the preprocessor can compare them.
#define IS_f32 1
#define IS_bool 2
#define IS_i8 3
#define IS_i16 3
#define IS_i32 3
#define IS_u8 3
#define IS_u16 3
#define IS_u32 4
#define IS_i64 4
#define IS_u64 5
#define KIND(dtype) MEGCC_CAT(IS_, dtype)

typedef MEGCC_CTYPE(FROM) from_t;
typedef MEGCC_CTYPE(TO) to_t;

MEGCC_INLINE to_t convert(from_t x) {
#if KIND(TO) == IS_bool
  return x != 0;
#elif KIND(FROM) != IS_f32 || KIND(TO) == IS_f32
  return (to_t)x;
#elif KIND(TO) == IS_i32
  return (to_t)megcc_f32_to_i32(x);
#elif KIND(TO) == IS_i64
  return (to_t)megcc_f32_to_i64(x);
#else
  return (to_t)megcc_f32_to_u64(x);
#endif
}

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  (void)workspace, (void)attr;
  const from_t *x = ptr[0];
  to_t *y = ptr[1];
  for (int32_t i = begin; i < end; ++i) y[i] = convert(x[i]);
}
