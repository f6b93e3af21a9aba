// The model as a TVM library: `load_module("model.so")["default"](device)` makes one execution.
//
// That execution is a TVM FFI function of (method, arguments...):
//   "get_num_inputs", "get_num_outputs"             -> int
//   "get_input_name" i, "get_output_name" i         -> str
//   "get_input_index" name                          -> int, -1 when there is none
//   "get_input_shape" i|name                        -> str, "2,3"; "?" for a size not yet set
//   "set_input" i|name, tensor                      copies the tensor's elements
//   "get_input" i|name                              -> tensor, a copy
//   "run"
//   "get_output" i|name [, tensor]                  -> tensor, a copy (or into the tensor given)
//
// An input whose shape is open takes that of the tensor it is set to; shapes of several inputs are
// looked at together, by the next "run".
//
// This file is the only one of the library that knows TVM, and the only one that allocates. It
// wants MEGCC_MODEL_IMAGE, MEGCC_MODEL_KERNELS, MEGCC_MODEL_HAS_SHAPES and MEGCC_MODEL_CAN_FAIL,
// which the generated lines above it define.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tvm/ffi/c_api.h>

#include "megcc.h"

enum { kMaxRank = 32, kMessageBytes = 512 };

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
  int provided;  // whether the context has its memory for the present shapes
} execution_t;

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

static void print_shape(char *text, size_t size, int32_t rank, const int64_t *dims) {
  size_t used = 0;
  for (int32_t i = 0; i < rank && used < size; ++i) {
    used += (size_t)snprintf(text + used, size - used, "%s%lld", i == 0 ? "" : ", ",
                             (long long)dims[i]);
  }
  if (rank == 0) text[0] = '\0';
}

// ---- memory ----------------------------------------------------------------------------------

static int buffer_grow(buffer_t *buffer, size_t bytes) {
  if (buffer->base != NULL && buffer->bytes >= bytes) return 0;
  free(buffer->base);
  buffer->bytes = 0;
  buffer->base = bytes < SIZE_MAX - MEGCC_ALIGNMENT ? malloc(bytes + MEGCC_ALIGNMENT) : NULL;
  if (buffer->base == NULL) return raise_error("MemoryError", "no memory for the model's tensors");
  const uintptr_t mask = MEGCC_ALIGNMENT - 1;
  buffer->data = (void *)(((uintptr_t)buffer->base + mask) & ~mask);
  buffer->bytes = bytes;
  memset(buffer->data, 0, bytes);
  return 0;
}

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

// Says in words why the shapes were not accepted.
static int raise_problem(execution_t *e, megcc_status_t status) {
  char message[kMessageBytes], numbers[64];
  megcc_shape_problem_t p;
  if ((status != MEGCC_ERR_SHAPE && status != MEGCC_ERR_NO_SHAPE) ||
      megcc_shape_problem(e->context, &p) != MEGCC_OK) {
    return raise_status("the model's shapes", status);
  }
  if (p.reason == MEGCC_SHAPE_BOUNDS) {
    snprintf(numbers, sizeof(numbers), " (%d; it takes %d to %d)", p.value, p.low, p.high);
  } else {
    snprintf(numbers, sizeof(numbers), " (%d and %d)", p.value, p.low);
  }
  if (p.reason == MEGCC_SHAPE_REQUIRED && p.name != NULL) {
    snprintf(message, sizeof(message), "'%.200s': %s%s", p.name,
             megcc_shape_reason_string(p.reason), numbers);
    return raise_error("ValueError", message);
  }
  snprintf(message, sizeof(message), "'%.200s', dim %d%s%.100s: %s%s",
           p.name != NULL ? p.name : "the inputs together", (int)p.axis,
           p.symbol != NULL ? ", " : "", p.symbol != NULL ? p.symbol : "",
           megcc_shape_reason_string(p.reason), p.reason == MEGCC_SHAPE_FINE ? "" : numbers);
  return raise_error("ValueError", message);
}
#else
static int raise_problem(execution_t *e, megcc_status_t status) {
  (void)e;
  return raise_status("the model's shapes", status);
}
#endif

static void execution_free(void *self) {
  execution_t *e = (execution_t *)self;
#if MEGCC_MODEL_HAS_SHAPES
  if (e->context != NULL) (void)megcc_release(e->context);
#endif
  for (uint32_t i = 0; e->inputs != NULL && i < e->input_count; ++i) free(e->inputs[i].base);
  for (uint32_t i = 0; e->outputs != NULL && i < e->output_count; ++i) free(e->outputs[i].base);
  for (uint32_t i = 0; e->pools != NULL && i < e->pool_count; ++i) free(e->pools[i].base);
  free(e->pools);
  free(e->inputs);
  free(e->outputs);
  free(e->context_memory);
  free(e);
}

// Gives the context all the memory that the present shapes need.
static int execution_provide(execution_t *e) {
  megcc_tensor_info_t info;
  const char *name = NULL;
  size_t bytes = 0;
  megcc_status_t status;
  for (uint32_t i = 0; i < e->pool_count; ++i) {
    status = megcc_pool_info(e->context, i, &name, &bytes);
    if (status != MEGCC_OK) return raise_problem(e, status);
    if (buffer_grow(&e->pools[i], bytes) != 0) return -1;
    status = megcc_set_pool(e->context, i, e->pools[i].data, e->pools[i].bytes);
    if (status != MEGCC_OK) return raise_status("the model's memory", status);
  }
  for (uint32_t i = 0; i < e->input_count; ++i) {
    status = megcc_input_info(e->context, i, &info);
    if (status != MEGCC_OK) return raise_status("an input", status);
    if (buffer_grow(&e->inputs[i], info.bytes) != 0) return -1;
    status = megcc_bind_input(e->context, i, e->inputs[i].data, info.bytes);
    if (status != MEGCC_OK) return raise_status(info.name, status);
  }
  for (uint32_t i = 0; i < e->output_count; ++i) {
    status = megcc_output_info(e->context, i, &info);
    if (status != MEGCC_OK) return raise_status("an output", status);
    if (buffer_grow(&e->outputs[i], info.bytes) != 0) return -1;
    status = megcc_bind_output(e->context, i, e->outputs[i].data, info.bytes);
    // One whose size depends on data is where the model puts it.
    if (status != MEGCC_OK && status != MEGCC_ERR_DATA) return raise_status(info.name, status);
  }
  e->provided = 1;
  return 0;
}

static int execution_open(execution_t *e) {
  megcc_status_t status = megcc_model_open(&MEGCC_MODEL_IMAGE, &MEGCC_MODEL_KERNELS,
                                           e->model_memory, sizeof(e->model_memory), &e->model);
  size_t bytes = 0;
  if (status == MEGCC_OK) status = megcc_input_count(e->model, &e->input_count);
  if (status == MEGCC_OK) status = megcc_output_count(e->model, &e->output_count);
  if (status == MEGCC_OK) status = megcc_pool_count(e->model, &e->pool_count);
  if (status == MEGCC_OK) status = megcc_context_bytes(e->model, &bytes);
  if (status != MEGCC_OK) return raise_status("the model cannot be opened", status);
  // One more than needed: calloc(0) may answer with null.
  e->inputs = (buffer_t *)calloc((size_t)e->input_count + 1, sizeof(buffer_t));
  e->outputs = (buffer_t *)calloc((size_t)e->output_count + 1, sizeof(buffer_t));
  e->pools = (buffer_t *)calloc((size_t)e->pool_count + 1, sizeof(buffer_t));
  e->context_memory = malloc(bytes + 1);
  if (e->inputs == NULL || e->outputs == NULL || e->pools == NULL || e->context_memory == NULL) {
    return raise_error("MemoryError", "no memory for the model's context");
  }
  status = megcc_context_create(e->model, e->context_memory, bytes, &e->context);
  if (status != MEGCC_OK) return raise_status("the model cannot be opened", status);
#if MEGCC_MODEL_HAS_SHAPES
  status = megcc_set_allocator(e->context, allocate, release, NULL);
  return status == MEGCC_OK ? 0 : raise_status("the model cannot be opened", status);
#else
  return execution_provide(e);
#endif
}

// ---- values of the FFI -----------------------------------------------------------------------

static void return_none(TVMFFIAny *result) {
  result->type_index = kTVMFFINone;
  result->zero_padding = 0;
  result->v_int64 = 0;
}

static void return_int(TVMFFIAny *result, int64_t value) {
  result->type_index = kTVMFFIInt;
  result->zero_padding = 0;
  result->v_int64 = value;
}

static void return_object(TVMFFIAny *result, int32_t type_index, TVMFFIObjectHandle object) {
  result->type_index = type_index;
  result->zero_padding = 0;
  result->v_ptr = object;
}

static int return_string(TVMFFIAny *result, const char *text) {
  TVMFFIByteArray bytes;
  bytes.data = text;
  bytes.size = strlen(text);
  return TVMFFIStringFromByteArray(&bytes, result);
}

// The characters of a string argument, not terminated by a zero; 0 when it is no string.
static int as_string(const TVMFFIAny *value, TVMFFIByteArray *text) {
  if (value->type_index == kTVMFFIRawStr) {
    text->data = value->v_c_str;
    text->size = strlen(value->v_c_str);
    return 1;
  }
  if (value->type_index == kTVMFFISmallStr) {
    text->data = value->v_bytes;
    text->size = value->small_str_len;
    return 1;
  }
  if (value->type_index == kTVMFFIStr) {
    *text = *(const TVMFFIByteArray *)((const char *)value->v_ptr + sizeof(TVMFFIObject));
    return 1;
  }
  return 0;
}

static const DLTensor *as_tensor(const TVMFFIAny *value) {
  if (value->type_index == kTVMFFIDLTensorPtr) return (const DLTensor *)value->v_ptr;
  if (value->type_index == kTVMFFITensor) {
    return (const DLTensor *)((const char *)value->v_ptr + sizeof(TVMFFIObject));
  }
  return NULL;
}

static int equals(const TVMFFIByteArray *text, const char *word) {
  return text->size == strlen(word) && memcmp(text->data, word, text->size) == 0;
}

static size_t elements_per_byte(megcc_dtype_t dtype) {
  return dtype >= MEGCC_I2 ? 4 : dtype >= MEGCC_F4E2M1 ? 2 : 1;
}

// TVM's own functions do not agree on where in a byte the first of several elements is, so TVM's
// tensors have a byte for each element of a packed type: an int8, or a uint8.
static DLDataType dl_dtype(megcc_dtype_t dtype) {
  const char *name = megcc_dtype_name(dtype);
  DLDataType type;
  type.code = name[0] == 'i'   ? kDLInt
              : name[0] == 'u' ? kDLUInt
              : name[0] == 'f' ? kDLFloat
              : name[1] == 'f' ? kDLBfloat
                               : kDLBool;
  type.bits = (uint8_t)(8 * megcc_dtype_bytes(dtype));
  type.lanes = 1;
  // DLPack has a code for each of the 8-bit floats.
  switch ((int)dtype) {
    case MEGCC_F8E4M3FN: type.code = kDLFloat8_e4m3fn; break;
    case MEGCC_F8E4M3FNUZ: type.code = kDLFloat8_e4m3fnuz; break;
    case MEGCC_F8E5M2: type.code = kDLFloat8_e5m2; break;
    case MEGCC_F8E5M2FNUZ: type.code = kDLFloat8_e5m2fnuz; break;
    case MEGCC_F8E8M0: type.code = kDLFloat8_e8m0fnu; break;
    case MEGCC_F4E2M1: type.code = kDLUInt; break;
  }
  return type;
}

// ---- tensors ---------------------------------------------------------------------------------

typedef megcc_status_t (*info_fn)(const megcc_context_t *, uint32_t, megcc_tensor_info_t *);

static int32_t find_port(execution_t *e, int output, const TVMFFIByteArray *name) {
  const uint32_t count = output ? e->output_count : e->input_count;
  const info_fn get_info = output ? megcc_output_info : megcc_input_info;
  for (uint32_t i = 0; i < count; ++i) {
    megcc_tensor_info_t info;
    if (get_info(e->context, i, &info) == MEGCC_OK && equals(name, info.name)) return (int32_t)i;
  }
  return -1;
}

// Reads "i|name" and describes the port it means.
static int get_port(execution_t *e, int output, const TVMFFIAny *key, uint32_t *index,
                    megcc_tensor_info_t *info) {
  const char *kind = output ? "output" : "input";
  const uint32_t count = output ? e->output_count : e->input_count;
  char message[kMessageBytes];
  TVMFFIByteArray name;
  if (as_string(key, &name)) {
    const int32_t found = find_port(e, output, &name);
    if (found < 0) {
      snprintf(message, sizeof(message), "the model has no %s called '%.*s'", kind,
               (int)(name.size < 200 ? name.size : 200), name.data);
      return raise_error("ValueError", message);
    }
    *index = (uint32_t)found;
  } else if (key->type_index != kTVMFFIInt) {
    snprintf(message, sizeof(message), "an %s is named by its number or its name", kind);
    return raise_error("TypeError", message);
  } else if (key->v_int64 < 0 || key->v_int64 >= (int64_t)count) {
    snprintf(message, sizeof(message), "the model has no %s %lld; it has %u", kind,
             (long long)key->v_int64, (unsigned)count);
    return raise_error("IndexError", message);
  } else {
    *index = (uint32_t)key->v_int64;
  }
  const megcc_status_t status = output ? megcc_output_info(e->context, *index, info)
                                       : megcc_input_info(e->context, *index, info);
  return status == MEGCC_OK ? 0 : raise_status(kind, status);
}

// A scalar may come as a tensor of one element.
static int same_shape(const DLTensor *tensor, const megcc_tensor_info_t *info) {
  if (tensor->ndim != info->rank && info->rank != 0) return 0;
  for (int32_t i = 0; i < tensor->ndim; ++i) {
    if (tensor->shape[i] != (info->rank == 0 ? 1 : info->dims[i])) return 0;
  }
  return 1;
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

// Checks everything but the shape of a caller's tensor.
static int check_tensor(const DLTensor *tensor, const megcc_tensor_info_t *info) {
  char message[kMessageBytes];
  if (tensor == NULL) {
    snprintf(message, sizeof(message), "'%.200s': the value is not a tensor", info->name);
    return raise_error("TypeError", message);
  }
  const DLDataType want = dl_dtype(info->dtype);
  // Frontends differ in whether a bool is a bool or an 8-bit (1-bit) unsigned.
  const int is_bool = info->dtype == MEGCC_BOOL && tensor->dtype.code == kDLUInt &&
                      (tensor->dtype.bits == 1 || tensor->dtype.bits == 8);
  if (!is_bool && (tensor->dtype.code != want.code || tensor->dtype.bits != want.bits ||
                   tensor->dtype.lanes != 1)) {
    snprintf(message, sizeof(message), "'%.200s': the element type is not %s, as the model has it",
             info->name, megcc_dtype_name(info->dtype));
    return raise_error("TypeError", message);
  }
  if (tensor->device.device_type != kDLCPU || !is_dense(tensor)) {
    snprintf(message, sizeof(message), "'%.200s': the tensor is not dense in the CPU's memory",
             info->name);
    return raise_error("ValueError", message);
  }
  return 0;
}

static int raise_shape(const DLTensor *tensor, const megcc_tensor_info_t *info) {
  char message[kMessageBytes], got[128], want[128];
  int64_t dims[kMaxRank];
  const int32_t rank = info->rank < kMaxRank ? info->rank : kMaxRank;
  for (int32_t i = 0; i < rank; ++i) dims[i] = info->dims[i];
  print_shape(want, sizeof(want), rank, dims);
  print_shape(got, sizeof(got), tensor->ndim, tensor->shape);
  snprintf(message, sizeof(message), "'%.200s': shape [%s] does not fit the model's [%s]",
           info->name, got, want);
  return raise_error("ValueError", message);
}

// Bytes of a tensor of TVM's.
static size_t outside_bytes(const megcc_tensor_info_t *info) {
  size_t bytes = megcc_dtype_bytes(info->dtype);
  for (int32_t i = 0; i < info->rank; ++i) {
    const size_t dim = info->dims[i] < 0 ? 0 : (size_t)info->dims[i];
    if (dim != 0 && bytes > SIZE_MAX / dim) return SIZE_MAX;  // which no buffer has
    bytes *= dim;
  }
  return bytes;
}

// Bytes of the model's port.
static size_t bytes_of(const megcc_tensor_info_t *info) {
  const size_t each = elements_per_byte(info->dtype), n = outside_bytes(info);
  return n / each + (n % each != 0);
}

// Copies the value of TVM's tensor to a port.
static void copy_in(const megcc_tensor_info_t *info, void *port, const void *value) {
  const size_t each = elements_per_byte(info->dtype), n = outside_bytes(info);
  const unsigned bits = (unsigned)(8 / each), mask = (1u << bits) - 1;
  uint8_t *to = (uint8_t *)port;
  const uint8_t *from = (const uint8_t *)value;
  if (each == 1) {
    memcpy(port, value, n);
    return;
  }
  memset(to, 0, bytes_of(info));
  for (size_t i = 0; i < n; ++i) {
    to[i / each] |= (uint8_t)((from[i] & mask) << (i % each * bits));
  }
}

// Copies the value of a port to TVM's tensor.
static void copy_out(const megcc_tensor_info_t *info, void *value, const void *port) {
  const size_t each = elements_per_byte(info->dtype), n = outside_bytes(info);
  const unsigned bits = (unsigned)(8 / each), mask = (1u << bits) - 1;
  const int is_signed = info->dtype == MEGCC_I4 || info->dtype == MEGCC_I2;
  uint8_t *to = (uint8_t *)value;
  const uint8_t *from = (const uint8_t *)port;
  if (each == 1) {
    memcpy(value, port, n);
    return;
  }
  for (size_t i = 0; i < n; ++i) {
    const unsigned code = from[i / each] >> (i % each * bits) & mask;
    const unsigned sign = is_signed ? code & (1u << (bits - 1)) : 0;
    to[i] = (uint8_t)(code - 2 * sign);
  }
}

// Gives an input the shape of a tensor; what it means for the rest is found out by "run".
static int set_shape(execution_t *e, uint32_t index, const DLTensor *tensor,
                     megcc_tensor_info_t *info) {
  int32_t dims[kMaxRank];
  if (same_shape(tensor, info)) return 0;
  if (tensor->ndim > kMaxRank) return raise_shape(tensor, info);
  for (int32_t i = 0; i < tensor->ndim; ++i) {
    if (tensor->shape[i] < 0 || tensor->shape[i] > INT32_MAX) return raise_shape(tensor, info);
    dims[i] = (int32_t)tensor->shape[i];
  }
  if (megcc_set_input_shape(e->context, index, tensor->ndim, dims) != MEGCC_OK) {
    return raise_shape(tensor, info);
  }
  e->provided = 0;
  const megcc_status_t status = megcc_input_info(e->context, index, info);
  return status == MEGCC_OK ? 0 : raise_status("input", status);
}

typedef struct {
  DLManagedTensor managed;
  int64_t shape[kMaxRank];
  buffer_t buffer;
} owned_tensor_t;

static void owned_tensor_free(DLManagedTensor *self) {
  owned_tensor_t *owned = (owned_tensor_t *)self->manager_ctx;
  free(owned->buffer.base);
  free(owned);
}

static int return_tensor(TVMFFIAny *result, const megcc_tensor_info_t *info, const void *data) {
  TVMFFIObjectHandle object = NULL;
  owned_tensor_t *owned = (owned_tensor_t *)calloc(1, sizeof(owned_tensor_t));
  if (owned == NULL || info->rank > kMaxRank ||
      buffer_grow(&owned->buffer, outside_bytes(info)) != 0) {
    free(owned);
    return raise_error("MemoryError", "no memory for a copy of the tensor");
  }
  copy_out(info, owned->buffer.data, data);
  for (int32_t i = 0; i < info->rank; ++i) owned->shape[i] = info->dims[i] < 0 ? 0 : info->dims[i];
  owned->managed.manager_ctx = owned;
  owned->managed.deleter = owned_tensor_free;
  owned->managed.dl_tensor.data = owned->buffer.data;
  owned->managed.dl_tensor.device.device_type = kDLCPU;
  owned->managed.dl_tensor.ndim = info->rank;
  owned->managed.dl_tensor.dtype = dl_dtype(info->dtype);
  owned->managed.dl_tensor.shape = owned->shape;
  if (TVMFFITensorFromDLPack(&owned->managed, 0, 1, &object) != 0) {
    owned_tensor_free(&owned->managed);
    return -1;
  }
  return_object(result, kTVMFFITensor, object);
  return 0;
}

// ---- methods ---------------------------------------------------------------------------------

static int set_input(execution_t *e, const TVMFFIAny *args) {
  uint32_t index = 0;
  megcc_tensor_info_t info;
  const DLTensor *tensor = as_tensor(&args[1]);
  if (get_port(e, 0, &args[0], &index, &info) != 0 || check_tensor(tensor, &info) != 0 ||
      set_shape(e, index, tensor, &info) != 0) {
    return -1;
  }
  if (buffer_grow(&e->inputs[index], bytes_of(&info)) != 0) return -1;
  copy_in(&info, e->inputs[index].data, (const char *)tensor->data + tensor->byte_offset);
  return 0;
}

static int get_input(execution_t *e, const TVMFFIAny *args, TVMFFIAny *result) {
  uint32_t index = 0;
  megcc_tensor_info_t info;
  if (get_port(e, 0, &args[0], &index, &info) != 0) return -1;
  if (buffer_grow(&e->inputs[index], bytes_of(&info)) != 0) return -1;
  return return_tensor(result, &info, e->inputs[index].data);
}

static int get_input_shape(execution_t *e, const TVMFFIAny *args, TVMFFIAny *result) {
  char text[kMessageBytes] = "";
  uint32_t index = 0;
  megcc_tensor_info_t info;
  size_t used = 0;
  if (get_port(e, 0, &args[0], &index, &info) != 0) return -1;
  for (int32_t i = 0; i < info.rank && used < sizeof(text); ++i) {
    const char *comma = i == 0 ? "" : ",";
    used += (size_t)(info.dims[i] < 0
                         ? snprintf(text + used, sizeof(text) - used, "%s?", comma)
                         : snprintf(text + used, sizeof(text) - used, "%s%d", comma, info.dims[i]));
  }
  return return_string(result, text);
}

static int run(execution_t *e) {
  if (!e->provided && execution_provide(e) != 0) return -1;
  const megcc_status_t status = megcc_run(e->context);
  const char *node = NULL;
  if (status == MEGCC_OK) return 0;
#if MEGCC_MODEL_CAN_FAIL
  uint32_t call = 0;
  (void)megcc_failed_call(e->context, &call, &node);
#endif
  return raise_status(node != NULL ? node : "the model did not run", status);
}

static int get_output(execution_t *e, const TVMFFIAny *args, int32_t count, TVMFFIAny *result) {
  uint32_t index = 0;
  megcc_tensor_info_t info;
  const void *data = NULL;
  if (get_port(e, 1, &args[0], &index, &info) != 0) return -1;
  const megcc_status_t status = megcc_output_data(e->context, index, &data);
  if (status != MEGCC_OK) return raise_status(info.name, status);
  if (count == 1) return return_tensor(result, &info, data);
  const DLTensor *tensor = as_tensor(&args[1]);
  if (check_tensor(tensor, &info) != 0) return -1;
  if (!same_shape(tensor, &info)) return raise_shape(tensor, &info);
  copy_out(&info, (char *)tensor->data + tensor->byte_offset, data);
  return 0;
}

static int get_name(execution_t *e, int output, const TVMFFIAny *args, TVMFFIAny *result) {
  uint32_t index = 0;
  megcc_tensor_info_t info;
  if (get_port(e, output, &args[0], &index, &info) != 0) return -1;
  return return_string(result, info.name);
}

static int get_input_index(execution_t *e, const TVMFFIAny *args, TVMFFIAny *result) {
  TVMFFIByteArray name;
  if (!as_string(&args[0], &name)) return raise_error("TypeError", "an input's name is a string");
  return_int(result, find_port(e, 0, &name));
  return 0;
}

static int execution_call(void *self, const TVMFFIAny *args, int32_t count, TVMFFIAny *result) {
  execution_t *e = (execution_t *)self;
  TVMFFIByteArray method;
  return_none(result);
  if (count < 1 || !as_string(&args[0], &method)) {
    return raise_error("TypeError", "the first argument is the name of a method");
  }
  const TVMFFIAny *rest = args + 1;
  --count;
  if (equals(&method, "run") && count == 0) return run(e);
  if (equals(&method, "get_num_inputs") && count == 0) {
    return_int(result, e->input_count);
    return 0;
  }
  if (equals(&method, "get_num_outputs") && count == 0) {
    return_int(result, e->output_count);
    return 0;
  }
  if (equals(&method, "set_input") && count == 2) return set_input(e, rest);
  if (equals(&method, "get_input") && count == 1) return get_input(e, rest, result);
  if (equals(&method, "get_output") && (count == 1 || count == 2)) {
    return get_output(e, rest, count, result);
  }
  if (equals(&method, "get_input_name") && count == 1) return get_name(e, 0, rest, result);
  if (equals(&method, "get_output_name") && count == 1) return get_name(e, 1, rest, result);
  if (equals(&method, "get_input_shape") && count == 1) return get_input_shape(e, rest, result);
  if (equals(&method, "get_input_index") && count == 1) return get_input_index(e, rest, result);
  char message[kMessageBytes];
  snprintf(message, sizeof(message), "there is no method '%.*s' of %d arguments",
           (int)(method.size < 100 ? method.size : 100), method.data, (int)count);
  return raise_error("AttributeError", message);
}

/// ``default(device)``: a new execution of the model; any number of them may exist.
TVM_FFI_DLL_EXPORT int __tvm_ffi_default(void *self, const TVMFFIAny *args, int32_t count,
                                         TVMFFIAny *result) {
  TVMFFIObjectHandle function = NULL;
  (void)self;
  return_none(result);
  if (count != 1 || args[0].type_index != kTVMFFIDevice || args[0].v_device.device_type != kDLCPU) {
    return raise_error("ValueError", "the model runs on the CPU: call default(tvm.cpu())");
  }
  execution_t *e = (execution_t *)calloc(1, sizeof(execution_t));
  if (e == NULL) return raise_error("MemoryError", "no memory for the model's context");
  if (execution_open(e) != 0) {
    execution_free(e);
    return -1;
  }
  if (TVMFFIFunctionCreate(e, execution_call, execution_free, &function) != 0) {
    execution_free(e);
    return -1;
  }
  return_object(result, kTVMFFIFunction, function);
  return 0;
}
