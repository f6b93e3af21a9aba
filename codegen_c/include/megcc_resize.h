// Coordinates of resize2d, in float as ONNX Runtime computes them.
#ifndef MEGCC_RESIZE_H
#define MEGCC_RESIZE_H

#include "megcc_kernel.h"
#include "op/resize2d.h"

typedef struct {
  int32_t in, out, coord;
  float scale;  // output over input
} megcc_resize_axis_t;

MEGCC_INLINE megcc_resize_axis_t megcc_resize_axis(int32_t in, int32_t out, int32_t scale_bits,
                                                   int32_t coord) {
  const megcc_resize_axis_t a = {in, out, coord,
                                 scale_bits ? megcc_attr_f32(scale_bits) : (float)out / (float)in};
  return a;
}

// The input coordinate of output element `o`.
MEGCC_INLINE float megcc_resize_source(const megcc_resize_axis_t *a, int32_t o) {
  switch (a->coord) {
    case RESIZE2D_ALIGN_CORNERS:
      return a->out == 1 ? 0.0f : (float)o * (float)(a->in - 1) / (float)(a->out - 1);
    case RESIZE2D_ASYMMETRIC: return (float)o / a->scale;
    case RESIZE2D_PYTORCH_HALF_PIXEL:
      return a->out == 1 ? 0.0f : ((float)o + 0.5f) / a->scale - 0.5f;
    default: return ((float)o + 0.5f) / a->scale - 0.5f;
  }
}

// The element nearest to the source of `o`.
MEGCC_INLINE int32_t megcc_resize_nearest(const megcc_resize_axis_t *a, int32_t o, int32_t round) {
  const float s = megcc_resize_source(a, o);
  if (!(s > 0.0f)) return 0;  // also where -0.5 would be rounded
  if (s >= (float)(a->in - 1)) return a->in - 1;
  const int32_t floor = (int32_t)s;
  const float part = s - (float)floor;
  switch (round) {
    case RESIZE2D_CEIL: return floor + (part > 0.0f);
    case RESIZE2D_PREFER_FLOOR: return floor + (part > 0.5f);
    case RESIZE2D_PREFER_CEIL: return floor + (part >= 0.5f);
    default: return floor;
  }
}

// The two neighbours of the source of `o` and the weight of the second. Where the source is an
// element, both neighbours are that element, with weights of 1/2: another neighbour of weight 0
// might be infinite, and the product NaN.
typedef struct {
  int32_t lo, hi;
  float weight;
} megcc_resize_tap_t;

MEGCC_INLINE megcc_resize_tap_t megcc_resize_tap(const megcc_resize_axis_t *a, int32_t o) {
  const float top = (float)(a->in - 1);
  float s = megcc_resize_source(a, o);
  s = s > 0.0f ? s : 0.0f;
  s = s < top ? s : top;
  megcc_resize_tap_t t;
  t.lo = (int32_t)s;
  t.weight = s - (float)t.lo;
  t.hi = t.weight > 0.0f ? t.lo + 1 : t.lo;
  if (t.hi == t.lo) t.weight = 0.5f;
  return t;
}

#endif  // MEGCC_RESIZE_H
