// The sums of a tile of megcc_qgemm_lanes.h in plain C: a loop over eight columns, which compilers
// make vectors of.
#ifndef MEGCC_QGEMM_C_H
#define MEGCC_QGEMM_C_H

#define MEGCC_QGEMM_PANEL 8
#define MEGCC_QGEMM_KR 1

#ifndef MEGCC_SIMD_PORTABLE
#define MEGCC_SIMD_PORTABLE  // vectors of megcc_q8.h are arrays
#endif
#define MEGCC_QGEMM_FLIP 0  // data are not flipped

#include "gemm/megcc_qgemm_lanes.h"
#include "megcc_few_registers.h"

#if MEGCC_FEW_REGISTERS
#define MEGCC_QGEMM_FEW  // blocks are those of megcc_qgemm_few.h
#else
MEGCC_INLINE void megcc_qgemm_sums(const megcc_qgemm_t *g, const uint8_t *const *a, const int8_t *b,
                                   const int32_t *bias, megcc_q8s *sums, int rows) {
  // Unsigned, because the sum of a bias wraps that a zero point was added to.
  uint32_t s0[MEGCC_QGEMM_PANEL], s1[MEGCC_QGEMM_PANEL], s2[MEGCC_QGEMM_PANEL],
      s3[MEGCC_QGEMM_PANEL];
  for (int l = 0; l < MEGCC_QGEMM_PANEL; ++l) s0[l] = s1[l] = s2[l] = s3[l] = (uint32_t)bias[l];
  for (size_t s = 0; s < g->segments; ++s, a += g->a_stride) {
    const int last = rows - 1;
    const MEGCC_CTYPE(X) *x0 = (const MEGCC_CTYPE(X) *)(a[0] + g->a_skip);
    const MEGCC_CTYPE(X) *x1 = (const MEGCC_CTYPE(X) *)(a[last ? 1 : 0] + g->a_skip);
    const MEGCC_CTYPE(X) *x2 = (const MEGCC_CTYPE(X) *)(a[last ? 2 : 0] + g->a_skip);
    const MEGCC_CTYPE(X) *x3 = (const MEGCC_CTYPE(X) *)(a[last] + g->a_skip);
    for (size_t k = 0; k < g->groups; ++k, b += MEGCC_QGEMM_PANEL) {
      const int32_t v0 = x0[k], v1 = x1[k], v2 = x2[k], v3 = x3[k];
      for (int l = 0; l < MEGCC_QGEMM_PANEL; ++l) s0[l] += (uint32_t)(v0 * b[l]);
      if (rows == 1) continue;
      for (int l = 0; l < MEGCC_QGEMM_PANEL; ++l) s1[l] += (uint32_t)(v1 * b[l]);
      for (int l = 0; l < MEGCC_QGEMM_PANEL; ++l) s2[l] += (uint32_t)(v2 * b[l]);
      for (int l = 0; l < MEGCC_QGEMM_PANEL; ++l) s3[l] += (uint32_t)(v3 * b[l]);
    }
  }
  for (int l = 0; l < MEGCC_QGEMM_PANEL; ++l) {
    sums[0].v[l] = (int32_t)s0[l];
    if (rows == 1) continue;
    sums[1].v[l] = (int32_t)s1[l];
    sums[2].v[l] = (int32_t)s2[l];
    sums[3].v[l] = (int32_t)s3[l];
  }
}
#endif

#endif  // MEGCC_QGEMM_C_H
