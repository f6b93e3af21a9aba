// The chains of scripts/chain_graphs.py as loops by hand, by the vectors that kernels have, for any
// sizes. Generated kernels are measured against them (scripts/chains).
//
// ptr has a chain's inputs, then its weights, then its output; dims are the sizes that the chain's
// function returns. A float may differ from the chain's in its last bits; an integer may not.
#include "math/megcc_vmath.h"
#include "math/megcc_vtrig.h"
#include "megcc_act.h"
#include "simd/megcc_simd.h"
#include "simd/megcc_simd_types.h"

enum { VL = MEGCC_VL, PAIR = 2 * MEGCC_VL };

// How often two vectors fit into n elements, and how many elements are then left.
MEGCC_INLINE ptrdiff_t pairs_of(ptrdiff_t n) { return (ptrdiff_t)((size_t)n / PAIR); }
MEGCC_INLINE int32_t rest_of(ptrdiff_t n) { return (int32_t)((size_t)n % PAIR); }

// Lanes in use of a vector that begins `left` elements before the end.
MEGCC_INLINE int32_t lanes_of(ptrdiff_t left) { return left < VL ? (int32_t)left : VL; }

// f of rows and a bias that all of them share.
MEGCC_INLINE void biased_rows(void *const *ptr, const int32_t *dims, megcc_vf (*f)(megcc_vf)) {
  const float *x = (const float *)ptr[0], *bias = (const float *)ptr[1];
  float *y = (float *)ptr[2];
  const ptrdiff_t width = dims[1];
  for (ptrdiff_t row = 0; row < dims[0]; ++row, x += width, y += width) {
    ptrdiff_t i = 0;
    for (; i <= width - VL; i += VL) {
      megcc_vf_store(y + i, f(megcc_vf_add(megcc_vf_load(x + i), megcc_vf_load(bias + i))));
    }
    if (i < width) {
      const int32_t n = lanes_of(width - i);
      const megcc_vf v = megcc_vf_add(megcc_vf_load_n(x + i, n), megcc_vf_load_n(bias + i, n));
      megcc_vf_store_n(y + i, f(v), n);
    }
  }
}

static void bias_gelu(void *const *ptr, const int32_t *dims) {
  biased_rows(ptr, dims, megcc_vf_gelu);
}

static void glu(void *const *ptr, const int32_t *dims) {
  const float *x = (const float *)ptr[0];
  float *y = (float *)ptr[1];
  const ptrdiff_t width = dims[1];
  for (ptrdiff_t row = 0; row < dims[0]; ++row, x += 2 * width, y += width) {
    const float *gate = x + width;
    ptrdiff_t i = 0;
    for (; i <= width - VL; i += VL) {
      const megcc_vf open = megcc_vf_sigmoid(megcc_vf_load(gate + i));
      megcc_vf_store(y + i, megcc_vf_mul(megcc_vf_load(x + i), open));
    }
    if (i < width) {
      const int32_t n = lanes_of(width - i);
      const megcc_vf open = megcc_vf_sigmoid(megcc_vf_load_n(gate + i, n));
      megcc_vf_store_n(y + i, megcc_vf_mul(megcc_vf_load_n(x + i, n), open), n);
    }
  }
}

MEGCC_INLINE megcc_vf relu6(megcc_vf v) {
  return megcc_vf_min(megcc_vf_dup(6.0f), megcc_vf_max(megcc_vf_zero(), v));
}

static void star(void *const *ptr, const int32_t *dims) {
  const float *x = (const float *)ptr[0], *z = (const float *)ptr[1];
  float *y = (float *)ptr[2];
  for (ptrdiff_t pairs = pairs_of(dims[0]); pairs > 0; --pairs) {
    const megcc_vf2 b = megcc_vf2_load_move(&z);
    megcc_vf2 v = megcc_vf2_load_move(&x);
    v.a = megcc_vf_mul(relu6(v.a), b.a);
    v.b = megcc_vf_mul(relu6(v.b), b.b);
    megcc_vf2_store_move(&y, v);
  }
  for (int32_t n, left = rest_of(dims[0]); left > 0; left -= n, x += n, y += n, z += n) {
    n = lanes_of(left);
    megcc_vf_store_n(y, megcc_vf_mul(relu6(megcc_vf_load_n(x, n)), megcc_vf_load_n(z, n)), n);
  }
}

static void layer_scale(void *const *ptr, const int32_t *dims) {
  const float *x = (const float *)ptr[0], *z = (const float *)ptr[1], *w = (const float *)ptr[2];
  float *y = (float *)ptr[3];
  for (ptrdiff_t channel = 0; channel < dims[0]; ++channel) {
    const megcc_vf scale = megcc_vf_dup(w[channel]);
    for (ptrdiff_t pairs = pairs_of(dims[1]); pairs > 0; --pairs) {
      const megcc_vf2 b = megcc_vf2_load_move(&z);
      megcc_vf2 v = megcc_vf2_load_move(&x);
      v.a = megcc_vf_fma(v.a, b.a, scale);
      v.b = megcc_vf_fma(v.b, b.b, scale);
      megcc_vf2_store_move(&y, v);
    }
    for (int32_t n, left = rest_of(dims[1]); left > 0; left -= n, x += n, y += n, z += n) {
      n = lanes_of(left);
      megcc_vf_store_n(y, megcc_vf_fma(megcc_vf_load_n(x, n), megcc_vf_load_n(z, n), scale), n);
    }
  }
}

static void linear_attention(void *const *ptr, const int32_t *dims) {
  const float *x = (const float *)ptr[0];
  float *y = (float *)ptr[1];
  const ptrdiff_t rows = dims[1], width = dims[2];
  const megcc_vf least = megcc_vf_dup(1e-15f);
  for (ptrdiff_t head = 0; head < dims[0]; ++head, x += width) {
    const float *const sums = x + rows * width;
    for (ptrdiff_t row = 0; row < rows; ++row) {
      const float *s = sums;
      for (ptrdiff_t pairs = pairs_of(width); pairs > 0; --pairs) {
        const megcc_vf2 b = megcc_vf2_load_move(&s);
        megcc_vf2 v = megcc_vf2_load_move(&x);
        v.a = megcc_vf_div(v.a, megcc_vf_add(b.a, least));
        v.b = megcc_vf_div(v.b, megcc_vf_add(b.b, least));
        megcc_vf2_store_move(&y, v);
      }
      for (int32_t n, left = rest_of(width); left > 0; left -= n, x += n, y += n, s += n) {
        n = lanes_of(left);
        const megcc_vf sum = megcc_vf_add(megcc_vf_load_n(s, n), least);
        megcc_vf_store_n(y, megcc_vf_div(megcc_vf_load_n(x, n), sum), n);
      }
    }
  }
}

static void rotary(void *const *ptr, const int32_t *dims) {
  const float *x = (const float *)ptr[0];
  float *y = (float *)ptr[3];
  const ptrdiff_t half = dims[2];
  for (ptrdiff_t head = 0; head < dims[0]; ++head) {
    const float *c = (const float *)ptr[1], *s = (const float *)ptr[2];
    for (ptrdiff_t row = 0; row < dims[1]; ++row) {
      ptrdiff_t i = 0;
      for (; i <= half - VL; i += VL) {
        const megcc_vf low = megcc_vf_load(x + i), high = megcc_vf_load(x + half + i);
        const megcc_vf a = megcc_vf_mul(low, megcc_vf_load(c + i));
        const megcc_vf b = megcc_vf_mul(high, megcc_vf_load(c + half + i));
        megcc_vf_store(y + i, megcc_vf_fnma(a, high, megcc_vf_load(s + i)));
        megcc_vf_store(y + half + i, megcc_vf_fma(b, low, megcc_vf_load(s + half + i)));
      }
      if (i < half) {
        const int32_t n = lanes_of(half - i);
        const megcc_vf low = megcc_vf_load_n(x + i, n), high = megcc_vf_load_n(x + half + i, n);
        const megcc_vf a = megcc_vf_mul(low, megcc_vf_load_n(c + i, n));
        const megcc_vf b = megcc_vf_mul(high, megcc_vf_load_n(c + half + i, n));
        megcc_vf_store_n(y + i, megcc_vf_fnma(a, high, megcc_vf_load_n(s + i, n)), n);
        megcc_vf_store_n(y + half + i, megcc_vf_fma(b, low, megcc_vf_load_n(s + half + i, n)), n);
      }
      x += 2 * half;
      y += 2 * half;
      c += 2 * half;
      s += 2 * half;
    }
  }
}

static void mamba_step(void *const *ptr, const int32_t *dims) {
  const float *dt = (const float *)ptr[0], *x = (const float *)ptr[1], *h = (const float *)ptr[2];
  const float *w = (const float *)ptr[3], *decay = (const float *)ptr[4];
  float *y = (float *)ptr[5];
  const ptrdiff_t width = dims[1];
  for (ptrdiff_t row = 0; row < dims[0]; ++row) {
    const megcc_vf step = megcc_vf_dup(dt[row]), fresh = megcc_vf_dup(dt[row] * x[row]);
    ptrdiff_t i = 0;
    for (; i <= width - VL; i += VL) {
      const megcc_vf kept = megcc_vf_exp(megcc_vf_mul(step, megcc_vf_load(decay + i)));
      const megcc_vf old = megcc_vf_mul(kept, megcc_vf_load(h + i));
      megcc_vf_store(y + i, megcc_vf_fma(old, fresh, megcc_vf_load(w + i)));
    }
    if (i < width) {
      const int32_t n = lanes_of(width - i);
      const megcc_vf kept = megcc_vf_exp(megcc_vf_mul(step, megcc_vf_load_n(decay + i, n)));
      const megcc_vf old = megcc_vf_mul(kept, megcc_vf_load_n(h + i, n));
      megcc_vf_store_n(y + i, megcc_vf_fma(old, fresh, megcc_vf_load_n(w + i, n)), n);
    }
    h += width;
    decay += width;
    y += width;
  }
}

// log(1 + exp(v)) without overflow.
MEGCC_INLINE megcc_vf softplus(megcc_vf v) {
  const megcc_vf e = megcc_vf_exp(megcc_vf_neg(megcc_vf_abs(v)));
  return megcc_vf_add(megcc_vf_max(megcc_vf_zero(), v), megcc_vf_log1p_unit(e));
}

static void softplus_bias(void *const *ptr, const int32_t *dims) {
  biased_rows(ptr, dims, softplus);
}

static void wavenet_gate(void *const *ptr, const int32_t *dims) {
  const ptrdiff_t channels = dims[0], times = dims[1];
  const float *x = (const float *)ptr[0], *condition = (const float *)ptr[1];
  float *y = (float *)ptr[2];
  for (ptrdiff_t channel = 0; channel < channels; ++channel, x += times, y += times) {
    const float *const z = x + channels * times;
    const megcc_vf a = megcc_vf_dup(condition[channel]);
    const megcc_vf b = megcc_vf_dup(condition[channels + channel]);
    ptrdiff_t i = 0;
    for (; i <= times - VL; i += VL) {
      const megcc_vf value = megcc_vf_tanh(megcc_vf_add(megcc_vf_load(x + i), a));
      const megcc_vf gate = megcc_vf_sigmoid(megcc_vf_add(megcc_vf_load(z + i), b));
      megcc_vf_store(y + i, megcc_vf_mul(value, gate));
    }
    if (i < times) {
      const int32_t n = lanes_of(times - i);
      const megcc_vf value = megcc_vf_tanh(megcc_vf_add(megcc_vf_load_n(x + i, n), a));
      const megcc_vf gate = megcc_vf_sigmoid(megcc_vf_add(megcc_vf_load_n(z + i, n), b));
      megcc_vf_store_n(y + i, megcc_vf_mul(value, gate), n);
    }
  }
}

MEGCC_INLINE megcc_vf allowed(megcc_vm mask, megcc_vf score) {
  return megcc_vf_select(mask, megcc_vf_mul(score, megcc_vf_dup(0.125f)), megcc_vf_dup(-1e9f));
}

static void masked_softmax(void *const *ptr, const int32_t *dims) {
  const float *x = (const float *)ptr[0];
  float *y = (float *)ptr[2];
  const ptrdiff_t width = dims[2];
  for (ptrdiff_t head = 0; head < dims[0]; ++head) {
    const uint8_t *mask = (const uint8_t *)ptr[1];
    for (ptrdiff_t row = 0; row < dims[1]; ++row, x += width, y += width, mask += width) {
      megcc_vf most = megcc_vf_dup(-MEGCC_INFINITY), sums = megcc_vf_zero();
      const float *from = x;
      float *to = y;
      const ptrdiff_t even = width - rest_of(width);
      ptrdiff_t i = 0;
      for (; i < even; i += PAIR) {
        megcc_vf2 v = megcc_vf2_load_move(&from);
        v.a = allowed(megcc_vm_load(mask + i), v.a);
        v.b = allowed(megcc_vm_load(mask + i + VL), v.b);
        most = megcc_vf_max(megcc_vf_max(most, v.a), v.b);
        megcc_vf2_store_move(&to, v);
      }
      float top = megcc_vf_hmax(most);
      for (; i < width; ++i) {
        y[i] = mask[i] != 0 ? x[i] * 0.125f : -1e9f;
        top = y[i] > top ? y[i] : top;
      }
      most = megcc_vf_dup(top);
      for (i = 0; i <= width - VL; i += VL) {
        const megcc_vf e = megcc_vf_exp(megcc_vf_sub(megcc_vf_load(y + i), most));
        megcc_vf_store(y + i, e);
        sums = megcc_vf_add(sums, e);
      }
      float sum = megcc_vf_sum(sums);
      if (i < width) {
        const int32_t n = lanes_of(width - i);
        const megcc_vf e = megcc_vf_exp(megcc_vf_sub(megcc_vf_load_n(y + i, n), most));
        megcc_vf_store_n(y + i, e, n);
        for (; i < width; ++i) sum += y[i];
      }
      const megcc_vf scale = megcc_vf_dup(1.0f / sum);
      for (from = to = y; to < y + even;) {
        megcc_vf2 v = megcc_vf2_load_move(&from);
        v.a = megcc_vf_mul(v.a, scale);
        v.b = megcc_vf_mul(v.b, scale);
        megcc_vf2_store_move(&to, v);
      }
      for (i = even; i < width; i += VL) {
        const int32_t n = lanes_of(width - i);
        megcc_vf_store_n(y + i, megcc_vf_mul(megcc_vf_load_n(y + i, n), scale), n);
      }
    }
  }
}

// dims: rows and columns of windows, rows of a window, floats of such a row.
static void window_reverse(void *const *ptr, const int32_t *dims) {
  const float *x = (const float *)ptr[0], *r = (const float *)ptr[1];
  float *y = (float *)ptr[2];
  const ptrdiff_t columns = dims[1], rows = dims[2], width = dims[3];
  for (ptrdiff_t row = 0; row < dims[0]; ++row, x += columns * rows * width) {
    for (ptrdiff_t inner = 0; inner < rows; ++inner) {
      for (ptrdiff_t column = 0; column < columns; ++column) {
        const float *window = x + (column * rows + inner) * width;
        for (ptrdiff_t pairs = pairs_of(width); pairs > 0; --pairs) {
          const megcc_vf2 v = megcc_vf2_load_move(&window);
          megcc_vf2_store_move(&y, megcc_vf2_add(v, megcc_vf2_load_move(&r)));
        }
        for (int32_t n, left = rest_of(width); left > 0; left -= n, y += n, r += n, window += n) {
          n = lanes_of(left);
          const megcc_vf v = megcc_vf_load_n(window, n);
          megcc_vf_store_n(y, megcc_vf_add(v, megcc_vf_load_n(r, n)), n);
        }
      }
    }
  }
}

// Of each angle both functions, which have most of their steps in common: odd lanes keep the
// cosine.
MEGCC_INLINE megcc_vf near_turns(megcc_vm odd, megcc_vf angle) {
  return megcc_vf_select(odd, megcc_vf_sine(angle, 1), megcc_vf_sine(angle, 0));
}

MEGCC_INLINE void near_row(const float *frequency, megcc_vf position, float *y, ptrdiff_t width) {
  const uint8_t turns[] = {0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1};
  const megcc_vm odd = megcc_vm_load(turns);
  ptrdiff_t i = 0;
  for (; i <= width - VL; i += VL) {
    const megcc_vf angle = megcc_vf_mul(position, megcc_vf_load(frequency + i));
    megcc_vf_store(y + i, near_turns(odd, angle));
  }
  if (i < width) {
    const int32_t n = lanes_of(width - i);
    const megcc_vf angle = megcc_vf_mul(position, megcc_vf_load_n(frequency + i, n));
    megcc_vf_store_n(y + i, near_turns(odd, angle), n);
  }
}

static void sine_positions(void *const *ptr, const int32_t *dims) {
  const float *x = (const float *)ptr[0], *frequency = (const float *)ptr[1];
  float *y = (float *)ptr[2], most = 0;
  const ptrdiff_t width = dims[1];
  for (ptrdiff_t i = 0; i < width; ++i) {
    const float size = megcc_fabsf(frequency[i]);
    most = size > most ? size : most;
  }
  for (ptrdiff_t row = 0; row < dims[0]; ++row, y += width) {
    if (megcc_fabsf(x[row]) * most <= 8192.0f) {  // the range of megcc_vf_sine
      near_row(frequency, megcc_vf_dup(x[row]), y, width);
    } else {
      for (ptrdiff_t i = 0; i < width; ++i) {
        const float angle = x[row] * frequency[i];
        y[i] = (i & 1) != 0 ? megcc_cosf(angle) : megcc_sinf(angle);
      }
    }
  }
}

static void masked_scores(void *const *ptr, const int32_t *dims) {
  const float *x = (const float *)ptr[0];
  const uint8_t *mask = (const uint8_t *)ptr[1];
  float *y = (float *)ptr[2];
  const ptrdiff_t size = (ptrdiff_t)dims[1] * dims[2];
  for (ptrdiff_t head = 0; head < dims[0]; ++head, x += size, y += size) {
    ptrdiff_t i = 0;
    for (; i <= size - PAIR; i += PAIR) {
      const megcc_vf v = allowed(megcc_vm_load(mask + i), megcc_vf_load(x + i));
      const megcc_vf w = allowed(megcc_vm_load(mask + i + VL), megcc_vf_load(x + i + VL));
      megcc_vf_store(y + i, v);
      megcc_vf_store(y + i + VL, w);
    }
    for (; i < size; i += VL) {
      const int32_t n = lanes_of(size - i);
      megcc_vf_store_n(y + i, allowed(megcc_vm_load_n(mask + i, n), megcc_vf_load_n(x + i, n)), n);
    }
  }
}

MEGCC_INLINE megcc_vi gated(megcc_vi x, megcc_vi z) {
  const megcc_vf value = megcc_vf_mul(megcc_vi_to_vf(x), megcc_vf_dup(0.05f));
  const megcc_vf gate = megcc_vf_mul(megcc_vi_to_vf(z), megcc_vf_dup(0.04f));
  const megcc_vf v = megcc_vf_div(megcc_vf_mul(value, megcc_vf_sigmoid(gate)), megcc_vf_dup(0.03f));
  const megcc_vi step = megcc_vf_to_vi(megcc_vf_round(v));
  return megcc_vi_min(megcc_vi_max(step, megcc_vi_dup(-128)), megcc_vi_dup(127));
}

static void gate_i8(void *const *ptr, const int32_t *dims) {
  const int8_t *x = (const int8_t *)ptr[0], *z = (const int8_t *)ptr[1];
  int8_t *y = (int8_t *)ptr[2];
  const ptrdiff_t size = (ptrdiff_t)dims[0] * dims[1];
  ptrdiff_t i = 0;
  for (; i <= size - VL; i += VL) {
    megcc_vi8_store(y + i, gated(megcc_vi8_load(x + i), megcc_vi8_load(z + i)));
  }
  if (i < size) {
    const int32_t n = lanes_of(size - i);
    megcc_vi8_store_n(y + i, gated(megcc_vi8_load_n(x + i, n), megcc_vi8_load_n(z + i, n)), n);
  }
}

// dims: output channels, input channels, taps of each.
static void demodulate(void *const *ptr, const int32_t *dims) {
  const float *style = (const float *)ptr[0], *w = (const float *)ptr[1];
  float *y = (float *)ptr[2];
  const ptrdiff_t rows = dims[0], taps = dims[2], width = dims[1] * taps;
  // The last row of the output first has the style of each weight of a row.
  float *const styles = y + (rows - 1) * width;
  for (ptrdiff_t i = 0; i < width; i += taps, ++style) {
    for (ptrdiff_t tap = 0; tap < taps; ++tap) styles[i + tap] = *style;
  }
  for (ptrdiff_t row = 0; row < rows; ++row) {
    const float *s = styles;
    float *out = y;
    megcc_vf first = megcc_vf_zero(), second = first;
    for (ptrdiff_t pairs = pairs_of(width); pairs > 0; --pairs) {
      const megcc_vf2 b = megcc_vf2_load_move(&s);
      megcc_vf2 v = megcc_vf2_load_move(&w);
      v.a = megcc_vf_mul(v.a, b.a);
      v.b = megcc_vf_mul(v.b, b.b);
      first = megcc_vf_fma(first, v.a, v.a);
      second = megcc_vf_fma(second, v.b, v.b);
      megcc_vf2_store_move(&out, v);
    }
    for (int32_t n, left = rest_of(width); left > 0; left -= n, s += n, w += n, out += n) {
      n = lanes_of(left);
      const megcc_vf v = megcc_vf_mul(megcc_vf_load_n(w, n), megcc_vf_load_n(s, n));
      first = megcc_vf_fma(first, v, v);
      megcc_vf_store_n(out, v, n);
    }
    const float squares = megcc_vf_sum(megcc_vf_add(first, second));
    const megcc_vf scale = megcc_vf_dup(1.0f / megcc_sqrt_f32(squares + 1e-8f));
    const float *in = y;
    for (ptrdiff_t pairs = pairs_of(width); pairs > 0; --pairs) {
      megcc_vf2 v = megcc_vf2_load_move(&in);
      v.a = megcc_vf_mul(v.a, scale);
      v.b = megcc_vf_mul(v.b, scale);
      megcc_vf2_store_move(&y, v);
    }
    for (int32_t n, left = rest_of(width); left > 0; left -= n, in += n, y += n) {
      n = lanes_of(left);
      megcc_vf_store_n(y, megcc_vf_mul(megcc_vf_load_n(in, n), scale), n);
    }
  }
}

// x (1 + scale) + shift
MEGCC_INLINE megcc_vf modulated(megcc_vf x, megcc_vf scale, megcc_vf shift) {
  return megcc_vf_fma(megcc_vf_add(x, shift), x, scale);
}

static void modulate(void *const *ptr, const int32_t *dims) {
  const float *x = (const float *)ptr[0];
  const float *scales = (const float *)ptr[1], *shifts = (const float *)ptr[2];
  float *y = (float *)ptr[3];
  const ptrdiff_t width = dims[2];
  for (ptrdiff_t image = 0; image < dims[0]; ++image, scales += width, shifts += width) {
    for (ptrdiff_t row = 0; row < dims[1]; ++row) {
      const float *scale = scales, *shift = shifts;
      for (ptrdiff_t pairs = pairs_of(width); pairs > 0; --pairs) {
        const megcc_vf2 a = megcc_vf2_load_move(&scale), b = megcc_vf2_load_move(&shift);
        megcc_vf2 v = megcc_vf2_load_move(&x);
        v.a = modulated(v.a, a.a, b.a);
        v.b = modulated(v.b, a.b, b.b);
        megcc_vf2_store_move(&y, v);
      }
      for (int32_t n, left = rest_of(width); left > 0;
           left -= n, x += n, y += n, scale += n, shift += n) {
        n = lanes_of(left);
        const megcc_vf a = megcc_vf_load_n(scale, n), b = megcc_vf_load_n(shift, n);
        megcc_vf_store_n(y, modulated(megcc_vf_load_n(x, n), a, b), n);
      }
    }
  }
}

MEGCC_INLINE megcc_vf leaky_relu(megcc_vf v) {
  return megcc_vf_max(v, megcc_vf_mul(v, megcc_vf_dup(0.2f)));
}

// `size` elements of y: leaky_relu of z plus one vector.
MEGCC_INLINE void edges_of(megcc_vf node, const float *z, float *y, ptrdiff_t size) {
  for (ptrdiff_t pairs = pairs_of(size); pairs > 0; --pairs) {
    megcc_vf2 v = megcc_vf2_load_move(&z);
    v.a = leaky_relu(megcc_vf_add(v.a, node));
    v.b = leaky_relu(megcc_vf_add(v.b, node));
    megcc_vf2_store_move(&y, v);
  }
  for (int32_t n, left = rest_of(size); left > 0; left -= n, z += n, y += n) {
    n = lanes_of(left);
    megcc_vf_store_n(y, leaky_relu(megcc_vf_add(megcc_vf_load_n(z, n), node)), n);
  }
}

static void edge_scores(void *const *ptr, const int32_t *dims) {
  const float *x = (const float *)ptr[0], *const all = (const float *)ptr[1];
  float *y = (float *)ptr[2];
  const ptrdiff_t heads = dims[1], row = dims[0] * heads;
  for (ptrdiff_t node = 0; node < dims[0]; ++node, x += heads) {
    if (VL % heads == 0) {  // a vector repeats the scores of the node
      float lanes[VL];
      for (int k = 0; k < VL; ++k) lanes[k] = x[k % heads];
      edges_of(megcc_vf_load(lanes), all, y, row);
      y += row;
    } else {
      for (const float *z = all; z < all + row; z += heads, y += heads) {
        for (ptrdiff_t i = 0; i < heads; i += VL) {
          const int32_t n = lanes_of(heads - i);
          edges_of(megcc_vf_load_n(x + i, n), z + i, y + i, n);
        }
      }
    }
  }
}

MEGCC_INLINE megcc_vf distance_of(megcc_vf product, megcc_vf row, megcc_vf column) {
  return megcc_vf_sub(megcc_vf_sub(megcc_vf_add(product, product), row), column);
}

static void distances(void *const *ptr, const int32_t *dims) {
  const float *x = (const float *)ptr[0];
  const float *rows = (const float *)ptr[1], *columns = (const float *)ptr[2];
  float *y = (float *)ptr[3];
  for (ptrdiff_t row = 0; row < dims[0]; ++row) {
    const megcc_vf square = megcc_vf_dup(rows[row]);
    const float *column = columns;
    for (ptrdiff_t pairs = pairs_of(dims[1]); pairs > 0; --pairs) {
      const megcc_vf2 c = megcc_vf2_load_move(&column);
      megcc_vf2 v = megcc_vf2_load_move(&x);
      v.a = distance_of(v.a, square, c.a);
      v.b = distance_of(v.b, square, c.b);
      megcc_vf2_store_move(&y, v);
    }
    for (int32_t n, left = rest_of(dims[1]); left > 0; left -= n, x += n, y += n, column += n) {
      n = lanes_of(left);
      const megcc_vf c = megcc_vf_load_n(column, n);
      megcc_vf_store_n(y, distance_of(megcc_vf_load_n(x, n), square, c), n);
    }
  }
}

MEGCC_INLINE megcc_vf silu(megcc_vf v) {
  const megcc_vf one = megcc_vf_dup(1.0f);
  return megcc_vf_div(v, megcc_vf_add(one, megcc_vf_exp(megcc_vf_neg(v))));
}

static void gate_f16(void *const *ptr, const int32_t *dims) {
  const uint16_t *x = (const uint16_t *)ptr[0], *z = (const uint16_t *)ptr[1];
  uint16_t *y = (uint16_t *)ptr[2];
  const ptrdiff_t size = (ptrdiff_t)dims[0] * dims[1];
  ptrdiff_t i = 0;
  for (; i <= size - VL; i += VL) {
    megcc_vh_store(y + i, megcc_vf_mul(silu(megcc_vh_load(x + i)), megcc_vh_load(z + i)));
  }
  if (i < size) {
    const int32_t n = lanes_of(size - i);
    const megcc_vf v = silu(megcc_vh_load_n(x + i, n));
    megcc_vh_store_n(y + i, megcc_vf_mul(v, megcc_vh_load_n(z + i, n)), n);
  }
}

// By itself, so that its constants stay in registers: the tail below calls memcpy.
static MEGCC_HOT ptrdiff_t residual_pairs(const uint16_t *x, const uint16_t *z,
                                          const uint16_t *gate, uint16_t *y, ptrdiff_t width) {
  ptrdiff_t i = 0;
  for (; i <= width - PAIR; i += PAIR) {
    const megcc_vf g = megcc_vb_load(gate + i), h = megcc_vb_load(gate + i + VL);
    const megcc_vf v = megcc_vf_fma(megcc_vb_load(x + i), g, megcc_vb_load(z + i));
    const megcc_vf w = megcc_vf_fma(megcc_vb_load(x + i + VL), h, megcc_vb_load(z + i + VL));
    megcc_vb_store(y + i, v);
    megcc_vb_store(y + i + VL, w);
  }
  return i;
}

static void residual_bf16(void *const *ptr, const int32_t *dims) {
  const uint16_t *x = (const uint16_t *)ptr[0], *z = (const uint16_t *)ptr[1];
  const uint16_t *gate = (const uint16_t *)ptr[2];
  uint16_t *y = (uint16_t *)ptr[3];
  const ptrdiff_t width = dims[1];
  for (ptrdiff_t row = 0; row < dims[0]; ++row, x += width, y += width, z += width) {
    for (ptrdiff_t i = residual_pairs(x, z, gate, y, width); i < width; i += VL) {
      const int32_t n = lanes_of(width - i);
      const megcc_vf g = megcc_vb_load_n(gate + i, n);
      const megcc_vf v = megcc_vf_fma(megcc_vb_load_n(x + i, n), g, megcc_vb_load_n(z + i, n));
      megcc_vb_store_n(y + i, v, n);
    }
  }
}

static void unit_rows(void *const *ptr, const int32_t *dims) {
  const float *x = (const float *)ptr[0];
  float *y = (float *)ptr[1];
  for (ptrdiff_t row = 0; row < dims[0]; ++row) {
    const float *z = x;
    megcc_vf first = megcc_vf_zero(), second = first;
    for (ptrdiff_t pairs = pairs_of(dims[1]); pairs > 0; --pairs) {
      const megcc_vf2 v = megcc_vf2_load_move(&z);
      first = megcc_vf_fma(first, v.a, v.a);
      second = megcc_vf_fma(second, v.b, v.b);
    }
    for (int32_t n, left = rest_of(dims[1]); left > 0; left -= n, z += n) {
      n = lanes_of(left);
      const megcc_vf v = megcc_vf_load_n(z, n);
      first = megcc_vf_fma(first, v, v);
    }
    const float length = megcc_sqrt_f32(megcc_vf_sum(megcc_vf_add(first, second)));
    const megcc_vf scale = megcc_vf_dup(1.0f / (length < 1e-12f ? 1e-12f : length));
    for (ptrdiff_t pairs = pairs_of(dims[1]); pairs > 0; --pairs) {
      megcc_vf2 v = megcc_vf2_load_move(&x);
      v.a = megcc_vf_mul(v.a, scale);
      v.b = megcc_vf_mul(v.b, scale);
      megcc_vf2_store_move(&y, v);
    }
    for (int32_t n, left = rest_of(dims[1]); left > 0; left -= n, x += n, y += n) {
      n = lanes_of(left);
      megcc_vf_store_n(y, megcc_vf_mul(megcc_vf_load_n(x, n), scale), n);
    }
  }
}

static void squeeze_gate(void *const *ptr, const int32_t *dims) {
  const float *x = (const float *)ptr[0], *s = (const float *)ptr[1];
  float *y = (float *)ptr[2];
  for (ptrdiff_t channel = 0; channel < dims[0]; ++channel) {
    const float gate = s[channel] * (1.0f / 6.0f) + 0.5f;
    const megcc_vf scale = megcc_vf_dup(gate < 0.0f ? 0.0f : gate > 1.0f ? 1.0f : gate);
    for (ptrdiff_t pairs = pairs_of((ptrdiff_t)dims[1] * dims[2]); pairs > 0; --pairs) {
      megcc_vf2 v = megcc_vf2_load_move(&x);
      v.a = megcc_vf_mul(v.a, scale);
      v.b = megcc_vf_mul(v.b, scale);
      megcc_vf2_store_move(&y, v);
    }
    for (int32_t n, left = rest_of((ptrdiff_t)dims[1] * dims[2]); left > 0;
         left -= n, x += n, y += n) {
      n = lanes_of(left);
      megcc_vf_store_n(y, megcc_vf_mul(megcc_vf_load_n(x, n), scale), n);
    }
  }
}

MEGCC_INLINE megcc_vi bucket_of(megcc_vi x) {
  const megcc_vi near = megcc_vi_max(x, megcc_vi_sub(megcc_vi_dup(0), x));
  const megcc_vi quarter = megcc_vi_add(megcc_vi_shr(near, 2), megcc_vi_dup(6));
  const megcc_vi far = megcc_vi_min(quarter, megcc_vi_dup(15));
  const megcc_vi bucket = megcc_vi_select(megcc_vi_lt(near, megcc_vi_dup(8)), near, far);
  const megcc_vm after = megcc_vi_lt(megcc_vi_dup(0), x);
  return megcc_vi_add(bucket, megcc_vi_select(after, megcc_vi_dup(16), megcc_vi_dup(0)));
}

static void bucket_i32(void *const *ptr, const int32_t *dims) {
  const int32_t *x = (const int32_t *)ptr[0];
  int32_t *y = (int32_t *)ptr[1];
  const ptrdiff_t size = (ptrdiff_t)dims[0] * dims[1];
  ptrdiff_t i = 0;
  for (; i <= size - PAIR; i += PAIR) {
    megcc_vi_store(y + i, bucket_of(megcc_vi_load(x + i)));
    megcc_vi_store(y + i + VL, bucket_of(megcc_vi_load(x + i + VL)));
  }
  for (; i < size; i += VL) {
    const int32_t n = lanes_of(size - i);
    megcc_vi_store_n(y + i, bucket_of(megcc_vi_load_n(x + i, n)), n);
  }
}

static void token_mean(void *const *ptr, const int32_t *dims) {
  const float *x = (const float *)ptr[0];
  float *y = (float *)ptr[1];
  const ptrdiff_t width = dims[1];
  const megcc_vf part = megcc_vf_dup(1.0f / (float)dims[0]);
  ptrdiff_t i = 0;
  for (; i <= width - 2 * PAIR; i += 2 * PAIR) {
    megcc_vf a = megcc_vf_zero(), b = a, c = a, d = a;
    const float *row = x + i;
    for (ptrdiff_t token = dims[0]; token > 0; --token, row += width - 2 * PAIR) {
      const megcc_vf2 v = megcc_vf2_load_move(&row), w = megcc_vf2_load_move(&row);
      a = megcc_vf_add(a, v.a);
      b = megcc_vf_add(b, v.b);
      c = megcc_vf_add(c, w.a);
      d = megcc_vf_add(d, w.b);
    }
    megcc_vf_store(y + i, megcc_vf_mul(a, part));
    megcc_vf_store(y + i + VL, megcc_vf_mul(b, part));
    megcc_vf_store(y + i + PAIR, megcc_vf_mul(c, part));
    megcc_vf_store(y + i + PAIR + VL, megcc_vf_mul(d, part));
  }
  for (; i < width; i += VL) {
    const int32_t n = lanes_of(width - i);
    const float *row = x + i;
    megcc_vf a = megcc_vf_zero();
    for (ptrdiff_t token = 0; token < dims[0]; ++token, row += width) {
      a = megcc_vf_add(a, megcc_vf_load_n(row, n));
    }
    megcc_vf_store_n(y + i, megcc_vf_mul(a, part), n);
  }
}
