// Declarations that the files of a TVM library share; tvm_library.c has the model's methods.
#ifndef MEGCC_TVM_LIBRARY_H
#define MEGCC_TVM_LIBRARY_H

#include <tvm/ffi/c_api.h>

#include "megcc.h"
#include "tvm_model.h"

enum { kMaxRank = 32, kMessageBytes = 512 };

// ---- tvm_values.c ----------------------------------------------------------------------------

// These set TVM's error, and return -1.
int raise_error(const char *kind, const char *message);
int raise_status(const char *what, megcc_status_t status);

// These return 0; return_string sets TVM's error where there is no memory, and returns -1.
void return_none(TVMFFIAny *result);
int return_int(TVMFFIAny *result, int64_t value);
int return_object(TVMFFIAny *result, int32_t type_index, TVMFFIObjectHandle object);
int return_string(TVMFFIAny *result, const char *text);

// The characters of a string argument, not terminated by a zero; 0 when it is no string.
int as_string(const TVMFFIAny *value, TVMFFIByteArray *text);

// Null when it is no tensor.
const DLTensor *as_tensor(const TVMFFIAny *value);

int equals(const TVMFFIByteArray *text, const char *word);

// ---- tvm_shapes.c ----------------------------------------------------------------------------

#if MEGCC_MODEL_HAS_SHAPES
// The allocator for values whose size depends on data.
void *allocate(void *user, size_t bytes);
void release(void *user, void *data, size_t bytes);
#endif

// Sets TVM's error to a sentence about the shapes, and returns -1.
int raise_problem(const megcc_context_t *context, megcc_status_t status);

// Whether the latest refused shape has a size out of the bounds, or no multiple, of a dynamic dim.
int is_about_a_size(const megcc_context_t *context);

// ---- tvm_execution.c -------------------------------------------------------------------------
// A result that is not 0 says that TVM's error is set.

typedef struct {
  void *base;  // what malloc gave
  void *data;  // the same, aligned
  size_t bytes;
} buffer_t;

typedef struct {
  uint64_t model_memory[(MEGCC_MODEL_BYTES + 7) / 8];
  megcc_model_t *model;
  megcc_context_t *context;
  void *context_memory;
  buffer_t *pools;
  buffer_t *inputs;
  buffer_t *outputs;
  uint32_t pool_count;
  uint32_t input_count;
  uint32_t output_count;
  TVMFFIObjectHandle profile;  // TVM's function that hears of every kernel call, or null
  int profile_failed;          // whether it has raised an error in the present run
  int provided;                // whether the context has its memory for the present shapes
} execution_t;

int buffer_grow(buffer_t *buffer, size_t bytes);

int execution_open(execution_t *e);
void execution_free(void *self);

// Gives the context all the memory that the present shapes need.
int execution_provide(execution_t *e);

// ---- tvm_times.c -----------------------------------------------------------------------------

typedef int (*run_fn)(execution_t *e);

// Returns lines "-1 nanoseconds" of whole runs, then lines "call nanoseconds" of each of their
// calls. The context's profile hook has to be set again afterwards.
int execution_times(execution_t *e, const TVMFFIAny *count, run_fn run, TVMFFIAny *result);

// ---- tvm_tensors.c ---------------------------------------------------------------------------

// Bytes of the model's port.
size_t bytes_of(const megcc_tensor_info_t *info);

// A scalar may come as a tensor of one element.
int same_shape(const DLTensor *tensor, const megcc_tensor_info_t *info);
int raise_shape(const DLTensor *tensor, const megcc_tensor_info_t *info);

// Checks everything but the shape of a caller's tensor.
int check_tensor(const DLTensor *tensor, const megcc_tensor_info_t *info);

// Copy the value of TVM's tensor to a port, and the other way.
void copy_in(const megcc_tensor_info_t *info, void *port, const void *value);
void copy_out(const megcc_tensor_info_t *info, void *value, const void *port);

// A new tensor of TVM's with the port's value.
int return_tensor(TVMFFIAny *result, const megcc_tensor_info_t *info, const void *data);

#endif  // MEGCC_TVM_LIBRARY_H
