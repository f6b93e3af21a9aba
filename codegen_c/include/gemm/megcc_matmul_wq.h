// Weights that are quantised, in panels of 16 columns (packing.py, wq_panels): of a panel the
// blocks of k one after the other, of a block 16 bytes for each k, or for each two of them, the
// first in the lower four bits. Scales and zero points of a block are 16 of each, or one for all.
//
// The including kernel defines BITS, ZERO, CHANNELS, BIAS, ACT and RESIDUAL, and SCALE16 as 1 where
// scales are f16.
#ifndef MEGCC_MATMUL_WQ_H
#define MEGCC_MATMUL_WQ_H

// Sixteen floats are that whatever the elements of lhs and dst are: before megcc_elem.h.
#include "simd/megcc_simd_wide.h"

#include "megcc_epilogue.h"
#include "op/matmul_wq.h"

#ifndef BITS
#define BITS 8
#endif
#ifndef ZERO
#define ZERO 0
#endif
#ifndef CHANNELS
#define CHANNELS 1
#endif
#ifndef BIAS
#define BIAS 1
#endif
#ifndef SCALE16
#define SCALE16 0
#endif

#if SCALE16
typedef megcc_elem_t megcc_wq_scale_t;
#if defined(MEGCC_SIMD_FP16_H)
#define MEGCC_WQ_SCALE(i) w.v##i = vcvt_f32_f16(vld1_f16(p + 4 * (i)));
#else
#define MEGCC_WQ_SCALE(i) w.v##i = megcc_vf_load(p + (i)*MEGCC_VL);
#endif
MEGCC_INLINE megcc_w16 megcc_wq_scales(const megcc_wq_scale_t *p) {
  megcc_w16 w;
  MEGCC_W16_EACH(MEGCC_WQ_SCALE)
  return w;
}
MEGCC_INLINE megcc_w16 megcc_wq_one_scale(const megcc_wq_scale_t *p) {
  return megcc_w16_dup(megcc_elem_f32(*p));
}
#else
typedef float megcc_wq_scale_t;
MEGCC_INLINE megcc_w16 megcc_wq_scales(const megcc_wq_scale_t *p) { return megcc_w16_load(p); }
MEGCC_INLINE megcc_w16 megcc_wq_one_scale(const megcc_wq_scale_t *p) { return megcc_w16_dup(*p); }
#endif

#define MEGCC_WQ_COLS MEGCC_W16

typedef struct {
  const int8_t *weights, *zero;
  const megcc_wq_scale_t *scale;
} megcc_wq_at_t;

// Bytes of a block of so many k.
MEGCC_INLINE size_t megcc_wq_bytes(int32_t length) {
  return (size_t)(BITS == 4 ? (length + 1) / 2 : length) * MEGCC_WQ_COLS;
}

// Bytes of a panel.
MEGCC_INLINE size_t megcc_wq_panel_bytes(int32_t k, int32_t block) {
  return (size_t)(k / block) * megcc_wq_bytes(block) + megcc_wq_bytes(k % block);
}

// The begin of a panel; panels have so many bytes.
MEGCC_INLINE megcc_wq_at_t megcc_wq_panel(void *const *ptr, const int32_t *attr, int32_t panel,
                                          size_t bytes) {
  const int32_t k = attr[MATMUL_WQ_K], block = attr[MATMUL_WQ_BLOCK];
  const size_t blocks = (size_t)((k + block - 1) / block);
  const size_t first = CHANNELS ? (size_t)panel * blocks * MEGCC_WQ_COLS : 0;
  megcc_wq_at_t at;
  at.weights = (const int8_t *)ptr[1] + (size_t)panel * bytes;
  at.scale = (const megcc_wq_scale_t *)ptr[2] + first;
  at.zero = ZERO ? (const int8_t *)ptr[3] + first : NULL;
  return at;
}

MEGCC_INLINE megcc_w16 megcc_wq_scale(const megcc_wq_at_t *at) {
  return CHANNELS ? megcc_wq_scales(at->scale) : megcc_wq_one_scale(at->scale);
}

// The zero points of a block, and the numbers of one k less them: of the lower four bits, of the
// upper, or of bytes.
#if !ZERO
typedef int megcc_wq_zero_t;
#define MEGCC_WQ_ZERO(at) 0
#elif BITS == 4
typedef megcc_z16 megcc_wq_zero_t;
#define MEGCC_WQ_ZERO(at) (CHANNELS ? megcc_z16_load((at)->zero) : megcc_z16_dup(*(at)->zero))
#else
typedef megcc_w16 megcc_wq_zero_t;
#define MEGCC_WQ_ZERO(at) (CHANNELS ? megcc_w16_i8((at)->zero) : megcc_w16_dup((float)*(at)->zero))
#endif
#if ZERO && BITS == 4
#define MEGCC_WQ_LOW(p, zero) megcc_w16_i4_low_less(p, zero)
#define MEGCC_WQ_HIGH(p, zero) megcc_w16_i4_high_less(p, zero)
#elif BITS == 4
#define MEGCC_WQ_LOW(p, zero) ((void)(zero), megcc_w16_i4_low(p))
#define MEGCC_WQ_HIGH(p, zero) ((void)(zero), megcc_w16_i4_high(p))
#elif ZERO
#define MEGCC_WQ_LOW(p, zero) megcc_w16_sub(megcc_w16_i8(p), zero)
#else
#define MEGCC_WQ_LOW(p, zero) ((void)(zero), megcc_w16_i8(p))
#endif

// To the scales and zero points of the next block.
MEGCC_INLINE void megcc_wq_next(megcc_wq_at_t *at) {
  if (CHANNELS) at->scale += MEGCC_WQ_COLS;
  if (CHANNELS && ZERO) at->zero += MEGCC_WQ_COLS;
}

#endif  // MEGCC_MATMUL_WQ_H
