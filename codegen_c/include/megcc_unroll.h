// Before an innermost loop: so many turns of it at once. Compilers that make vectors of the loop do
// so with turns of vectors.
#ifndef MEGCC_UNROLL_H
#define MEGCC_UNROLL_H

#define MEGCC_PRAGMA(text) _Pragma(#text)
#if defined(__clang__)
#define MEGCC_UNROLL(turns) MEGCC_PRAGMA(clang loop unroll_count(turns))
#elif defined(__GNUC__) && __GNUC__ >= 8
#define MEGCC_UNROLL(turns) MEGCC_PRAGMA(GCC unroll turns)
#else
#define MEGCC_UNROLL(turns)
#endif

#endif  // MEGCC_UNROLL_H
