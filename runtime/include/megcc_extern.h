/// Functions that a model calls and that its package does not have: you define them, in C, and the
/// package's own header declares them:
///
///     void name(const megcc_extern_tensor_t *tensor, const int32_t *attr);
///
/// `tensor` has the call's inputs and behind them its outputs, `attr` the integers of the call. A
/// function writes every element of its outputs and nothing else, keeps no pointer, and cannot
/// fail. It is called in the thread of megcc_run, once per run and call of the model; contexts that
/// run at the same time call it at the same time. What it computes follows from its inputs and
/// attributes alone: a call whose outputs nothing reads may be left out, equal calls may be one.
#ifndef MEGCC_EXTERN_H
#define MEGCC_EXTERN_H

#include "megcc.h"

/// A dense, row-major tensor, aligned to its element at least.
typedef struct megcc_extern_tensor {
  void *data;  ///< of an input: not to be written
  megcc_dtype_t dtype;
  int32_t rank;         ///< 0 for a scalar
  const int32_t *dims;  ///< `rank` numbers, in this call
} megcc_extern_tensor_t;

#endif  // MEGCC_EXTERN_H
