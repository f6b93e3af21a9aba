// Compares megcc_f32_integer.h with the machine's own f32, for numbers of all kinds. Prints what
// differs; the status is 1 where anything does.
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "megcc_f32_integer.h"

typedef union {
  uint32_t bits;
  float f;
} number_t;

static uint64_t state = 88172645463325252u;

static uint64_t next(void) {
  state ^= state << 13, state ^= state >> 7, state ^= state << 17;
  return state;
}

// Any bits; powers of two and their neighbours; numbers near `other`; near 0; infinities.
static number_t drawn(number_t other) {
  number_t v = {(uint32_t)next()};
  switch (next() % 6) {
    case 0: v.bits &= 0xff800001u; break;
    case 1: v.bits = other.bits ^ (v.bits & 0x80000003u); break;
    case 2: v.bits = other.bits ^ (v.bits & 0x81ffffffu); break;
    case 3: v.bits &= 0x80ffffffu; break;
    case 4: v.f = (float)(int32_t)(v.bits % 1025 - 512) / 2; break;
    default: break;
  }
  return v;
}

static int differ;

static void same(const char *what, number_t a, number_t b, uint32_t got, float want) {
  const number_t w = {.f = want};
  if (w.bits == got || (want != want && megcc_f32_is_nan(got))) return;
  if (differ++ < 10) printf("%a %s %a is %08x, not %08x\n", a.f, what, b.f, w.bits, got);
}

static int32_t nearest(float v) {
  v = rintf(v);
  v = v > -MEGCC_F32_BEYOND ? v : -MEGCC_F32_BEYOND;
  return (int32_t)(v < MEGCC_F32_BEYOND ? v : MEGCC_F32_BEYOND);
}

int main(int argc, char **argv) {
  const long count = argc > 1 ? atol(argv[1]) : 1;
  number_t a = {0}, b = {0};
  for (long n = 0; n < count; ++n) {
    a = drawn(b), b = drawn(a);
    const int32_t whole = (int32_t)(next() >> next() % 64);
    same("*", a, b, megcc_f32_mul(a.bits, b.bits), a.f * b.f);
    same("/", a, b, megcc_f32_div(a.bits, b.bits), a.f / b.f);
    same("+", a, b, megcc_f32_add(a.bits, b.bits), a.f + b.f);
    same("as f32, besides", a, b, megcc_f32_of(whole), (float)whole);
    if (megcc_f32_nearest(a.bits) != nearest(a.f) && differ++ < 10) {
      printf("%a is rounded to %d\n", a.f, megcc_f32_nearest(a.bits));
    }
  }
  return differ > 0;
}
