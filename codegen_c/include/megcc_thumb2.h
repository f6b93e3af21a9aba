// MEGCC_THUMB2: 1 where functions can be written in Thumb-2, whose registers compilers do not
// spare: for loops that need all of them.
#ifndef MEGCC_THUMB2_H
#define MEGCC_THUMB2_H

#include "megcc_dtype.h"

#if defined(__thumb2__) && (defined(__clang__) || __GNUC__ >= 11)
#define MEGCC_THUMB2 1
#else
#define MEGCC_THUMB2 0
#endif

// A function whose body is all assembly. Its arguments are in registers, and nothing is saved; no
// compiler may guess which registers it changes, nor add to it.
#ifdef __clang__
#define MEGCC_NAKED __attribute__((naked, noinline, no_stack_protector, no_instrument_function))
#else
#define MEGCC_NAKED __attribute__((naked, noipa, no_stack_protector, no_instrument_function))
#endif

// The instruction that loads an 8-bit integer of a type.
#define MEGCC_THUMB2_LOAD(dtype) MEGCC_CAT(MEGCC_THUMB2_LOAD_, dtype)
#define MEGCC_THUMB2_LOAD_i8 "ldrsb"
#define MEGCC_THUMB2_LOAD_u8 "ldrb"

#endif  // MEGCC_THUMB2_H
