// megcc_q8.h for any C99 compiler: 8 lanes as arrays, in loops that compilers vectorise.
#ifndef MEGCC_Q8_C_H
#define MEGCC_Q8_C_H

#define MEGCC_Q8_LANES 8

typedef struct {
  int16_t v[MEGCC_Q8_LANES];
} megcc_q8x;
typedef struct {
  int32_t v[MEGCC_Q8_LANES];
} megcc_q8s;
typedef int32_t megcc_q8z;
typedef struct {
  const megcc_rescale *of;
  int32_t channel;
} megcc_q8r;

MEGCC_INLINE megcc_q8z megcc_q8_zero(int32_t z) { return z; }

MEGCC_INLINE megcc_q8x megcc_q8_data_i8(const int8_t *p, megcc_q8z zero) {
  megcc_q8x x;
  for (int l = 0; l < MEGCC_Q8_LANES; ++l) x.v[l] = (int16_t)(p[l] - zero);
  return x;
}

MEGCC_INLINE megcc_q8x megcc_q8_data_u8(const uint8_t *p, megcc_q8z zero) {
  megcc_q8x x;
  for (int l = 0; l < MEGCC_Q8_LANES; ++l) x.v[l] = (int16_t)(p[l] - zero);
  return x;
}

MEGCC_INLINE megcc_q8x megcc_q8_weights(const int8_t *p, megcc_q8z zero) {
  return megcc_q8_data_i8(p, zero);
}

MEGCC_INLINE megcc_q8x megcc_q8_none(void) {
  megcc_q8x x;
  for (int l = 0; l < MEGCC_Q8_LANES; ++l) x.v[l] = 0;
  return x;
}

MEGCC_INLINE megcc_q8s megcc_q8_sums(const int32_t *p) {
  megcc_q8s s;
  for (int l = 0; l < MEGCC_Q8_LANES; ++l) s.v[l] = p[l];
  return s;
}

MEGCC_INLINE megcc_q8s megcc_q8_mla(megcc_q8s s, megcc_q8x x, megcc_q8x w) {
  // Unsigned, because a bias may be so large that the sum wraps.
  for (int l = 0; l < MEGCC_Q8_LANES; ++l) {
    s.v[l] = (int32_t)((uint32_t)s.v[l] + (uint32_t)(x.v[l] * w.v[l]));
  }
  return s;
}

MEGCC_INLINE megcc_q8s megcc_q8_plus(megcc_q8s s, int32_t x) {
  for (int l = 0; l < MEGCC_Q8_LANES; ++l) s.v[l] = (int32_t)((uint32_t)s.v[l] + (uint32_t)x);
  return s;
}

MEGCC_INLINE megcc_q8r megcc_q8_rescale(const megcc_rescale *r) {
  const megcc_q8r made = {r, 0};
  return made;
}

MEGCC_INLINE void megcc_q8_channels(megcc_q8r *made, const megcc_rescale *r, int32_t c) {
  (void)r;
  made->channel = c;
}

MEGCC_INLINE void megcc_q8_store(const megcc_q8r *r, megcc_q8s s, MEGCC_CTYPE(Y) * dst) {
  for (int l = 0; l < MEGCC_Q8_LANES; ++l) dst[l] = megcc_rescaled(r->of, s.v[l], r->channel + l);
}

MEGCC_INLINE void megcc_q8_store_pair(const megcc_q8r *r, megcc_q8s s, MEGCC_CTYPE(Y) * dst,
                                      megcc_q8s t, MEGCC_CTYPE(Y) * dst2) {
  megcc_q8_store(r, s, dst);
  megcc_q8_store(r, t, dst2);
}

#endif  // MEGCC_Q8_C_H
