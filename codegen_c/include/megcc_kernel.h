// The contract between the VM and a kernel. Every kernel, hand-written or generated, has this type.
//
//   ptr        the call's tensors, inputs first, then outputs (a kernel never writes an input,
//              except where its header comment says `inplace`)
//   attr       the operator's integer attributes, in the order of its header `op/<op>.h`;
//              a float attribute is stored by its bits (megcc_attr_f32)
//   workspace  scratch bytes, 64-byte aligned, as many as the kernel's `workspace` fact says
//   begin,end  half-open range of the kernel's own parallel dimension; calls on disjoint ranges
//              write disjoint outputs and may run at the same time (each with its own workspace)
//
// Tensors are dense and row-major; data pointers have at least the alignment of their element,
// those of weights that the kernel's header says `pack` of at least 8 bytes, as weights in a
// package have. A kernel does not allocate, keep state, call libc, or read outside its tensors.
#ifndef MEGCC_KERNEL_H
#define MEGCC_KERNEL_H

#include <stddef.h>
#include <stdint.h>

typedef void (*megcc_kernel_fn)(void *const *ptr, const int32_t *attr, void *workspace,
                                int32_t begin, int32_t end);

// MEGCC_FAST_CODE: attributes of the functions that take the time, such as a section in a memory
// without wait states. None unless you define it, as in a header that -include names.
#ifndef MEGCC_FAST_CODE
#define MEGCC_FAST_CODE
#endif

// The prototype of what a kernel's file defines, where it is told its name: -Wmissing-prototypes.
#ifdef MEGCC_SYMBOL
MEGCC_FAST_CODE
void MEGCC_SYMBOL(void *const *ptr, const int32_t *attr, void *workspace, int32_t begin,
                  int32_t end);
#endif

// Floats are compared for equality on purpose: x != x is a NaN, and models have the operator Equal.
// A tile's loop in assembly may be a longer text than C99 asks every compiler to take.
#if defined(__GNUC__) && !defined(__TINYC__)
#pragma GCC diagnostic ignored "-Wfloat-equal"
#pragma GCC diagnostic ignored "-Woverlength-strings"
#endif

static inline float megcc_attr_f32(int32_t bits) {
  union {
    int32_t i;
    float f;
  } u;
  u.i = bits;
  return u.f;
}

// C99's own stands in <math.h>, which a freestanding compiler need not have.
#define MEGCC_INFINITY megcc_attr_f32(0x7f800000)

// Before a loop of which no iteration reads what another one writes, though pointers may be equal.
#if defined(__clang__)
#define MEGCC_IVDEP _Pragma("clang loop vectorize(assume_safety)")
#elif defined(__GNUC__)
#define MEGCC_IVDEP _Pragma("GCC ivdep")
#else
#define MEGCC_IVDEP
#endif

// Before a loop of few turns that is run once per call: as often as not it would be unrolled whole.
#if defined(__clang__)
#define MEGCC_ROLLED _Pragma("clang loop unroll(disable)")
#elif defined(__GNUC__) && __GNUC__ >= 8
#define MEGCC_ROLLED _Pragma("GCC unroll 1")
#else
#define MEGCC_ROLLED
#endif

// Compiled for size, as packages of --optimize size are: a kernel then leaves out the forms of its
// loops that save a few instructions for much code.
#if defined(__OPTIMIZE_SIZE__)
#define MEGCC_SMALL
#endif

#if defined(__GNUC__) || defined(__clang__)
#define MEGCC_INLINE static inline __attribute__((always_inline))
#define MEGCC_ASSUME(cond)                \
  do {                                    \
    if (!(cond)) __builtin_unreachable(); \
  } while (0)
#define MEGCC_UNUSED __attribute__((unused))
// Loops that take the time, and what is around them, which is compiled for size. A function that
// calls cold ones only is cold itself, so one marks the loops within it.
#if defined(__clang__)
#define MEGCC_HOT MEGCC_FAST_CODE __attribute__((noinline, hot))
#elif defined(MEGCC_SMALL) && defined(__arm__) && !defined(__ARM_NEON)
// On a Cortex-M the loops take 30 % less at -O2, for some 300 bytes.
#define MEGCC_HOT MEGCC_FAST_CODE __attribute__((noinline, noclone, hot, optimize("O2")))
#else
#define MEGCC_HOT MEGCC_FAST_CODE __attribute__((noinline, noclone, hot))
#endif
#define MEGCC_COLD __attribute__((noinline, cold))
#else
#define MEGCC_INLINE static inline
#define MEGCC_ASSUME(cond) ((void)0)
#define MEGCC_UNUSED
#define MEGCC_HOT MEGCC_FAST_CODE
#define MEGCC_COLD
#endif

#endif  // MEGCC_KERNEL_H
