// kernel: qpool2d_mve X=i8 Y=i8 FUNC=QPOOL2D_AVG
// like: qpool2d_ref
// arch: cortexm
// isa: mve
// rank: 10
// params: X=X Y=Y FUNC=func OFFSET=(offset != 0)
// cost: ow * c * (ceil(kh * kw, 4) + 4)
//
// Sums of 32 channels stay in registers over the taps, then of 8: of 16 bits, which hold those of
// TAPS taps. Four sums at a time become bytes: in floats where Helium has them, else in fixed point
// (megcc_requant_fixed.h), and next to a half one by one.
#include "math/megcc_round.h"
#include "megcc_requant.h"
#include "op/qpool2d.h"
#include "simd/megcc_fixed_mve.h"
#include "simd/megcc_mve_bytes.h"

#define MEGCC_POOL(name) QPOOL2D_##name
#include "megcc_pool8.h"

#define TAPS 128  // 128 * 255 is less than 2^15
#define BLOCK 32  // channels at a time

typedef struct {
  int32_t x_zero, zero, low, high;
  int32_t rows, cols;  // a piece of a window has TAPS taps at most
  float scale, offset;
#if MEGCC_MVE_FIXED
  int32_t count;  // elements by which the windows of `fixed` divide
  int usual;      // whether the scale is one for fixed point
  uint32_t most;  // magnitude of a sum
  megcc_fixed_t fixed;
#endif
} megcc_qpool_t;

#define MEGCC_WIDENED MEGCC_CAT(MEGCC_WIDENED_, X)
#define MEGCC_WIDENED_i8(p, some) vldrbq_z_s16((const int8_t *)(p), some)
#define MEGCC_WIDENED_u8(p, some) vreinterpretq_s16_u16(vldrbq_z_u16(p, some))
#define MEGCC_LOAD MEGCC_MVE_LOAD(X, 16)

// A piece of a window.
typedef struct {
  const uint8_t *src;
  int32_t rows, cols;
} megcc_piece_t;

// The sums of 32 channels of a piece.
MEGCC_INLINE void megcc_qpool_32(const megcc_pool8_t *t, const megcc_piece_t *piece, int16_t *to) {
  int16x8_t a = vdupq_n_s16(0), b = a, c = a, d = a;
  const uint8_t *line = piece->src;
  for (int32_t i = 0; i < piece->rows; ++i, line += t->row_step) {
    const uint8_t *p = line;
    __asm__ volatile(
        "dls lr, %[n]\n"
        "1:\n\t" MEGCC_LOAD
        "q4, [%[p]]\n\t"
        "vadd.i16 %q[a], %q[a], q4\n\t" MEGCC_LOAD
        "q5, [%[p], #8]\n\t"
        "vadd.i16 %q[b], %q[b], q5\n\t" MEGCC_LOAD
        "q4, [%[p], #16]\n\t"
        "vadd.i16 %q[c], %q[c], q4\n\t" MEGCC_LOAD
        "q5, [%[p], #24]\n\t"
        "vadd.i16 %q[d], %q[d], q5\n\t"
        "add %[p], %[step]\n\t"
        "le lr, 1b"
        : [p] "+l"(p), [a] "+w"(a), [b] "+w"(b), [c] "+w"(c), [d] "+w"(d)
        : [n] "r"(piece->cols), [step] "r"(t->col_step)
        : "lr", "q4", "q5", "memory");
  }
  vstrhq_s16(to, a), vstrhq_s16(to + 8, b), vstrhq_s16(to + 16, c), vstrhq_s16(to + 24, d);
}

// Those of `n` channels, fewer than 32.
MEGCC_INLINE void megcc_qpool_few(const megcc_pool8_t *t, const megcc_piece_t *piece, int32_t n,
                                  int16_t *to) {
  for (int32_t k = 0; k < n; k += 8) {
    const mve_pred16_t some = vctp16q((uint32_t)(n - k));
    int16x8_t sum = vdupq_n_s16(0);
    const uint8_t *line = piece->src + k;
    for (int32_t i = 0; i < piece->rows; ++i, line += t->row_step) {
      const uint8_t *p = line;
      for (int32_t j = 0; j < piece->cols; ++j, p += t->col_step) {
        sum = vaddq_s16(sum, MEGCC_WIDENED(p, some));
      }
    }
    vstrhq_s16(to + k, sum);
  }
}

MEGCC_INLINE int32_t megcc_qpool_least(int32_t a, int32_t b) { return a < b ? a : b; }

// The sums of the `n` channels from `c` on, at most BLOCK, less their zero points.
MEGCC_HOT static void megcc_qpool_sums(const megcc_qpool_t *q, const megcc_pool8_t *t, int32_t c,
                                       int32_t n, int32_t *sum) {
  int32_t more = -t->rows * t->cols * q->x_zero;
  megcc_piece_t piece;
  for (int32_t i = 0; i < t->rows; i += piece.rows) {
    piece.rows = megcc_qpool_least(q->rows, t->rows - i);
    for (int32_t j = 0; j < t->cols; j += piece.cols, more = 0) {
      int16_t part[BLOCK];
      piece.cols = megcc_qpool_least(q->cols, t->cols - j);
      piece.src = t->src + c + i * t->row_step + j * t->col_step;
      if (n == BLOCK) {
        megcc_qpool_32(t, &piece, part);
      } else {
        megcc_qpool_few(t, &piece, n, part);
      }
      const int first = i == 0 && j == 0;
      for (int32_t k = 0; k < n; k += 4) {
        const int32x4_t s = vaddq_n_s32(vldrhq_s32(part + k), more);
        vstrwq_s32(sum + k, first ? s : vaddq_s32(s, vldrwq_s32(sum + k)));
      }
    }
  }
}

#if MEGCC_MVE_FIXED
// A sum's element of y, as op/qpool2d.h says.
MEGCC_COLD static int32_t megcc_qpool_one(const megcc_qpool_t *q, int32_t sum, float count) {
  if (!OFFSET && q->scale == 1.0f && q->most < 1u << 24) {
    // The quotient in f32 rounds to the integer that the exact one does, ties included.
    const int32_t by = (int32_t)count, m = sum < 0 ? -sum : sum, whole = m / by;
    const int32_t twice = 2 * (m - whole * by);
    const int32_t r = whole + (twice > by || (twice == by && whole % 2 != 0));
    const int32_t v = (sum < 0 ? -r : r) + q->zero;
    return v < q->low ? q->low : v > q->high ? q->high : v;
  }
  float v = (float)sum;
  if (FUNC == QPOOL2D_AVG) v = v / count;
  v = megcc_roundf(v * q->scale + q->offset);
  const float low = (float)(q->low - q->zero), high = (float)(q->high - q->zero);
  v = v > low ? v : low;
  return (int32_t)(v < high ? v : high) + q->zero;
}
#endif

// The sums of `n` channels as elements of y.
MEGCC_INLINE void megcc_qpool_store(const megcc_qpool_t *q, const megcc_pool8_t *t,
                                    const int32_t *sum, uint8_t *y, int32_t n) {
  const int32x4_t low = vdupq_n_s32(q->low), high = vdupq_n_s32(q->high);
#if MEGCC_MVE_FIXED
  const int32_t start = megcc_mve_fixed_start(q->zero + (int32_t)q->offset);
  const float count = FUNC == QPOOL2D_AVG ? (float)t->count : 1.0f;
  for (; n > 0; n -= 4, sum += 4, y += 4) {
    const mve_pred16_t some = vctp32q((uint32_t)n);
    mve_pred16_t near;
    int32x4_t v = megcc_mve_fixed(&q->fixed, vldrwq_s32(sum), start, some, &near);
    v = vminq_s32(vmaxq_s32(v, low), high);
    vstrbq_p_s32((int8_t *)y, v, some);
    if (!q->usual) near = some;
    for (int32_t l = 0; near != 0 && l < 4; ++l) {
      if (megcc_mve_is_near(near, l)) y[l] = (uint8_t)megcc_qpool_one(q, sum[l], count);
    }
  }
#else
  // With r the nearest number to 1 / n and q one to sum / n, q + (sum - q * n) * r is nearer: after
  // the first step q is next to the quotient, after the second it is its nearest number.
  const float count = (float)t->count, inverse = 1.0f / count;
  for (; n > 0; n -= 4, sum += 4, y += 4) {
    const mve_pred16_t some = vctp32q((uint32_t)n);
    float32x4_t v = vcvtq_f32_s32(vldrwq_s32(sum));
    if (FUNC == QPOOL2D_AVG) {
      const float32x4_t by = vdupq_n_f32(count), whole = v;
      v = vmulq_n_f32(v, inverse);
      v = vfmaq_n_f32(v, vfmsq_f32(whole, v, by), inverse);
      v = vfmaq_n_f32(v, vfmsq_f32(whole, v, by), inverse);
    }
    v = vmulq_n_f32(v, q->scale);
#if OFFSET
    __asm__("" : "+w"(v));  // rounded, whatever the compiler may contract
    v = vaddq_n_f32(v, q->offset);
#endif
    int32x4_t whole = vqaddq_n_s32(vcvtnq_s32_f32(v), q->zero);
    vstrbq_p_s32((int8_t *)y, vminq_s32(vmaxq_s32(whole, low), high), some);
  }
#endif
}

static void megcc_qpool_pixel(const void *how, const megcc_pool8_t *t, uint8_t *dst) {
  const megcc_qpool_t *q = how;
  int32_t sum[BLOCK];
#if MEGCC_MVE_FIXED
  megcc_qpool_t own;
  if (FUNC == QPOOL2D_AVG && t->count != q->count) {  // a window that is cut
    own = *q;
    own.fixed = megcc_mve_fixed_of(q->scale / (float)t->count, q->most);
    q = &own;
  }
#endif
  for (int32_t c = 0; c < t->channels; c += BLOCK) {
    const int32_t n = megcc_qpool_least(BLOCK, t->channels - c);
    megcc_qpool_sums(q, t, c, n, sum);
    megcc_qpool_store(q, t, sum, dst + c, n);
  }
}

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  const int32_t kh = attr[QPOOL2D_KH], kw = attr[QPOOL2D_KW];
  megcc_qpool_t q;
  (void)workspace;
  q.x_zero = attr[QPOOL2D_X_ZERO], q.zero = attr[QPOOL2D_Y_ZERO];
  q.low = attr[QPOOL2D_LOW], q.high = attr[QPOOL2D_HIGH];
  q.rows = kw > 0 && kw < TAPS ? TAPS / kw : 1, q.cols = TAPS;
  q.scale = megcc_attr_f32(attr[QPOOL2D_SCALE]), q.offset = megcc_attr_f32(attr[QPOOL2D_OFFSET]);
#if MEGCC_MVE_FIXED
  q.count = kh * kw;
  q.most = 255 * (uint32_t)(kh * kw);
  q.usual = q.scale > 1e-9f && q.scale < 1e9f && megcc_mve_is_whole(q.offset);
  q.fixed = megcc_mve_fixed_of(FUNC == QPOOL2D_AVG ? q.scale / (float)q.count : q.scale, q.most);
#else
  (void)kh;
#endif
  megcc_pool8(ptr, attr, begin, end, megcc_qpool_pixel, &q);
}
