// MEGCC_ALIGNED(n): alignment of an object, where the compiler has a word for it.
// MEGCC_WEIGHTS: the section of weights as a string, as ".external". The compiler's own unless you
// define it, as in a header that -include names.
#ifndef MEGCC_ALIGN_H
#define MEGCC_ALIGN_H

// Weights as C are one string; every C99 compiler need only take 4095 characters.
#if defined(__GNUC__) && !defined(__TINYC__)
#pragma GCC diagnostic ignored "-Woverlength-strings"
#endif

#if defined(__GNUC__) || defined(__clang__)
#define MEGCC_ALIGNED(n) __attribute__((aligned(n)))
#elif defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L
#define MEGCC_ALIGNED(n) _Alignas(n)
#elif defined(_MSC_VER)
#define MEGCC_ALIGNED(n) __declspec(align(n))
#else
#define MEGCC_ALIGNED(n)
#endif

#ifdef MEGCC_WEIGHTS
#define MEGCC_IN_WEIGHTS __attribute__((section(MEGCC_WEIGHTS)))
#else
#define MEGCC_IN_WEIGHTS
#endif

#endif  // MEGCC_ALIGN_H
