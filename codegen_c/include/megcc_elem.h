// The elements of a kernel that is written for several types: a file that has the kernel in f16
// defines MEGCC_F16 before it includes anything.
//
//   MEGCC_F16    megcc_elem_t   megcc_vf, and what is done with it
//   not defined  float          vectors of float (simd/megcc_simd.h)
//   1            uint16_t       the same; load and store convert (simd/megcc_simd_half.h)
//   2            float16_t      vectors of f16 (simd/megcc_simd_fp16.h); as 1 where the compiler is
//                               not told that the machine computes in it
//
//   float megcc_elem_f32(e), megcc_elem_t megcc_elem_of(float)
//   vf megcc_vf_spread(const megcc_elem_t *p)   *p in all lanes; not with 2
//   megcc_vf_lanes(float *, v), megcc_vf_lanes_n(float *, v, n), vf megcc_vf_of(const float *, n)
//                               not with 2: lanes as they are
#ifndef MEGCC_ELEM_H
#define MEGCC_ELEM_H

#include "megcc_kernel.h"

#if !defined(MEGCC_F16)
#include "simd/megcc_simd.h"
typedef float megcc_elem_t;
MEGCC_INLINE float megcc_elem_f32(megcc_elem_t e) { return e; }
MEGCC_INLINE megcc_elem_t megcc_elem_of(float x) { return x; }
MEGCC_INLINE megcc_vf megcc_vf_spread(const float *p) { return megcc_vf_dup(*p); }
MEGCC_INLINE void megcc_vf_lanes(float *lanes, megcc_vf v) { megcc_vf_store(lanes, v); }
MEGCC_INLINE void megcc_vf_lanes_n(float *lanes, megcc_vf v, int32_t n) {
  megcc_vf_store_n(lanes, v, n);
}
MEGCC_INLINE megcc_vf megcc_vf_of(const float *lanes, int32_t n) {
  return megcc_vf_load_n(lanes, n);
}
#elif MEGCC_F16 == 2 && defined(__ARM_FEATURE_FP16_VECTOR_ARITHMETIC)
#include "simd/megcc_simd_fp16.h"
#else
#include "simd/megcc_simd_half.h"
#endif

#endif  // MEGCC_ELEM_H
