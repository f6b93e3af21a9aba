// Loops over dense arrays of up to MEGCC_ND_RANK axes with strided or broadcast operands.
//
// A kernel describes the output's dims and, for each input, how many elements one step along each
// axis is; `megcc_nd_collapse` merges neighbouring axes wherever every input steps evenly across
// both. The kernel then asks for runs along the last axis, from any flat index of the output:
//
//   megcc_nd_at_t at = megcc_nd_seek(&nd, begin);
//   for (int32_t i = begin, run; i < end; i += run) {
//     run = megcc_nd_run(&nd, &at, end - i);
//     ... `run` elements from at.offset[k], nd.stride[k][nd.rank - 1] apart ...
//     megcc_nd_advance(&nd, &at, run);
//   }
#ifndef MEGCC_ND_H
#define MEGCC_ND_H

#include "megcc_kernel.h"

#define MEGCC_ND_RANK 8
#ifndef MEGCC_ND_INPUTS
#define MEGCC_ND_INPUTS 1  // a kernel with more inputs says so before it includes this header
#endif

typedef struct {
  int32_t rank;  // at least 1 after megcc_nd_collapse
  int32_t dim[MEGCC_ND_RANK];
  ptrdiff_t stride[MEGCC_ND_INPUTS][MEGCC_ND_RANK];
} megcc_nd_t;

typedef struct {
  int32_t index[MEGCC_ND_RANK];
  ptrdiff_t offset[MEGCC_ND_INPUTS];
} megcc_nd_at_t;

// Strides of a dense input of `dims` that broadcasts to the output: 0 along its axes of one.
MEGCC_INLINE void megcc_nd_broadcast(megcc_nd_t *nd, int input, const int32_t *dims) {
  ptrdiff_t step = 1;
  for (int i = MEGCC_ND_RANK - 1; i >= 0; --i) {
    nd->stride[input][i] = dims[i] == 1 ? 0 : step;
    step *= dims[i];
  }
}

MEGCC_INLINE int megcc_nd_merges(const megcc_nd_t *nd, int outer, int inner) {
  for (int k = 0; k < MEGCC_ND_INPUTS; ++k)
    if (nd->stride[k][outer] != nd->stride[k][inner] * nd->dim[inner]) return 0;
  return 1;
}

MEGCC_INLINE void megcc_nd_collapse(megcc_nd_t *nd) {
  int used = 0;  // axes kept so far, in place
  for (int i = 0; i < nd->rank; ++i) {
    if (nd->dim[i] == 1) continue;
    const int merges = used > 0 && megcc_nd_merges(nd, used - 1, i);
    const int to = merges ? used - 1 : used;
    nd->dim[to] = merges ? nd->dim[to] * nd->dim[i] : nd->dim[i];
    for (int k = 0; k < MEGCC_ND_INPUTS; ++k) nd->stride[k][to] = nd->stride[k][i];
    used = to + 1;
  }
  if (used == 0) {
    nd->dim[0] = 1;
    for (int k = 0; k < MEGCC_ND_INPUTS; ++k) nd->stride[k][0] = 0;
    used = 1;
  }
  nd->rank = used;
}

// The place of element `flat` of the output; `flat` is below the number of elements.
MEGCC_INLINE megcc_nd_at_t megcc_nd_seek(const megcc_nd_t *nd, int32_t flat) {
  megcc_nd_at_t at;
  for (int k = 0; k < MEGCC_ND_INPUTS; ++k) at.offset[k] = 0;
  for (int i = nd->rank - 1; i >= 0; --i) {
    at.index[i] = nd->dim[i] ? flat % nd->dim[i] : 0;
    flat = nd->dim[i] ? flat / nd->dim[i] : 0;
    for (int k = 0; k < MEGCC_ND_INPUTS; ++k) at.offset[k] += at.index[i] * nd->stride[k][i];
  }
  return at;
}

// Elements that are left along the last axis from here, at most `limit`.
MEGCC_INLINE int32_t megcc_nd_run(const megcc_nd_t *nd, const megcc_nd_at_t *at, int32_t limit) {
  const int32_t left = nd->dim[nd->rank - 1] - at->index[nd->rank - 1];
  return left < limit ? left : limit;
}

MEGCC_INLINE void megcc_nd_advance(const megcc_nd_t *nd, megcc_nd_at_t *at, int32_t run) {
  int i = nd->rank - 1;
  at->index[i] += run;
  for (int k = 0; k < MEGCC_ND_INPUTS; ++k) at->offset[k] += run * nd->stride[k][i];
  for (; i > 0 && at->index[i] == nd->dim[i]; --i) {
    at->index[i] = 0;
    ++at->index[i - 1];
    for (int k = 0; k < MEGCC_ND_INPUTS; ++k)
      at->offset[k] += nd->stride[k][i - 1] - nd->dim[i] * nd->stride[k][i];
  }
}

#endif  // MEGCC_ND_H
