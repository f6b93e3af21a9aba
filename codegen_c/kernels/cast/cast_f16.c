// kernel: cast_f16 WIDEN=0 SATURATE=0
// op: cast
// dtype: x=f16,f32 y=f16,f32
// arch: portable
// isa: simd
// when: sizeof(X) != sizeof(Y)
// rank: 0
// params: WIDEN=(sizeof(X) < sizeof(Y)) SATURATE=saturate
// work: size
// cost: 8
//
// Between f16 and f32, a vector at a time, to nearest and ties to even.
#define MEGCC_F16 1

#include "megcc_elem.h"
#include "op/cast.h"

#if WIDEN
typedef megcc_elem_t from_t;
typedef float to_t;
#else
typedef float from_t;
typedef megcc_elem_t to_t;
#endif

// At most MEGCC_VL elements.
MEGCC_INLINE void cast(const from_t *x, to_t *y, int32_t n) {
#if WIDEN
  megcc_vf_lanes_n(y, megcc_vf_load_n(x, n), n);
#else
  megcc_vf v = megcc_vf_of(x, n);
  if (SATURATE) {  // infinities and NaN stay
    const megcc_vm finite = megcc_vf_lt(megcc_vf_abs(v), megcc_vf_dup(MEGCC_INFINITY));
    const megcc_vf low = megcc_vf_min(v, megcc_vf_dup(65504.0f));
    v = megcc_vf_select(finite, megcc_vf_max(low, megcc_vf_dup(-65504.0f)), v);
  }
  megcc_vf_store_n(y, v, n);
#endif
}

void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end) {
  const from_t *x = ptr[0];
  to_t *y = ptr[1];
  int32_t i = begin;
  (void)attr, (void)workspace;
  for (; end - i >= 4 * MEGCC_VL; i += 4 * MEGCC_VL) {
    cast(x + i, y + i, MEGCC_VL);
    cast(x + i + MEGCC_VL, y + i + MEGCC_VL, MEGCC_VL);
    cast(x + i + 2 * MEGCC_VL, y + i + 2 * MEGCC_VL, MEGCC_VL);
    cast(x + i + 3 * MEGCC_VL, y + i + 3 * MEGCC_VL, MEGCC_VL);
  }
  for (; end - i >= MEGCC_VL; i += MEGCC_VL) cast(x + i, y + i, MEGCC_VL);
  if (i < end) cast(x + i, y + i, end - i);
}
