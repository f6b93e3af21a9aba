// megcc_gemm.h for a kernel that makes its results of several products: what follows the operator
// comes after the last of them.
//
// The products are stored without activation and residual, and begin with a bias where
// MEGCC_PLAIN_BIAS is 1. From here on ACT, RESIDUAL and BIAS are the kernel's own again.
#ifndef MEGCC_GEMM_PLAIN_H
#define MEGCC_GEMM_PLAIN_H

#include "megcc_act_codes.h"

#ifndef ACT
#define ACT MEGCC_ACT_NONE
#endif
#ifndef RESIDUAL
#define RESIDUAL 0
#endif
#ifndef BIAS
#define BIAS 1
#endif
enum { MEGCC_PLAIN_ACT = ACT, MEGCC_PLAIN_RESIDUAL = RESIDUAL, MEGCC_PLAIN_KEPT_BIAS = BIAS };
#undef ACT
#undef RESIDUAL
#undef BIAS
#define BIAS MEGCC_PLAIN_BIAS
#include "gemm/megcc_gemm.h"
#undef ACT
#undef RESIDUAL
#undef BIAS
#define ACT MEGCC_PLAIN_ACT
#define RESIDUAL MEGCC_PLAIN_RESIDUAL
#define BIAS MEGCC_PLAIN_KEPT_BIAS

#endif  // MEGCC_GEMM_PLAIN_H
