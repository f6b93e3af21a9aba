// dst[r][c] = rescaled(bias[c] + term[r] + sum_k a[r][k] * b[k][c]) of 8-bit integers, the inner
// part of qconv2d and qmatmul where vectors hold columns: what megcc_qgemm.h is on arm64, for the
// others. There are terms of rows where b has a zero point (TERMS).
//
// Rows of `a` are given by pointers, as there, and read where they are. `b` is packed in panels of
// MEGCC_QGEMM_PANEL columns (packing.py, qgemm_panels and qmatmul_panels), the zero point of the
// data in the bias. A tile is four rows or one by one panel (megcc_qgemm_panels.h); how its sums
// are made says the header that includes this one: megcc_qgemm_c.h,
// megcc_qgemm_x86.h, megcc_qgemm_vnni.h or megcc_qgemm_armv7.h. Machines with few registers have
// smaller tiles (megcc_qgemm_few.h). Every sum is exact, so results do not depend on how the work
// is split.
#ifndef MEGCC_QGEMM_LANES_H
#define MEGCC_QGEMM_LANES_H

#include "simd/megcc_q8.h"

#define MEGCC_QGEMM_LANES  // vectors hold columns
#define MEGCC_QGEMM_CHUNK MEGCC_QGEMM_KR
#define MEGCC_QGEMM_ROWS 4

typedef struct {
  const uint8_t *const *a;
  size_t a_stride, a_skip;
  size_t segments, groups;  // runs, and groups of MEGCC_QGEMM_KR bytes in each
  size_t panel;             // bytes from one panel of b to the next
  const int8_t *b;
  const int32_t *bias;
  const int32_t *terms;  // one per row; read only when TERMS is 1
  megcc_rescale rescale;
  MEGCC_CTYPE(Y) * dst;
  size_t ld;  // elements from row to row of dst
} megcc_qgemm_t;

#endif  // MEGCC_QGEMM_LANES_H
