// Compares megcc_requant_neon.h with megcc_requant.h, which it has to equal to the bit: sums over
// all magnitudes, scales that lead to halves, far beyond 8 bits and far below one step, zero points
// and limits at and inside the ends. Prints the first difference; Y and OFFSET come from the
// command.
#include <stdio.h>

#include "simd/megcc_requant_neon.h"

static uint32_t state = 1;

static uint32_t drawn(void) {
  state = state * 1664525u + 1013904223u;
  return state >> 8 | state << 24;
}

static int differs(const megcc_rescale *r, const int32_t *sums) {
  const megcc_narrow n = megcc_narrow_of(r);
  float32x4_t v[4];
  uint8_t got[24];
  for (int32_t j = 0; j < 4; ++j) {
    v[j] = megcc_scaled(vld1q_s32(sums + 4 * j), vld1q_f32(r->scale + 4 * j),
                        vld1q_f32(r->offset + 4 * j));
  }
  vst1q_u8(got, megcc_stored_16(&n, v[0], v[1], v[2], v[3]));
  vst1_u8(got + 16, megcc_stored_8(&n, v[1], v[3]));
  for (int32_t j = 0; j < 24; ++j) {
    const int32_t c = j < 16 ? j : j < 20 ? j - 12 : j - 8;
    const uint8_t want = (uint8_t)megcc_rescaled(r, sums[c], c);
    if (got[j] == want) continue;
    printf("sum %d scale %a offset %a zero %d limits %d..%d: %d, not %d\n", (int)sums[c],
           (double)r->scale[c], (double)r->offset[c], (int)r->zero, (int)r->low, (int)r->high,
           got[j], want);
    return 1;
  }
  return 0;
}

int main(void) {
  const float steps[] = {0.5f, 0.25f, 1.0f, 0.0123f, 1e-6f, 1e3f, 1e30f, 1.5f};
  const int32_t least = MEGCC_IS_UNSIGNED(Y) ? 0 : -128;
  for (int32_t turn = 0; turn < 4000; ++turn) {
    float scale[16], offset[16];
    int32_t sums[16];
    megcc_rescale r = {scale, offset, 0, least, least + 255, 0.0f, 0.0f};
    r.zero = least + (turn % 3 == 0 ? 0 : turn % 3 == 1 ? 255 : (int32_t)(drawn() % 256));
    if (turn % 2) r.low = r.zero, r.high = r.zero + (least + 255 - r.zero) / 2;
    for (int32_t j = 0; j < 16; ++j) {
      sums[j] = (int32_t)drawn() >> drawn() % 32;
      scale[j] = steps[drawn() % 8] * (turn % 5 ? 1.0f : 1.0f + (float)(drawn() % 1000) * 1e-3f);
      offset[j] = (float)((int32_t)drawn() >> drawn() % 32) * 0.25f;
    }
    if (differs(&r, sums)) return 1;
  }
  return 0;
}
