// Vectors of 8-bit integers that are widened to be multiplied, whatever the machine.
//
//   chosen by the compiler's macros    lanes   header
//   AArch64 or Armv7 NEON                  8   megcc_q8_neon.h
//   AVX-512 (F, BW)                       16   megcc_q8_x86.h
//   AVX2                                   8   megcc_q8_x86.h
//   any other C99 compiler                 8   megcc_q8_c.h (loops over arrays)
//
// The macros that megcc_requant.h wants are defined before, and X, the type of the data (i8 or u8).
//
// Types: megcc_q8x (data or weights, widened), megcc_q8s (i32 sums), megcc_q8r (how a vector of
// channels is rescaled). All are values of MEGCC_Q8_LANES lanes. Functions (always inline):
//   q8x MEGCC_Q8_DATA(p, zero)     lanes of X at p, each minus the zero point
//   q8x MEGCC_Q8_DATA_MOVE(&p, bytes, zero)   then move the pointer on
//   q8x megcc_q8_weights(p, zero)  the same of i8
//   q8x megcc_q8_none()            lanes of 0: what lies outside of an image
//   q8s megcc_q8_sums(p)           lanes of i32
//   q8s megcc_q8_mla(s, x, w)      s + x * w; exact
//   q8s megcc_q8_plus(s, x)        a number added to all lanes
//   q8z megcc_q8_zero(z)           the zero point as MEGCC_Q8_DATA takes it
//   q8r megcc_q8_rescale(r)        what all channels share
//   megcc_q8_channels(&q8r, r, c)  and what is of the channels from c on
//   megcc_q8_store(&q8r, s, dst)    rescaled sums as elements of Y
//   megcc_q8_store_pair(&q8r, s, dst, t, dst2)   two of them, of the same channels
#ifndef MEGCC_Q8_H
#define MEGCC_Q8_H

#include "megcc_requant.h"

#ifndef X
#define X i8
#endif

#if defined(MEGCC_SIMD_PORTABLE) || defined(MEGCC_SIMD_SCALAR)
#include "simd/megcc_q8_c.h"
#elif defined(__ARM_NEON) || defined(__ARM_NEON__)
#include "simd/megcc_q8_neon.h"
#elif defined(__AVX2__) && defined(__FMA__)
#include "simd/megcc_q8_x86.h"
#else
#include "simd/megcc_q8_c.h"
#endif

#define MEGCC_Q8_DATA MEGCC_CAT(megcc_q8_data_, X)
#ifdef MEGCC_Q8_MOVES
#define MEGCC_Q8_DATA_MOVE MEGCC_CAT(megcc_q8_data_move_, X)
#else
#define MEGCC_Q8_DATA_MOVE megcc_q8_data_move
MEGCC_INLINE megcc_q8x megcc_q8_data_move(const MEGCC_CTYPE(X) * *p, ptrdiff_t bytes,
                                          megcc_q8z zero) {
  const megcc_q8x v = MEGCC_Q8_DATA(*p, zero);
  *p += bytes;
  return v;
}
#endif

#endif  // MEGCC_Q8_H
