// Compares megcc_requant_integer.h and megcc_requant_fixed.h with the same rule in floats: sums and
// scales of every size, results next to halves, limits of any width. Prints what differs; the
// status is 1 where anything does.
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "megcc_requant_fixed.h"

static uint64_t state = 88172645463325252u;

static uint64_t next(void) {
  state ^= state << 13, state ^= state >> 7, state ^= state << 17;
  return state;
}

typedef union {
  float f;
  uint32_t bits;
} scale_t;

static scale_t scale_of(int32_t sum) {
  const double magnitude = fabs((double)sum) + 1e-9;
  scale_t s;
  switch (next() % 4) {
    case 0: s.bits = (uint32_t)next(); break;                                  // any float
    case 1: s.f = (float)((double)(next() % 1000) / magnitude); break;         // near an integer
    case 2: s.f = (float)(((double)(next() % 520) + 0.5) / magnitude); break;  // near a half
    default: s.f = ldexpf(1 + (float)(next() & 0x7fffff) * 0x1p-23f, -(int)(next() % 45));
  }
  return s;
}

static int32_t by_floats(int32_t sum, float scale, int32_t zero, int32_t low, int32_t high) {
  const float least = (float)(low - zero), most = (float)(high - zero);
  float v = rintf((float)sum * scale);
  v = v > least ? v : least;
  v = v < most ? v : most;
  return (int32_t)v + zero;
}

// As kernels use it: a bound that holds, and the exact rule where a half is near; 1 in `others`
// then.
static int32_t by_fixed(int32_t sum, uint32_t scale, int32_t zero, int32_t low, int32_t high,
                        long *others) {
  const uint32_t magnitude = sum < 0 ? 0 - (uint32_t)sum : (uint32_t)sum;
  const uint32_t more = (uint32_t)(next() >> next() % 32) >> 1;
  const megcc_fixed_t v = megcc_fixed_of(scale, next() % 4 == 0    ? 0x80000000
                                                : magnitude > more ? magnitude
                                                                   : more);
  int near;
  int32_t q = megcc_fixed(&v, sum, megcc_fixed_start(zero), &near);
  *others += near;
  if (near) q = megcc_requant_integer(sum, scale, zero, low, high);
  return q < low ? low : q < high ? q : high;
}

int main(int argc, char **argv) {
  const long count = argc > 1 ? atol(argv[1]) : 1;
  long others = 0;
  int differ = 0;
  for (long n = 0; n < count; ++n) {
    const int32_t magnitude = (int32_t)(next() >> next() % 32);
    const int32_t sum = n % 64 == 0 ? INT32_MIN : n & 1 ? magnitude : -1 - magnitude;
    const scale_t scale = scale_of(sum);
    const int narrow = next() % 8 == 0;
    const int32_t zero = (int32_t)(next() % 384) - 128;
    const int32_t low = narrow ? (int32_t)(next() % 100) - 100 : zero > 127 ? 0 : -128;
    const int32_t high = narrow ? (int32_t)(next() % 100) : low + 255;
    const int32_t want = by_floats(sum, scale.f, zero, low, high);
    const int32_t got = megcc_requant_integer(sum, scale.bits, zero, low, high);
    const int32_t fixed = by_fixed(sum, scale.bits, zero, low, high, &others);
    if ((got != want || fixed != want) && differ++ < 10) {
      printf("%d * %a + %d in %d to %d is %d, not %d or %d\n", sum, (double)scale.f, zero, low,
             high, want, got, fixed);
    }
  }
  printf("%ld of %ld by the exact rule\n", others, count);
  return differ > 0;
}
