// Where a build with PLACED=1 puts what takes the time, by names of sections in board.ld. A package
// of yours takes such a header by the compiler's -include.
#ifndef PLACEMENT_H
#define PLACEMENT_H

#define MEGCC_FAST_CODE __attribute__((section(".fast_code")))  // kernels: ITCM
#define MEGCC_FAST_DATA __attribute__((section(".fast_data")))  // the arena: DTCM
#define MEGCC_WEIGHTS ".external"                               // weights: external flash

#endif  // PLACEMENT_H
