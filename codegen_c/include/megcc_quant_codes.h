// The output that a kernel of 8-bit integers makes of its i32 sums: the fact `out` of its operator.
#ifndef MEGCC_QUANT_CODES_H
#define MEGCC_QUANT_CODES_H

#define MEGCC_QUANT_SUMS 0    // y is i32: the sum
#define MEGCC_QUANT_REAL 1    // y is f32: act(sum * scale + offset)
#define MEGCC_QUANT_STORED 2  // y is 8 bits: round(sum * scale + offset) + y_zero, within low..high

#endif  // MEGCC_QUANT_CODES_H
