// Moving bytes and elements: shared by the kernels that compute nothing.
#ifndef MEGCC_MOVE_H
#define MEGCC_MOVE_H

#include "megcc_dtype.h"
#include "megcc_nd.h"

// Copies between regions that are apart.
MEGCC_INLINE void megcc_copy_apart(void *to, const void *from, size_t bytes) {
#if defined(__GNUC__) || defined(__clang__)
  __builtin_memcpy(to, from, bytes);
#else
  for (size_t i = 0; i < bytes; ++i) ((uint8_t *)to)[i] = ((const uint8_t *)from)[i];
#endif
}

// Copies unless the bytes are already there. Regions are the same or apart.
MEGCC_INLINE void megcc_copy_bytes(void *to, const void *from, size_t bytes) {
  if (to != from) megcc_copy_apart(to, from, bytes);
}

// Elements [begin, end) of the dense output `y` from the strided input `x` that `nd` describes. A
// macro, so that the element type is the caller's elem_t. Every second element is a case of its
// own: compilers know the instructions.
#define MEGCC_MOVE_STRIDED(nd, x, y, begin, end)                           \
  do {                                                                     \
    if ((begin) < (end)) {                                                 \
      const ptrdiff_t step_ = (nd)->stride[0][(nd)->rank - 1];             \
      megcc_nd_at_t at_ = megcc_nd_seek((nd), (begin));                    \
      for (int32_t i_ = (begin), n_; i_ < (end); i_ += n_) {               \
        const elem_t *src_ = (x) + at_.offset[0];                          \
        elem_t *dst_ = (y) + i_;                                           \
        n_ = megcc_nd_run((nd), &at_, (end)-i_);                           \
        if (step_ == 1)                                                    \
          for (int32_t k_ = 0; k_ < n_; ++k_) dst_[k_] = src_[k_];         \
        else if (step_ == 2)                                               \
          for (int32_t k_ = 0; k_ < n_; ++k_) dst_[k_] = src_[k_ * 2];     \
        else                                                               \
          for (int32_t k_ = 0; k_ < n_; ++k_) dst_[k_] = src_[k_ * step_]; \
        megcc_nd_advance((nd), &at_, n_);                                  \
      }                                                                    \
    }                                                                      \
  } while (0)

#endif  // MEGCC_MOVE_H
