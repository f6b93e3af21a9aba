// MEGCC_SOFT_FLOATS: 1 on machines whose floats are functions of the compiler's library.
#ifndef MEGCC_SOFT_FLOATS_H
#define MEGCC_SOFT_FLOATS_H

#ifdef MEGCC_SOFT_FLOATS  // given by a test, on a machine with floats
#elif (defined(__arm__) && !defined(__ARM_FP)) || (defined(__riscv) && !defined(__riscv_flen))
#define MEGCC_SOFT_FLOATS 1
#else
#define MEGCC_SOFT_FLOATS 0
#endif

#endif  // MEGCC_SOFT_FLOATS_H
