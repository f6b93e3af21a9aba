// Makes an i32 sum an output element: the integer itself, a real number, or 8 bits again.
//
// A kernel instance defines OUT (MEGCC_QUANT_*), ACT (MEGCC_ACT_*), SCALES (whether there is a
// scale for each channel), OFFSET (whether there is an offset) and ZERO (whether the zero point of
// the data is an operand) before it includes this header. ONNX requantises as y =
// saturate(round(f32(sum) * scale) + zero point), rounding half to even, and so does this: to the
// bit.
#ifndef MEGCC_REQUANT_H
#define MEGCC_REQUANT_H

#include "math/megcc_round.h"
#include "megcc_act.h"
#include "megcc_dtype.h"
#include "megcc_quant_codes.h"
#include "megcc_requant_integer.h"
#include "megcc_soft_floats.h"

#ifndef OUT
#define OUT MEGCC_QUANT_STORED
#endif
#ifndef SCALES
#define SCALES 1
#endif
#ifndef OFFSET
#define OFFSET 0
#endif
#ifndef ZERO
#define ZERO 0
#endif
#ifndef Y
#define Y i8
#endif

// 1 for an unsigned type of data or results.
#define MEGCC_IS_UNSIGNED_u8 1
#define MEGCC_IS_UNSIGNED_i8 0
#define MEGCC_IS_UNSIGNED_i32 0
#define MEGCC_IS_UNSIGNED_f32 0
#define MEGCC_IS_UNSIGNED(dtype) MEGCC_CAT(MEGCC_IS_UNSIGNED_, dtype)

// The operands behind the first `n`, in the order of the operator's header; NULL for those that the
// call has not.
#define MEGCC_SCALE(ptr, n) (OUT ? (const float *)(ptr)[n] : NULL)
#define MEGCC_OFFSET(ptr, n) (OFFSET ? (const float *)(ptr)[(n) + 1] : NULL)
#define MEGCC_ZERO(ptr, n) (ZERO ? (const void *)(ptr)[(n) + (OUT ? 1 : 0) + OFFSET] : NULL)
#define MEGCC_QUANT_DST(ptr, n) ((ptr)[(n) + (OUT ? 1 : 0) + OFFSET + ZERO])

// The rescaling of a call: scales and offsets of all channels, and the attributes' numbers.
typedef struct {
  const float *scale, *offset;
  int32_t zero, low, high;
  float act_a, act_b;
} megcc_rescale;

// The rescaling of a call: `ptr` has its operands, behind the first `n`; `attr` begins at y's zero
// point.
MEGCC_INLINE megcc_rescale megcc_rescale_of(void *const *ptr, int32_t n, const int32_t *attr) {
  megcc_rescale r;
  r.scale = MEGCC_SCALE(ptr, n);
  r.offset = MEGCC_OFFSET(ptr, n);
  r.zero = attr[0], r.low = attr[1], r.high = attr[2];
  r.act_a = megcc_attr_f32(attr[3]), r.act_b = megcc_attr_f32(attr[4]);
  return r;
}

// The value of channel `c` whose sum is `sum`, as an element of the output.
MEGCC_INLINE MEGCC_CTYPE(Y) megcc_rescaled(const megcc_rescale *r, int32_t sum, int32_t c) {
#if OUT == MEGCC_QUANT_SUMS
  (void)r, (void)c;
  return sum;
#elif OUT == MEGCC_QUANT_STORED && MEGCC_SOFT_FLOATS && !OFFSET
  const union {
    float f;
    uint32_t bits;
  } scale = {r->scale[SCALES ? c : 0]};
  return (MEGCC_CTYPE(Y))megcc_requant_integer(sum, scale.bits, r->zero, r->low, r->high);
#else
  float v = (float)sum * r->scale[SCALES ? c : 0];
  if (OFFSET) {
    volatile float product = v;  // rounded, though packages are compiled with contraction
    v = product + r->offset[c];
  }
#if OUT == MEGCC_QUANT_REAL
  return megcc_act_f32(v, r->act_a, r->act_b);
#else
#if defined(MEGCC_NEAREST)
  return (MEGCC_CTYPE(Y))MEGCC_NEAREST(v, r->zero, r->low, r->high);
#else
  // Clamped before the conversion, which is undefined for a number outside i32. The limits of the
  // type are far inside, and a NaN becomes the lower one. They are integers, so the result is the
  // same whether rounding comes before or after clamping.
  const float low = (float)(r->low - r->zero), high = (float)(r->high - r->zero);
  v = megcc_roundf(v);
  v = v > low ? v : low;
  v = v < high ? v : high;
  return (MEGCC_CTYPE(Y))((int32_t)v + r->zero);
#endif
#endif
#endif
}

#endif  // MEGCC_REQUANT_H
