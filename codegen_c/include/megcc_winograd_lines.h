// The one-dimensional transforms of Winograd's convolution with a kernel of 3, for 1, 2, 3, 4 or 6
// outputs at a time, on vectors of channels.
//
// Points of evaluation: 0, 1, -1, infinity, 2, -2, 1/2, -1/2. So many outputs need two points more,
// the first ones; one output does without infinity. Weights are evaluated once, at the points of
// the largest form that a kernel has (packing.py, winograd_panels); a shorter tile at the edge of
// an image uses the first of them. So the factor that the weights of a point carry is that of the
// largest form, and the input of a shorter form makes up for it: MEGCC_WINOGRAD_M is the kernel's
// largest form.
//
// Inputs: with d(x) the polynomial of the inputs and M(x) the product of (x - q) over the finite
// points, the value for a point p is the sum of d times the coefficients of M(x) / (x - p), for
// infinity those of M(x). Pairs of points of opposite signs share their even and odd parts.
#ifndef MEGCC_WINOGRAD_LINES_H
#define MEGCC_WINOGRAD_LINES_H

#include "megcc_elem.h"
#include "simd/megcc_simd.h"

typedef struct {
  megcc_vf v0, v1, v2, v3, v4, v5, v6, v7;
} megcc_line_t;

MEGCC_INLINE megcc_line_t megcc_line_load(const megcc_elem_t *p, ptrdiff_t step, int n) {
  megcc_line_t d;
  d.v0 = megcc_vf_load(p);
  d.v1 = megcc_vf_load(p + step);
  d.v2 = n > 2 ? megcc_vf_load(p + 2 * step) : d.v0;
  d.v3 = n > 3 ? megcc_vf_load(p + 3 * step) : d.v0;
  d.v4 = n > 4 ? megcc_vf_load(p + 4 * step) : d.v0;
  d.v5 = n > 5 ? megcc_vf_load(p + 5 * step) : d.v0;
  d.v6 = n > 6 ? megcc_vf_load(p + 6 * step) : d.v0;
  d.v7 = n > 7 ? megcc_vf_load(p + 7 * step) : d.v0;
  return d;
}

MEGCC_INLINE void megcc_line_store(megcc_elem_t *p, ptrdiff_t step, int n, megcc_line_t d) {
  megcc_vf_store(p, d.v0);
  if (n > 1) megcc_vf_store(p + step, d.v1);
  if (n > 2) megcc_vf_store(p + 2 * step, d.v2);
  if (n > 3) megcc_vf_store(p + 3 * step, d.v3);
  if (n > 4) megcc_vf_store(p + 4 * step, d.v4);
  if (n > 5) megcc_vf_store(p + 5 * step, d.v5);
  if (n > 6) megcc_vf_store(p + 6 * step, d.v6);
  if (n > 7) megcc_vf_store(p + 7 * step, d.v7);
}

// a + k * b
MEGCC_INLINE megcc_vf megcc_line_add(megcc_vf a, float k, megcc_vf b) {
  return megcc_vf_fma(a, megcc_vf_dup(k), b);
}

// The value of a shorter form by the factor that the weights lack: 1 where they are of this form.
MEGCC_INLINE megcc_vf megcc_line_scale(megcc_vf a, float k) {
  return megcc_vf_mul(a, megcc_vf_dup(k));
}

// Transforms `outputs` + 2 inputs into the factors of the weights, for `outputs` outputs.
MEGCC_INLINE megcc_line_t megcc_winograd_in(int outputs, megcc_line_t d) {
  megcc_line_t v = d;
  if (outputs < 3) {
    const float one = MEGCC_WINOGRAD_M == 2 ? 1.0f : MEGCC_WINOGRAD_M == 4 ? -3.0f : -2.25f;
    const megcc_vf zero = megcc_vf_sub(d.v0, d.v2);
    const megcc_vf plus = megcc_vf_add(d.v2, d.v1), minus = megcc_vf_sub(d.v2, d.v1);
    v.v0 = MEGCC_WINOGRAD_M == 4 ? megcc_line_scale(zero, 4.0f) : zero;
    v.v1 = MEGCC_WINOGRAD_M == 2 ? plus : megcc_line_scale(plus, one);
    v.v2 = MEGCC_WINOGRAD_M == 2 ? minus : megcc_line_scale(minus, one);
    v.v3 = megcc_vf_sub(d.v3, d.v1);
  } else if (outputs == 3) {
    const float one = MEGCC_WINOGRAD_M == 4 ? 3.0f : 2.25f;
    const megcc_vf slope = megcc_vf_sub(d.v3, d.v1), mid = megcc_vf_sub(d.v1, d.v2);
    const megcc_vf zero = megcc_line_add(slope, 2.0f, megcc_vf_sub(d.v0, d.v2));
    const megcc_vf plus = megcc_vf_sub(slope, megcc_vf_add(d.v1, d.v2));
    const megcc_vf minus = megcc_line_add(slope, 3.0f, mid);
    v.v0 = megcc_line_scale(zero, MEGCC_WINOGRAD_M == 4 ? 2.0f : 0.5f);
    v.v1 = megcc_line_scale(plus, one);
    v.v2 = MEGCC_WINOGRAD_M == 4 ? minus : megcc_line_scale(minus, 0.75f);
    v.v3 = megcc_line_add(megcc_vf_sub(d.v4, d.v2), -2.0f, slope);
    v.v4 = megcc_line_scale(slope, MEGCC_WINOGRAD_M == 4 ? 4.0f : 30.0f);
  } else if (outputs == 4) {
    const int own = MEGCC_WINOGRAD_M == 4;
    const megcc_vf even1 = megcc_line_add(d.v4, -4.0f, d.v2);
    const megcc_vf odd1 = megcc_line_add(d.v3, -4.0f, d.v1);
    const megcc_vf even2 = megcc_vf_sub(d.v4, d.v2), odd2 = megcc_vf_sub(d.v3, d.v1);
    const megcc_vf zero = megcc_line_add(megcc_line_add(d.v4, -5.0f, d.v2), 4.0f, d.v0);
    const megcc_vf plus1 = megcc_vf_add(even1, odd1), minus1 = megcc_vf_sub(even1, odd1);
    const megcc_vf plus2 = megcc_line_add(even2, 2.0f, odd2);
    const megcc_vf minus2 = megcc_line_add(even2, -2.0f, odd2);
    v.v0 = own ? zero : megcc_line_scale(zero, 0.25f);
    v.v1 = own ? plus1 : megcc_line_scale(plus1, 0.75f);
    v.v2 = own ? minus1 : megcc_line_scale(minus1, 0.75f);
    v.v3 = megcc_line_add(megcc_line_add(d.v5, -5.0f, d.v3), 4.0f, d.v1);
    v.v4 = own ? plus2 : megcc_line_scale(plus2, 7.5f);
    v.v5 = own ? minus2 : megcc_line_scale(minus2, 7.5f);
  } else {
    const megcc_vf even1 = megcc_line_add(megcc_vf_add(d.v6, d.v2), -4.25f, d.v4);
    const megcc_vf odd1 = megcc_line_add(megcc_vf_add(d.v5, d.v1), -4.25f, d.v3);
    // Those of 2 are taken twice, as those of 1/2: the sum of the odd parts is then as it stands.
    const megcc_vf twice = megcc_vf_add(d.v6, d.v6);
    const megcc_vf even2 = megcc_line_add(megcc_line_add(twice, -2.5f, d.v4), 0.5f, d.v2);
    const megcc_vf even3 = megcc_line_add(megcc_line_add(twice, -10.0f, d.v4), 8.0f, d.v2);
    const megcc_vf odd2 = megcc_line_add(megcc_line_add(d.v1, 4.0f, d.v5), -5.0f, d.v3);
    const megcc_vf odd3 = megcc_line_add(megcc_line_add(d.v5, 4.0f, d.v1), -5.0f, d.v3);
    v.v0 = megcc_line_add(megcc_vf_sub(d.v0, d.v6), 5.25f, megcc_vf_sub(d.v4, d.v2));
    v.v1 = megcc_vf_add(even1, odd1);
    v.v2 = megcc_vf_sub(even1, odd1);
    v.v3 = megcc_line_add(megcc_vf_sub(d.v7, d.v1), 5.25f, megcc_vf_sub(d.v3, d.v5));
    v.v4 = megcc_vf_add(even2, odd2);
    v.v5 = megcc_vf_sub(even2, odd2);
    v.v6 = megcc_vf_add(even3, odd3);
    v.v7 = megcc_vf_sub(even3, odd3);
  }
  return v;
}

// `outputs` outputs from the products at the first `outputs` + 2 points.
MEGCC_INLINE megcc_line_t megcc_winograd_out(int outputs, megcc_line_t w) {
  const megcc_vf even1 = megcc_vf_add(w.v1, w.v2), odd1 = megcc_vf_sub(w.v1, w.v2);
  megcc_line_t y = w;
  if (outputs < 3) {
    y.v0 = megcc_vf_add(w.v0, even1);
    y.v1 = megcc_vf_add(w.v3, odd1);
  } else if (outputs == 3) {
    y.v0 = megcc_vf_add(megcc_vf_add(w.v0, even1), w.v4);
    y.v1 = megcc_line_add(odd1, 2.0f, w.v4);
    y.v2 = megcc_line_add(megcc_vf_add(w.v3, even1), 4.0f, w.v4);
  } else if (outputs == 4) {
    const megcc_vf even2 = megcc_vf_add(w.v4, w.v5), odd2 = megcc_vf_sub(w.v4, w.v5);
    y.v0 = megcc_vf_add(megcc_vf_add(w.v0, even1), even2);
    y.v1 = megcc_line_add(odd1, 2.0f, odd2);
    y.v2 = megcc_line_add(even1, 4.0f, even2);
    y.v3 = megcc_line_add(megcc_vf_add(w.v3, odd1), 8.0f, odd2);
  } else {
    const megcc_vf even2 = megcc_vf_add(w.v4, w.v5), odd2 = megcc_vf_sub(w.v4, w.v5);
    const megcc_vf even3 = megcc_vf_add(w.v6, w.v7), odd3 = megcc_vf_sub(w.v6, w.v7);
    y.v0 = megcc_vf_add(megcc_vf_add(w.v0, even1), megcc_vf_add(even2, even3));
    y.v1 = megcc_line_add(megcc_line_add(odd1, 2.0f, odd2), 0.5f, odd3);
    y.v2 = megcc_line_add(megcc_line_add(even1, 4.0f, even2), 0.25f, even3);
    y.v3 = megcc_line_add(megcc_line_add(odd1, 8.0f, odd2), 0.125f, odd3);
    y.v4 = megcc_line_add(megcc_line_add(even1, 16.0f, even2), 0.0625f, even3);
    y.v5 = megcc_line_add(megcc_line_add(megcc_vf_add(w.v3, odd1), 32.0f, odd2), 0.03125f, odd3);
  }
  return y;
}

#endif  // MEGCC_WINOGRAD_LINES_H
