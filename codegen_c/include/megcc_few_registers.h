// MEGCC_FEW_REGISTERS: 1 where loops over arrays of sums would keep these in memory, as on a
// Cortex-M: thirteen registers, and no vectors.
#ifndef MEGCC_FEW_REGISTERS_H
#define MEGCC_FEW_REGISTERS_H

#if defined(__arm__) && !defined(__ARM_NEON)
#define MEGCC_FEW_REGISTERS 1
#else
#define MEGCC_FEW_REGISTERS 0
#endif

#endif  // MEGCC_FEW_REGISTERS_H
