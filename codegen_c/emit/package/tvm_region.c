// A region of a Relax module as a function of TVM's FFI: MEGCC_REGION(inputs..., outputs...).
//
// TVM gives the memory: tensors with each call, and the arena from the workspaces that it keeps for
// each thread; and the threads. What is left, a model's handle and the state of a run, is kept per
// thread until the thread ends. The generated lines above say which model, and the region's name.
#include <pthread.h>
#include <stdlib.h>

#include "tvm_library.h"

// TVM's runtime for generated code (tvm/runtime/c_backend_api.h, which is C++).
typedef struct {
  void *sync_handle;
  int32_t num_task;
} parallel_env_t;
void *TVMBackendAllocWorkspace(int device_type, int device_id, uint64_t bytes, int code, int bits);
int TVMBackendFreeWorkspace(int device_type, int device_id, void *data);
int TVMBackendParallelLaunch(int (*task)(int, parallel_env_t *, void *), void *data, int count);

typedef struct {
  uint64_t model_memory[(MEGCC_MODEL_BYTES + 7) / 8];
  megcc_model_t *model;
  megcc_context_t *context;
  void *context_memory;
  uint32_t input_count;
  uint32_t output_count;
} state_t;

// ---- threads ---------------------------------------------------------------------------------

typedef struct {
  megcc_range_fn range;
  const void *task;
  int32_t work;
  int32_t parts;
} job_t;

// TVM starts as many workers as it has; each takes one part, and those left over take none.
static int run_part(int number, parallel_env_t *env, void *data) {
  const job_t *job = (const job_t *)data;
  const int64_t parts = env->num_task < job->parts ? env->num_task : job->parts;
  if (number < parts) {
    const int32_t begin = (int32_t)(job->work * (int64_t)number / parts);
    const int32_t end = (int32_t)(job->work * ((int64_t)number + 1) / parts);
    if (begin < end) job->range(job->task, (uint32_t)number, begin, end);
  }
  return 0;
}

static void launch(void *user, megcc_range_fn range, const void *task, int32_t work, int32_t grain,
                   uint32_t workers) {
  const int32_t most = work / (grain < 1 ? 1 : grain);
  job_t job = {range, task, work, most < (int64_t)workers ? most : (int32_t)workers};
  (void)user;
  if (job.parts < 2) {
    range(task, 0, 0, work);
  } else {
    (void)TVMBackendParallelLaunch(run_part, &job, 0);  // fails only when run_part does
  }
}

// ---- the state of a thread -------------------------------------------------------------------

static pthread_key_t states;
static pthread_once_t states_once = PTHREAD_ONCE_INIT;
static int states_error = 0;

static void state_free(void *self) {
  state_t *s = (state_t *)self;
#if MEGCC_REGION_HAS_SHAPES
  if (s->context != NULL) (void)megcc_release(s->context);
#endif
  free(s->context_memory);
  free(s);
}

static void make_key(void) { states_error = pthread_key_create(&states, state_free); }

static int state_open(state_t *s) {
  size_t bytes = 0;
  megcc_status_t status = megcc_model_open(&MEGCC_REGION_IMAGE, &MEGCC_REGION_KERNELS,
                                           s->model_memory, sizeof(s->model_memory), &s->model);
  if (status == MEGCC_OK) status = megcc_input_count(s->model, &s->input_count);
  if (status == MEGCC_OK) status = megcc_output_count(s->model, &s->output_count);
  if (status == MEGCC_OK) status = megcc_context_bytes(s->model, &bytes);
  if (status != MEGCC_OK) return raise_status(MEGCC_REGION_NAME " cannot be opened", status);
  s->context_memory = malloc(bytes + 1);
  if (s->context_memory == NULL) return raise_error("MemoryError", "no memory for a context");
  status = megcc_context_create(s->model, s->context_memory, bytes, &s->context);
  if (status == MEGCC_OK) status = megcc_set_parallel(s->context, launch, NULL);
#if MEGCC_REGION_HAS_SHAPES
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
  const int failed = state_open(s);
  if (failed == 0 && pthread_setspecific(states, s) == 0) return s;
  if (failed == 0) (void)raise_error("MemoryError", "no memory for a thread's state");
  state_free(s);
  return NULL;
}

// ---- one call --------------------------------------------------------------------------------

// The elements of an argument; null, with an error set, for one that does not fit.
static void *data_of(const TVMFFIAny *value, const megcc_tensor_info_t *info) {
  static uint64_t nothing[MEGCC_ALIGNMENT / 8];  // an empty tensor may have no memory
  const DLTensor *tensor = as_tensor(value);
  if (check_tensor(tensor, info) != 0) return NULL;
  if (!same_shape(tensor, info)) {
    (void)raise_shape(tensor, info);
    return NULL;
  }
  return tensor->data == NULL ? (void *)nothing : (char *)tensor->data + tensor->byte_offset;
}

#if MEGCC_REGION_HAS_SHAPES
static int set_shapes(state_t *s, const TVMFFIAny *args) {
  int32_t dims[kMaxRank];
  for (uint32_t i = 0; i < s->input_count; ++i) {
    const DLTensor *tensor = as_tensor(&args[i]);
    if (tensor == NULL || tensor->ndim > kMaxRank) {
      return raise_error("TypeError", MEGCC_REGION_NAME ": an argument is no tensor");
    }
    for (int32_t k = 0; k < tensor->ndim; ++k) {
      if (tensor->shape[k] > INT32_MAX) return raise_status(MEGCC_REGION_NAME, MEGCC_ERR_SHAPE);
      dims[k] = (int32_t)tensor->shape[k];
    }
    const megcc_status_t status = megcc_set_input_shape(s->context, i, tensor->ndim, dims);
    if (status != MEGCC_OK) return raise_problem(s->context, status);
  }
  return 0;
}
#endif

static int bind(state_t *s, const TVMFFIAny *args) {
  megcc_tensor_info_t info;
  for (uint32_t i = 0; i < s->input_count; ++i) {
    megcc_status_t status = megcc_input_info(s->context, i, &info);
    if (status != MEGCC_OK) return raise_problem(s->context, status);
    const void *data = data_of(&args[i], &info);
    if (data == NULL) return -1;
    status = megcc_bind_input(s->context, i, data, info.bytes);
    if (status != MEGCC_OK) return raise_status(info.name, status);
  }
  for (uint32_t i = 0; i < s->output_count; ++i) {
    megcc_status_t status = megcc_output_info(s->context, i, &info);
    if (status != MEGCC_OK) return raise_problem(s->context, status);
    void *data = data_of(&args[s->input_count + i], &info);
    if (data == NULL) return -1;
    status = megcc_bind_output(s->context, i, data, info.bytes);
    if (status != MEGCC_OK) return raise_status(info.name, status);
  }
  return 0;
}

#if MEGCC_REGION_DRAWS
// Begins the region's random numbers as the process says, where it has tvm_megcc; else the context
// of the thread counts on.
static int seed(state_t *s) {
  static const char kName[] = "tvm_megcc.seed_of_run";
  const TVMFFIByteArray name = {kName, sizeof(kName) - 1};
  TVMFFIObjectHandle function = NULL;
  TVMFFIAny result;
  if (TVMFFIFunctionGetGlobal(&name, &function) != 0) return -1;
  if (function == NULL) return 0;
  return_none(&result);
  const int failed = TVMFFIFunctionCall(function, NULL, 0, &result);
  (void)TVMFFIObjectDecRef(function);
  if (failed != 0) return -1;
  (void)megcc_set_seed(s->context, result.v_int64);
  return 0;
}
#endif

static int run(state_t *s) {
#if MEGCC_REGION_DRAWS
  if (seed(s) != 0) return -1;
#endif
  const megcc_status_t status = megcc_run(s->context);
  const char *node = NULL;
  if (status == MEGCC_OK) return 0;
#if MEGCC_REGION_CAN_FAIL
  uint32_t call = 0;
  (void)megcc_failed_call(s->context, &call, &node);
#endif
  return raise_status(node != NULL ? node : MEGCC_REGION_NAME, status);
}

TVM_FFI_DLL_EXPORT int MEGCC_REGION(void *self, const TVMFFIAny *args, int32_t count,
                                    TVMFFIAny *result);
TVM_FFI_DLL_EXPORT int MEGCC_REGION(void *self, const TVMFFIAny *args, int32_t count,
                                    TVMFFIAny *result) {
  size_t bytes = 0;
  (void)self;
  return_none(result);
  state_t *s = state_of_thread();
  if (s == NULL) return -1;
  if (count < 0 || (uint32_t)count != s->input_count + s->output_count) {
    return raise_error("TypeError", MEGCC_REGION_NAME " takes its inputs and its outputs");
  }
#if MEGCC_REGION_HAS_SHAPES
  if (set_shapes(s, args) != 0) return -1;
#endif
  if (bind(s, args) != 0) return -1;
  megcc_status_t status = megcc_arena_bytes(s->context, &bytes);
  if (status != MEGCC_OK) return raise_status(MEGCC_REGION_NAME, status);
  // TVM's allocator may align to less than we want.
  void *memory = TVMBackendAllocWorkspace(kDLCPU, 0, bytes + MEGCC_ALIGNMENT, kDLInt, 8);
  if (memory == NULL) {
    return raise_error("MemoryError", MEGCC_REGION_NAME ": no memory for the arena");
  }
  const uintptr_t mask = MEGCC_ALIGNMENT - 1;
  status = megcc_set_arena(s->context, (void *)(((uintptr_t)memory + mask) & ~mask), bytes);
  const int failed = status != MEGCC_OK ? raise_status(MEGCC_REGION_NAME, status) : run(s);
  (void)TVMBackendFreeWorkspace(kDLCPU, 0, memory);
  return failed;
}
