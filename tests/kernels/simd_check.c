// One function of megcc_simd.h, megcc_simd_types.h, megcc_vmath.h, megcc_vtrig.h or megcc_act.h per
// number, over an array: test_simd.py.
// usage: simd_check [IN OUT], else standard input and output
//   IN  (int32 function, int32 count, words a, words b)    OUT  int32 lanes, words
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "math/megcc_vtrig.h"
#include "megcc_act.h"
#include "simd/megcc_simd_types.h"

static megcc_vf ones(megcc_vm m) { return megcc_vf_select(m, megcc_vf_dup(1), megcc_vf_dup(0)); }

static megcc_vf apply(int f, megcc_vf a, megcc_vf b) {
  const megcc_vf third = megcc_vf_dup(0.25f), half = megcc_vf_dup(0.5f);
  switch (f) {
    case 0: return megcc_vf_add(a, b);
    case 1: return megcc_vf_sub(a, b);
    case 2: return megcc_vf_mul(a, b);
    case 3: return megcc_vf_div(a, b);
    case 4: return megcc_vf_fma(a, a, b);
    case 5: return megcc_vf_fnma(a, a, b);
    case 6: return megcc_vf_min(a, b);
    case 7: return megcc_vf_max(a, b);
    case 8: return megcc_vf_neg(a);
    case 9: return megcc_vf_abs(a);
    case 10: return megcc_vf_sqrt(megcc_vf_abs(a));
    case 11: return megcc_vf_round(a);
    case 12: return megcc_vf_floor(a);
    case 13: return megcc_vf_ceil(a);
    case 14: return megcc_vf_trunc(a);
    case 15: return ones(megcc_vf_lt(a, b));
    case 16: return ones(megcc_vf_le(a, b));
    case 17: return ones(megcc_vf_eq(a, b));
    case 18: return ones(megcc_vf_ne(a, b));
    case 19: return ones(megcc_vf_gt(a, b));
    case 20: return ones(megcc_vf_ge(a, b));
    case 21: return ones(megcc_vm_and(megcc_vf_lt(a, b), megcc_vm_not(megcc_vf_lt(a, half))));
    case 22: return ones(megcc_vm_or(megcc_vf_lt(a, b), megcc_vf_lt(a, half)));
    case 23: return megcc_vi_to_vf(megcc_vf_to_vi(a));
    case 24:
      return megcc_vi_to_vf(megcc_vi_sub(megcc_vi_shr(megcc_vi_shl(megcc_vf_to_vi(a), 3), 1),
                                         megcc_vi_xor(megcc_vf_to_vi(b), megcc_vi_dup(5))));
    case 25: return megcc_vi_float(megcc_vf_bits(a));
    case 26: return megcc_vf_dup(megcc_sqrt_f32(megcc_vf_hmax(megcc_vf_abs(a))));
    case 27: return megcc_vf_nanmin(a, b);
    case 28: return megcc_vf_nanmax(a, b);
    case 40: return megcc_vf_exp(a);
    case 41: return megcc_vf_expm1(a);
    case 42: return megcc_vf_sigmoid(a);
    case 43: return megcc_vf_tanh(a);
    case 44: return megcc_vf_erf(a);
    case 45: return megcc_vf_log(a);
    case 46: return megcc_vf_log1p(a);
    case 47: return megcc_vf_sin(a);
    case 48: return megcc_vf_cos(a);
    case 49: return megcc_vf_log1p_unit(a);
    case 50: return megcc_vh_round(a);
    case 51: return megcc_vb_round(a);
    case 52: return megcc_vi_float(megcc_vf_to_i32(a));
    default: return megcc_act_any_vf(f - 60, a, third, half);
  }
}

// The scalar functions that vectors must agree with.
static float scalar(int f, float x) {
  switch (f) {
    case 55: return megcc_f16_to_f32(megcc_f32_to_f16(x));
    case 56: return megcc_bf16_to_f32(megcc_f32_to_bf16(x));
    case 57: return megcc_f32_from_bits((uint32_t)megcc_f32_to_i32(x));
    case 58: return megcc_sinf(x);
    default: return megcc_cosf(x);
  }
}

static megcc_vi truth(megcc_vm m) { return megcc_vi_select(m, megcc_vi_dup(1), megcc_vi_dup(0)); }

// Of two vectors of i32 from memory.
static megcc_vi integers(int f, megcc_vi a, megcc_vi b) {
  switch (f) {
    case 80: return megcc_vi_mul(a, b);
    case 81: return megcc_vi_min(a, b);
    case 82: return megcc_vi_max(a, b);
    case 83: return truth(megcc_vi_lt(a, b));
    case 84: return truth(megcc_vi_le(a, b));
    case 85: return truth(megcc_vi_eq(a, b));
    case 86: return truth(megcc_vi_ne(a, b));
    default: return megcc_vi_select(megcc_vi_lt(a, b), megcc_vi_mul(a, b), b);
  }
}

// Elements of one type to those of another, in pieces of every length, each with memory of exactly
// its size: by load_n and store_n, and every other whole vector by load and store.
#define MOVE(name, from_type, from, vector, to_type, to)              \
  static void name(const from_type *x, to_type *y, int count) {       \
    int whole = 0;                                                    \
    for (int i = 0, n = 1; i < count; i += n, n = n % MEGCC_VL + 1) { \
      if (n > count - i) n = count - i;                               \
      from_type *in = malloc((size_t)n * sizeof *in);                 \
      to_type *out = malloc((size_t)n * sizeof *out);                 \
      for (int k = 0; k < n; ++k) in[k] = x[i + k];                   \
      if (n == MEGCC_VL && (whole = !whole)) {                        \
        const vector v = megcc_##from##_load(in);                     \
        megcc_##to##_store(out, v);                                   \
      } else {                                                        \
        const vector v = megcc_##from##_load_n(in, n);                \
        megcc_##to##_store_n(out, v, n);                              \
      }                                                               \
      for (int k = 0; k < n; ++k) y[i + k] = out[k];                  \
      free(in), free(out);                                            \
    }                                                                 \
  }
MOVE(i32_to_i32, int32_t, vi, megcc_vi, int32_t, vi)
MOVE(i8_to_i32, int8_t, vi8, megcc_vi, int32_t, vi)
MOVE(u8_to_i32, uint8_t, vu8, megcc_vi, int32_t, vi)
MOVE(i32_to_i8, int32_t, vi, megcc_vi, int8_t, vi8)
MOVE(i32_to_u8, int32_t, vi, megcc_vi, uint8_t, vu8)
MOVE(bool_to_bool, uint8_t, vm, megcc_vm, uint8_t, vm)
MOVE(f16_to_f32, uint16_t, vh, megcc_vf, float, vf)
MOVE(bf16_to_f32, uint16_t, vb, megcc_vf, float, vf)
MOVE(f32_to_f16, float, vf, megcc_vf, uint16_t, vh)
MOVE(f32_to_bf16, float, vf, megcc_vf, uint16_t, vb)

static void move(int f, const void *x, void *y, int count) {
  switch (f) {
    case 90: i32_to_i32(x, y, count); break;
    case 91: i8_to_i32(x, y, count); break;
    case 92: u8_to_i32(x, y, count); break;
    case 93: i32_to_i8(x, y, count); break;
    case 94: i32_to_u8(x, y, count); break;
    case 95: bool_to_bool(x, y, count); break;
    case 96: f16_to_f32(x, y, count); break;
    case 97: bf16_to_f32(x, y, count); break;
    case 98: f32_to_f16(x, y, count); break;
    default: f32_to_bf16(x, y, count); break;
  }
}

int main(int argc, char **argv) {
  int32_t head[2];
  float *a, *b, *y;
  FILE *in = argc > 2 ? fopen(argv[1], "rb") : stdin;
  FILE *out = argc > 2 ? fopen(argv[2], "ab") : stdout;
  if (in == NULL || out == NULL || fread(head, 4, 2, in) != 2) return 1;
  const int f = head[0], count = head[1];
  a = malloc((size_t)count * 4 + 4);
  b = malloc((size_t)count * 4 + 4);
  y = malloc((size_t)count * 4 + 4);
  if (fread(a, 4, (size_t)count, in) != (size_t)count) return 1;
  if (fread(b, 4, (size_t)count, in) != (size_t)count) return 1;
  if (f == 30 || f == 31 || f == 32) {  // reductions of each group of MEGCC_VL; the rest stays 0
    for (int i = 0; i < count; ++i) y[i] = 0;
    for (int i = 0; i + MEGCC_VL <= count; i += MEGCC_VL) {
      const megcc_vf v = megcc_vf_load(a + i);
      y[i] = f == 30 ? megcc_vf_sum(v) : f == 31 ? megcc_vf_hmax(v) : megcc_vf_hmin(v);
    }
  } else if (f == 33 || f == 34) {  // pairs of vectors, one behind the other; the rest stays 0
    const float *p = a, *q = b;
    float *to = y;
    for (int i = 0; i < count; ++i) y[i] = 0;
    for (int i = 0; i + 2 * MEGCC_VL <= count; i += 2 * MEGCC_VL) {
      const megcc_vf2 v = megcc_vf2_load_move(&p), w = megcc_vf2_load_move(&q);
      megcc_vf2_store_move(&to, f == 33 ? megcc_vf2_add(v, w) : megcc_vf2_sub(v, w));
    }
  } else if (f >= 90) {  // in words that are large enough for either type
    memset(y, 0, (size_t)count * 4);
    move(f, a, y, count);
  } else if (f >= 80) {
    int32_t *p = malloc((size_t)count * 4 + 4), *q = malloc((size_t)count * 4 + 4);
    memcpy(p, a, (size_t)count * 4), memcpy(q, b, (size_t)count * 4);
    for (int i = 0, n = 1; i < count; i += n, n = n % MEGCC_VL + 1) {
      if (n > count - i) n = count - i;
      const megcc_vi v = integers(f, megcc_vi_load_n(p + i, n), megcc_vi_load_n(q + i, n));
      megcc_vi_store_n(p + i, v, n);
    }
    memcpy(y, p, (size_t)count * 4);
    free(p), free(q);
  } else if (f >= 55 && f < 60) {
    for (int i = 0; i < count; ++i) y[i] = scalar(f, a[i]);
  } else {
    // Chunks of every length from 1 to MEGCC_VL, exactly inside the arrays (the sanitizers watch).
    for (int i = 0, n = 1; i < count; i += n, n = n % MEGCC_VL + 1) {
      if (n > count - i) n = count - i;
      const megcc_vf v = apply(f, megcc_vf_load_n(a + i, n), megcc_vf_load_n(b + i, n));
      megcc_vf_store_n(y + i, v, n);
      if (f >= 60 && n == 1 && megcc_act_any_f32(f - 60, a[i], 0.25f, 0.5f) != y[i] &&
          y[i] == y[i]) {
        return 2;  // the scalar form must give the vector's bits
      }
    }
  }
  const int32_t lanes = MEGCC_VL;
  fwrite(&lanes, 4, 1, out);
  fwrite(y, 4, (size_t)count, out);
  free(a), free(b), free(y);
  return 0;
}
