// A region of a Relax module as a function of TVM's FFI: MEGCC_REGION(inputs..., outputs...).
//
// TVM gives the memory: tensors with each call, the arena from the workspaces that it keeps for each
// thread, and the threads. What is left, a model's handle and the state of a run, is kept per
// thread until the thread ends. The generated lines above say MEGCC_REGION, MEGCC_MODEL_IMAGE,
// MEGCC_MODEL_KERNELS, MEGCC_MODEL_HAS_SHAPES and MEGCC_MODEL_CAN_FAIL.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tvm/ffi/c_api.h>

#include "megcc.h"

#ifdef __cplusplus
#error "compile this file as C"
#endif

enum { kMaxRank = 32, kMessageBytes = 512 };

// What TVM's runtime offers to generated code (tvm/runtime/c_backend_api.h, which is C++).
typedef struct {
  void *sync_handle;
  int32_t num_task;
} TVMParallelGroupEnv;
void *TVMBackendAllocWorkspace(int device_type, int device_id, uint64_t bytes, int code, int bits);
int TVMBackendFreeWorkspace(int device_type, int device_id, void *data);
int TVMBackendParallelLaunch(int (*task)(int, TVMParallelGroupEnv *, void *), void *data, int count);

typedef struct {
  uint64_t model_memory[(MEGCC_MODEL_BYTES + 7) / 8];
  megcc_model_t *model;
  megcc_context_t *context;
  void *context_memory;
} state_t;

static pthread_key_t states;
static pthread_once_t states_once = PTHREAD_ONCE_INIT;
static int states_error = 0;

// ---- errors ----------------------------------------------------------------------------------

static int raise_error(const char *kind, const char *message) {
  TVMFFIErrorSetRaisedFromCStr(kind, message);
  return -1;
}

static int raise_status(const char *what, megcc_status_t status) {
  char message[kMessageBytes];
  snprintf(message, sizeof(message), "%s: %s", what, megcc_status_string(status));
  return raise_error("RuntimeError", message);
}

// ---- threads ---------------------------------------------------------------------------------

typedef struct {
  megcc_range_fn range;
  const void *task;
  int32_t work, grain;
  uint32_t workers;
} job_t;

// One of TVM's workers: a part of the work in one piece, so that it depends on nobody's order.
static int run_part(int number, TVMParallelGroupEnv *env, void *data) {
  const job_t *job = (const job_t *)data;
  int64_t parts = env->num_task;
  if (parts > (int64_t)job->workers) parts = job->workers;
  if (parts > job->work / job->grain) parts = job->work / job->grain;
  if (parts < 1) parts = 1;
  if (number < parts) {
    const int32_t begin = (int32_t)(job->work * (int64_t)number / parts);
    const int32_t end = (int32_t)(job->work * ((int64_t)number + 1) / parts);
    if (begin < end) job->range(job->task, (uint32_t)number, begin, end);
  }
  return 0;
}

static void launch(void *user, megcc_range_fn range, const void *task, int32_t work, int32_t grain,
                   uint32_t workers) {
  job_t job = {range, task, work, grain < 1 ? 1 : grain, workers};
  (void)user;
  if (workers < 2 || work / job.grain < 2 || TVMBackendParallelLaunch(run_part, &job, 0) != 0) {
    range(task, 0, 0, work);
  }
}

// ---- the state of a thread -------------------------------------------------------------------

#if MEGCC_MODEL_HAS_SHAPES
static void *allocate(void *user, size_t bytes) {
  void *base = bytes < SIZE_MAX - 2 * MEGCC_ALIGNMENT ? malloc(bytes + 2 * MEGCC_ALIGNMENT) : NULL;
  (void)user;
  if (base == NULL) return NULL;
  // What malloc gave stands right before the memory.
  const uintptr_t mask = MEGCC_ALIGNMENT - 1;
  void *data = (void *)(((uintptr_t)base + sizeof(void *) + mask) & ~mask);
  ((void **)data)[-1] = base;
  return data;
}

static void release(void *user, void *data, size_t bytes) {
  (void)user;
  (void)bytes;
  free(((void **)data)[-1]);
}
#endif

static void state_free(void *self) {
  state_t *s = (state_t *)self;
#if MEGCC_MODEL_HAS_SHAPES
  if (s->context != NULL) (void)megcc_release(s->context);
#endif
  free(s->context_memory);
  free(s);
}

static void make_key(void) { states_error = pthread_key_create(&states, state_free); }

static int state_open(state_t *s) {
  size_t bytes = 0;
  megcc_status_t status = megcc_model_open(&MEGCC_MODEL_IMAGE, &MEGCC_MODEL_KERNELS,
                                           s->model_memory, sizeof(s->model_memory), &s->model);
  if (status == MEGCC_OK) status = megcc_context_bytes(s->model, &bytes);
  if (status != MEGCC_OK) return raise_status(MEGCC_REGION_NAME " cannot be opened", status);
  s->context_memory = malloc(bytes + 1);
  if (s->context_memory == NULL) return raise_error("MemoryError", "no memory for a context");
  status = megcc_context_create(s->model, s->context_memory, bytes, &s->context);
  if (status == MEGCC_OK) status = megcc_set_parallel(s->context, launch, NULL);
#if MEGCC_MODEL_HAS_SHAPES
  if (status == MEGCC_OK) status = megcc_set_allocator(s->context, allocate, release, NULL);
#endif
  return status == MEGCC_OK ? 0 : raise_status(MEGCC_REGION_NAME " cannot be opened", status);
}

// This thread's state, made by its first call; null: an error is set.
static state_t *state_of_thread(void) {
  pthread_once(&states_once, make_key);
  state_t *s = states_error == 0 ? (state_t *)pthread_getspecific(states) : NULL;
  if (s != NULL) return s;
  s = states_error == 0 ? (state_t *)calloc(1, sizeof(state_t)) : NULL;
  if (s == NULL) {
    (void)raise_error("MemoryError", "no memory for the state of " MEGCC_REGION_NAME);
    return NULL;
  }
  if (state_open(s) == 0 && pthread_setspecific(states, s) == 0) return s;
  state_free(s);
  return NULL;
}

// ---- tensors ---------------------------------------------------------------------------------

static const DLTensor *as_tensor(const TVMFFIAny *value) {
  if (value->type_index == kTVMFFIDLTensorPtr) return (const DLTensor *)value->v_ptr;
  if (value->type_index == kTVMFFITensor) {
    return (const DLTensor *)((const char *)value->v_ptr + sizeof(TVMFFIObject));
  }
  return NULL;
}

static int is_dense(const DLTensor *tensor) {
  int64_t step = 1;
  if (tensor->strides == NULL) return 1;
  for (int32_t i = tensor->ndim - 1; i >= 0; --i) {
    if (tensor->shape[i] != 1 && tensor->strides[i] != step) return 0;
    step *= tensor->shape[i];
  }
  return 1;
}

static int raise_tensor(const megcc_tensor_info_t *info, const char *what) {
  char message[kMessageBytes];
  snprintf(message, sizeof(message), MEGCC_REGION_NAME ": '%.200s' %s", info->name, what);
  return raise_error("ValueError", message);
}

// Where a tensor's elements are; null, with an error set, for one that is not of the port's shape.
static void *data_of(const TVMFFIAny *value, const megcc_tensor_info_t *info) {
  const DLTensor *tensor = as_tensor(value);
  if (tensor == NULL) {
    (void)raise_tensor(info, "is given no tensor");
    return NULL;
  }
  int fits = tensor->ndim == info->rank;
  for (int32_t i = 0; fits && i < info->rank; ++i) fits = tensor->shape[i] == info->dims[i];
  fits = fits && (size_t)tensor->dtype.bits * tensor->dtype.lanes == 8 * megcc_dtype_bytes(info->dtype);
  if (!fits || !is_dense(tensor)) {
    (void)raise_tensor(info, "is given a tensor of another shape or type");
    return NULL;
  }
  // An empty tensor may have no memory.
  static char nothing[MEGCC_ALIGNMENT];
  return tensor->data == NULL ? nothing : (char *)tensor->data + tensor->byte_offset;
}

#if MEGCC_MODEL_HAS_SHAPES
static int set_shape(state_t *s, uint32_t index, const TVMFFIAny *value) {
  const DLTensor *tensor = as_tensor(value);
  int32_t dims[kMaxRank];
  if (tensor == NULL || tensor->ndim > kMaxRank) {
    return raise_error("TypeError", MEGCC_REGION_NAME ": an argument is no tensor");
  }
  for (int32_t i = 0; i < tensor->ndim; ++i) {
    if (tensor->shape[i] > INT32_MAX) return raise_status(MEGCC_REGION_NAME, MEGCC_ERR_SHAPE);
    dims[i] = (int32_t)tensor->shape[i];
  }
  const megcc_status_t status = megcc_set_input_shape(s->context, index, tensor->ndim, dims);
  megcc_shape_problem_t problem;
  if (status == MEGCC_OK) return 0;
  if (megcc_shape_problem(s->context, &problem) != MEGCC_OK) {
    return raise_status(MEGCC_REGION_NAME, status);
  }
  return raise_status(megcc_shape_reason_string(problem.reason), status);
}
#endif

static int bind(state_t *s, const TVMFFIAny *args, uint32_t inputs, uint32_t outputs) {
  megcc_tensor_info_t info;
#if MEGCC_MODEL_HAS_SHAPES
  for (uint32_t i = 0; i < inputs; ++i) {
    if (set_shape(s, i, &args[i]) != 0) return -1;
  }
#endif
  for (uint32_t i = 0; i < inputs + outputs; ++i) {
    const uint32_t k = i < inputs ? i : i - inputs;
    megcc_status_t status = i < inputs ? megcc_input_info(s->context, k, &info)
                                       : megcc_output_info(s->context, k, &info);
    if (status != MEGCC_OK) return raise_status(MEGCC_REGION_NAME, status);
    void *data = data_of(&args[i], &info);
    if (data == NULL) return -1;
    status = i < inputs ? megcc_bind_input(s->context, k, data, info.bytes)
                        : megcc_bind_output(s->context, k, data, info.bytes);
    if (status != MEGCC_OK) return raise_status(info.name, status);
  }
  return 0;
}

// ---- the function ----------------------------------------------------------------------------

static int run(state_t *s) {
  const megcc_status_t status = megcc_run(s->context);
  const char *node = NULL;
  if (status == MEGCC_OK) return 0;
#if MEGCC_MODEL_CAN_FAIL
  uint32_t call = 0;
  (void)megcc_failed_call(s->context, &call, &node);
#endif
  return raise_status(node != NULL ? node : MEGCC_REGION_NAME, status);
}

TVM_FFI_DLL_EXPORT int MEGCC_REGION(void *self, const TVMFFIAny *args, int32_t count,
                                    TVMFFIAny *result) {
  uint32_t inputs = 0, outputs = 0;
  size_t bytes = 0;
  (void)self;
  result->type_index = kTVMFFINone;
  result->zero_padding = 0;
  result->v_int64 = 0;
  state_t *s = state_of_thread();
  if (s == NULL) return -1;
  (void)megcc_input_count(s->model, &inputs);
  (void)megcc_output_count(s->model, &outputs);
  if (count < 0 || (uint32_t)count != inputs + outputs) {
    return raise_error("TypeError", MEGCC_REGION_NAME " takes its inputs and its outputs");
  }
  if (bind(s, args, inputs, outputs) != 0) return -1;
  megcc_status_t status = megcc_arena_bytes(s->context, &bytes);
  if (status != MEGCC_OK) return raise_status(MEGCC_REGION_NAME, status);
  // TVM aligns a workspace to what its allocator aligns to, which may be less than ours.
  void *memory = TVMBackendAllocWorkspace(kDLCPU, 0, bytes + MEGCC_ALIGNMENT, kDLInt, 8);
  if (memory == NULL) return raise_error("MemoryError", MEGCC_REGION_NAME ": no memory for the arena");
  const uintptr_t mask = MEGCC_ALIGNMENT - 1;
  status = megcc_set_arena(s->context, (void *)(((uintptr_t)memory + mask) & ~mask), bytes);
  const int failed = status != MEGCC_OK ? raise_status(MEGCC_REGION_NAME, status) : run(s);
  (void)TVMBackendFreeWorkspace(kDLCPU, 0, memory);
  return failed;
}
