// The intrinsics that kernels use of x86.
//
// GCC's <immintrin.h> is 62,000 lines, nine of ten of them AVX-512: 0.4 s a file, where a generated
// kernel takes 0.1 s itself. So without AVX-512 only four of its parts are read, as it reads them:
// they ask for its guard. Other compilers, and a GCC that nobody has tried, read it whole.
#ifndef MEGCC_INTRINSICS_X86_H
#define MEGCC_INTRINSICS_X86_H

#if defined(__GNUC__) && !defined(__clang__) && !defined(__INTEL_COMPILER) && __GNUC__ >= 9 && \
    __GNUC__ <= 15 && defined(__AVX2__) && !defined(__AVX512F__) && !defined(__AVXVNNI__) &&   \
    !defined(_IMMINTRIN_H_INCLUDED)
#include <smmintrin.h>
#define _IMMINTRIN_H_INCLUDED
#include <avxintrin.h>
#include <avx2intrin.h>
#include <f16cintrin.h>
#include <fmaintrin.h>
#undef _IMMINTRIN_H_INCLUDED
#else
#include <immintrin.h>
#endif

#endif  // MEGCC_INTRINSICS_X86_H
