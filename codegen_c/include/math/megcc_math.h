// Elementary functions without a C library, for float (`megcc_expf`) and double (`megcc_exp`).
//
// All are static, inline and, except where a comment says so, free of branches and tables, so that
// a compiler vectorises a loop around them. They are derived here from the mathematics: Cody and
// Waite's argument reduction, and polynomials fitted by Remez exchange (relative or absolute error
// as the use demands). Each states its largest error in units in the last place (ULP), over the
// whole range, subnormals included, with round-to-nearest and with or without contraction to fused
// multiply-adds; tests/codegen_c/test_math*.py measure them. NaN gives NaN, limits and signed zeros
// are those of C99 Annex F; there is no errno and no floating-point exception to rely on.
//
// Reductions round by adding 1.5 * 2^23 (2^52) and subtracting it again: do not compile with
// -ffast-math.
#ifndef MEGCC_MATH_H
#define MEGCC_MATH_H

#include "math/megcc_int.h"
#include "math/megcc_mathf.h"
#include "math/megcc_mathd.h"
#include "math/megcc_trig.h"

#endif  // MEGCC_MATH_H
