// The activations that a kernel can apply to what it stores; what each computes: megcc_act.h. Codes
// below 32, as those of op/unary.h go on from there.
#ifndef MEGCC_ACT_CODES_H
#define MEGCC_ACT_CODES_H

#define MEGCC_ACT_NONE 0
#define MEGCC_ACT_RELU 1
#define MEGCC_ACT_CLIP 2
#define MEGCC_ACT_SIGMOID 3
#define MEGCC_ACT_TANH 4
#define MEGCC_ACT_SILU 5
#define MEGCC_ACT_HARDSIGMOID 6
#define MEGCC_ACT_HARDSWISH 7
#define MEGCC_ACT_LEAKY_RELU 8
#define MEGCC_ACT_GELU 9
#define MEGCC_ACT_GELU_TANH 10
#define MEGCC_ACT_ELU 11

#endif  // MEGCC_ACT_CODES_H
