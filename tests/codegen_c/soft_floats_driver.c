// Compares kernels as machines without floats have them with the same kernels in floats. OP is 0
// for qbinary, 1 for qpool2d, 2 for qresize2d; `floats` and `integers` are the kernel, compiled
// both ways. Scales of all sizes and ratios, results next to halves, all zero points and limits.
// Prints what differs; the status is 1 where anything does.
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "op/qbinary.h"
#include "op/qpool2d.h"
#include "op/qresize2d.h"

#define SIZE 4096

void floats(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin, int32_t end);
void integers(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin, int32_t end);

static uint64_t state = 88172645463325252u;

static uint32_t next(void) {
  state ^= state << 13, state ^= state >> 7, state ^= state << 17;
  return (uint32_t)(state >> 16);
}

static int32_t between(int32_t low, int32_t high) {
  return low + (int32_t)(next() % (uint32_t)(high - low + 1));
}

static int32_t bits_of(float f) {
  int32_t bits;
  memcpy(&bits, &f, 4);
  return bits;
}

// A scale of about `size`: 1, a power of two, a short fraction, any; sometimes of any size.
static int32_t scale_near(double size) {
  static const float FEW[] = {1.0f, 0.5f, 0.25f, 2.0f, 0.75f, 0.1f};
  switch (next() % 8) {
    case 0: return bits_of((float)(size * FEW[next() % 6]));
    case 1: return (int32_t)(next() & 0x7fffffff);
    case 2: return bits_of((float)size);
    default: return bits_of((float)(size * exp2(between(-60, 60) / 10.0)));
  }
}

static uint8_t x[SIZE], other[SIZE], y[2][SIZE];
static uint64_t workspace[2][SIZE];
static int32_t attr[64];

// Attributes of the zero points and limits, and a zero point that may be an offset; its bits.
static int32_t limits(int32_t zero_at, int32_t low_at, int32_t high_at) {
  const int32_t least = LEAST_Y, zero = between(least, least + 255);
  const int is_offset = next() % 3 == 0;
  attr[zero_at] = is_offset ? 0 : zero;
  attr[low_at] = next() % 4 == 0 ? zero : least, attr[high_at] = least + 255;
  if (next() % 16 == 0) attr[high_at] = zero + (least + 255 - zero) / 2;
  if (is_offset && next() % 16 == 0) return bits_of(next() & 1 ? (float)zero + 0.375f : -1e9f);
  return is_offset ? bits_of((float)zero) : 0;
}

static int32_t draw(void) {
#if OP == 0
  const int32_t size = SIZE / 4, period[] = {1, 8, SIZE / 4};
  const double scale = exp2(between(-20, 20));
  attr[QBINARY_SIZE] = size;
  attr[QBINARY_A_ZERO] = between(LEAST_X, LEAST_X + 255);
  attr[QBINARY_B_ZERO] = between(LEAST_X, LEAST_X + 255);
  attr[QBINARY_A_SCALE] = scale_near(scale), attr[QBINARY_B_SCALE] = scale_near(scale);
  attr[QBINARY_Y_SCALE] = scale_near(PRODUCT ? scale * scale * 128 : scale);
  attr[QBINARY_OFFSET] = limits(QBINARY_Y_ZERO, QBINARY_LOW, QBINARY_HIGH);
  attr[QBINARY_PERIOD] = period[next() % 3];
  attr[QBINARY_INNER] = attr[QBINARY_PERIOD] == 1 ? 64 : size / attr[QBINARY_PERIOD];
  return size;
#elif OP == 1
  const int32_t h = between(1, 12), w = between(1, 12), c = between(1, 20);
  attr[QPOOL2D_N] = 1, attr[QPOOL2D_H] = h, attr[QPOOL2D_W] = w, attr[QPOOL2D_C] = c;
  const int32_t kh = between(1, h), kw = between(1, w);
  const int32_t pad_h = between(0, kh - 1), pad_w = between(0, kw - 1);
  attr[QPOOL2D_KH] = kh, attr[QPOOL2D_KW] = kw, attr[QPOOL2D_SH] = attr[QPOOL2D_SW] = 1;
  attr[QPOOL2D_DH] = attr[QPOOL2D_DW] = 1;
  attr[QPOOL2D_PT] = pad_h, attr[QPOOL2D_PB] = 0, attr[QPOOL2D_PL] = 0, attr[QPOOL2D_PR] = pad_w;
  attr[QPOOL2D_OH] = h + pad_h - kh + 1, attr[QPOOL2D_OW] = w + pad_w - kw + 1;
  attr[QPOOL2D_COUNT_INCLUDE_PAD] = (int32_t)(next() & 1);
  attr[QPOOL2D_X_ZERO] = between(LEAST_X, LEAST_X + 255);
  attr[QPOOL2D_SCALE] = scale_near(PRODUCT ? 1.0 / (kh * kw) : 1.0);
  attr[QPOOL2D_OFFSET] = limits(QPOOL2D_Y_ZERO, QPOOL2D_LOW, QPOOL2D_HIGH);
  return attr[QPOOL2D_OH];
#else
  const int32_t h = between(1, 9), w = between(1, 9);
  const int32_t oh = h << between(0, 2), ow = w << between(0, 2);
  attr[QRESIZE2D_N] = 1, attr[QRESIZE2D_H] = h, attr[QRESIZE2D_W] = w;
  attr[QRESIZE2D_OH] = oh, attr[QRESIZE2D_OW] = ow, attr[QRESIZE2D_C] = between(1, 3);
  const int32_t ways[] = {RESIZE2D_HALF_PIXEL, RESIZE2D_ASYMMETRIC, RESIZE2D_PYTORCH_HALF_PIXEL};
  attr[QRESIZE2D_COORD] = ways[next() % 3];
  attr[QRESIZE2D_X_ZERO] = between(LEAST_X, LEAST_X + 255);
  (void)limits(QRESIZE2D_Y_ZERO, QRESIZE2D_LOW, QRESIZE2D_HIGH);
  do {
    attr[QRESIZE2D_SCALE] = scale_near(1.0);
  } while (attr[QRESIZE2D_SCALE] >= 0x7f800000);  // a call's is finite
  if (ROUND == QRESIZE2D_CUT) {
    attr[QRESIZE2D_X_ZERO] = attr[QRESIZE2D_Y_ZERO] = 0, attr[QRESIZE2D_SCALE] = bits_of(1.0f);
    attr[QRESIZE2D_LOW] = LEAST_Y, attr[QRESIZE2D_HIGH] = LEAST_Y + 255;
  }
  return oh;
#endif
}

int main(int argc, char **argv) {
  const long count = argc > 1 ? atol(argv[1]) : 1;
  int differ = 0;
  for (long n = 0; n < count; ++n) {
    const int32_t units = draw();
    for (int32_t k = 0; k < SIZE; ++k) {
      x[k] = (uint8_t)next(), other[k] = (uint8_t)next();
      y[0][k] = y[1][k] = 99;
    }
    for (int way = 0; way < 2; ++way) {
      void *const two[] = {x, y[way]}, *const three[] = {x, other, y[way]};
      (way == 0 ? floats : integers)(OP == 0 ? three : two, attr, workspace[way], 0, units);
    }
    for (int32_t k = 0; k < SIZE; ++k) {
      if (y[0][k] == y[1][k] || differ++ >= 10) continue;
      printf("call %ld, element %d: %d, not %d\n", n, k, y[0][k], y[1][k]);
    }
  }
  return differ > 0;
}
