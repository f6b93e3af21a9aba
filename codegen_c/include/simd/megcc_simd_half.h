// megcc_elem.h for f16 that is stored only: vectors are of float, and load and store convert.
// From here on megcc_vf_load and the functions like it read and write f16.
#ifndef MEGCC_SIMD_HALF_H
#define MEGCC_SIMD_HALF_H

#include "megcc_act.h"
#include "simd/megcc_vh.h"

typedef uint16_t megcc_elem_t;
MEGCC_INLINE float megcc_elem_f32(megcc_elem_t e) { return megcc_f16_to_f32(e); }
MEGCC_INLINE megcc_elem_t megcc_elem_of(float x) { return megcc_f32_to_f16(x); }

MEGCC_INLINE void megcc_vf_lanes(float *lanes, megcc_vf v) { megcc_vf_store(lanes, v); }
MEGCC_INLINE void megcc_vf_lanes_n(float *lanes, megcc_vf v, int32_t n) {
  megcc_vf_store_n(lanes, v, n);
}
MEGCC_INLINE megcc_vf megcc_vf_of(const float *lanes, int32_t n) {
  return megcc_vf_load_n(lanes, n);
}

MEGCC_INLINE megcc_vf megcc_vh_load_move(const uint16_t **p, ptrdiff_t bytes) {
  const megcc_vf v = megcc_vh_load(*p);
  *p = (const uint16_t *)(const void *)((const char *)*p + bytes);
  return v;
}
MEGCC_INLINE void megcc_vh_store_move(uint16_t **p, megcc_vf v, ptrdiff_t bytes) {
  megcc_vh_store(*p, v);
  *p = (uint16_t *)(void *)((char *)*p + bytes);
}

#define megcc_vf_load megcc_vh_load
#define megcc_vf_store megcc_vh_store
#define megcc_vf_spread megcc_vh_spread
#define megcc_vf_load_n megcc_vh_load_n
#define megcc_vf_store_n megcc_vh_store_n
#define megcc_vf_load_move megcc_vh_load_move
#define megcc_vf_store_move megcc_vh_store_move

#endif  // MEGCC_SIMD_HALF_H
