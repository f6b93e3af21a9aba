// The end of an operator's kernel: adds the residual, before or after the activation. (The bias is
// where an accumulator starts.)
//
// A kernel instance defines ACT (MEGCC_ACT_*) and RESIDUAL (0 none, 1 added before the activation,
// 2 after it) before it includes this header. `residual` is an expression that is evaluated only
// where there is one: a load.
#ifndef MEGCC_EPILOGUE_H
#define MEGCC_EPILOGUE_H

#include "megcc_act.h"
#include "megcc_elem.h"

#ifndef RESIDUAL
#define RESIDUAL 0
#endif

// The operand behind the first `n`, if it is a residual, and the output behind that.
#define MEGCC_RESIDUAL(ptr, n) (RESIDUAL ? (const megcc_elem_t *)(ptr)[n] : NULL)
#define MEGCC_OUTPUT(ptr, n) ((megcc_elem_t *)(ptr)[RESIDUAL ? (n) + 1 : (n)])

// Turns the sum `y` into the value to store; a and b are the parameters of the activation.
#define MEGCC_EPILOGUE_VF(y, residual, a, b)            \
  do {                                                  \
    if (RESIDUAL == 1) (y) = megcc_vf_add(y, residual); \
    (y) = megcc_act_vf(y, a, b);                        \
    if (RESIDUAL == 2) (y) = megcc_vf_add(y, residual); \
  } while (0)
#define MEGCC_EPILOGUE_F32(y, residual, a, b) \
  do {                                        \
    if (RESIDUAL == 1) (y) += (residual);     \
    (y) = megcc_act_f32(y, a, b);             \
    if (RESIDUAL == 2) (y) += (residual);     \
  } while (0)

#endif  // MEGCC_EPILOGUE_H
