// kernel: unary_f32 FUNC=MEGCC_ACT_RELU
// op: unary
// dtype: f32
// arch: portable
// isa: none
// rank: 0
// params: FUNC=func
// inplace: x
// work: size
// cost: 32
//
// The reference: one element at a time through megcc_math.h.
#include "megcc_kernel.h"
#include "math/megcc_math.h"
#include "op/unary.h"

MEGCC_UNUSED MEGCC_INLINE float clip(float x, float lo, float hi) {
  x = x < lo ? lo : x;
  return x > hi ? hi : x;
}

MEGCC_INLINE float apply(float x, float a, float b) {
  (void)a, (void)b;
#if FUNC == MEGCC_ACT_NONE
  return x;
#elif FUNC == MEGCC_ACT_RELU
  return x < 0.0f ? 0.0f : x;
#elif FUNC == MEGCC_ACT_CLIP
  return clip(x, a, b);
#elif FUNC == MEGCC_ACT_SIGMOID
  return 1.0f / (1.0f + megcc_expf(-x));
#elif FUNC == MEGCC_ACT_TANH
  return megcc_tanhf(x);
#elif FUNC == MEGCC_ACT_SILU
  return x / (1.0f + megcc_expf(-x));
#elif FUNC == MEGCC_ACT_HARDSIGMOID
  return clip(a * x + b, 0.0f, 1.0f);
#elif FUNC == MEGCC_ACT_HARDSWISH
  return x * clip(x * (1.0f / 6.0f) + 0.5f, 0.0f, 1.0f);
#elif FUNC == MEGCC_ACT_LEAKY_RELU
  return x < 0.0f ? a * x : x;
#elif FUNC == MEGCC_ACT_GELU
  return 0.5f * x * (1.0f + megcc_erff(x * 0.70710678f));
#elif FUNC == MEGCC_ACT_GELU_TANH
  return x / (1.0f + megcc_expf(-1.5957691f * (x + 0.044715f * (x * x * x))));
#elif FUNC == MEGCC_ACT_ELU
  return x < 0.0f ? a * megcc_expm1f(x) : x;
#elif FUNC == UNARY_EXP
  return megcc_expf(x);
#elif FUNC == UNARY_LOG
  return megcc_logf(x);
#elif FUNC == UNARY_SQRT
  return megcc_sqrtf(x);
#elif FUNC == UNARY_RSQRT
  return 1.0f / megcc_sqrtf(x);
#elif FUNC == UNARY_NEG
  return -x;
#elif FUNC == UNARY_ABS
  return megcc_fabsf(x);
#elif FUNC == UNARY_FLOOR
  return megcc_floorf(x);
#elif FUNC == UNARY_CEIL
  return megcc_ceilf(x);
#elif FUNC == UNARY_ROUND
  return megcc_roundf(x);
#elif FUNC == UNARY_TRUNC
  return megcc_truncf(x);
#elif FUNC == UNARY_ERF
  return megcc_erff(x);
#elif FUNC == UNARY_SIN
  return megcc_sinf(x);
#elif FUNC == UNARY_COS
  return megcc_cosf(x);
#elif FUNC == UNARY_SIGN
  return x > 0.0f ? 1.0f : x < 0.0f ? -1.0f : x;
#elif FUNC == UNARY_SQUARE
  return x * x;
#else
#error "unary_f32.c does not have this FUNC"
#endif
}

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  (void)workspace;
  const float *x = ptr[0];
  float *y = ptr[1];
  const float a = megcc_attr_f32(attr[UNARY_ACT_A]), b = megcc_attr_f32(attr[UNARY_ACT_B]);
  for (int32_t i = begin; i < end; ++i) y[i] = apply(x[i], a, b);
}
