// The model as a TVM library: `load_module("model.so")["default"](device)` makes one execution.
//
// That execution is a TVM FFI function of (method, arguments...):
//   "get_num_inputs", "get_num_outputs"             -> int
//   "get_input_name" i, "get_output_name" i         -> str
//   "get_input_index" name                          -> int, -1 when there is none
//   "get_input_shape" i|name                        -> str, "2,3"; "?" for a size not yet set
//   "set_input" i|name, tensor                      copies the tensor's elements
//   "set_input_shape" i|name, dim...                sets the shape as "set_input" would, no data
//   "check_shapes"                                  raises what "run" would raise of the shapes
//   "get_input" i|name                              -> tensor, a copy
//   "set_seed" int                                  begins the random numbers of the model again
//   "run"
//   "get_output" i|name [, tensor]                  -> tensor, a copy (or into the tensor given)
//   "get_device_tensor"                             -> an empty tensor, where inputs must be
//   "profile" function|None                         calls function(end, call, name, kernel) before
//                                                   and after every kernel call of the runs to come
//   "times" n                                       -> str, how long n runs and their calls take
//
// An input whose shape is open takes that of the tensor it is set to; shapes of several inputs are
// looked at together, by the next "run".
//
// The files tvm_*.c are the only ones of the library that know TVM, and that allocate.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tvm_library.h"

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

// Gives an input the shape of a tensor; what it means for the rest is found out by "run", or by
// "check_shapes".
static int set_shape(execution_t *e, uint32_t index, const DLTensor *tensor,
                     megcc_tensor_info_t *info) {
  int32_t dims[kMaxRank];
  if (same_shape(tensor, info)) return 0;
  if (tensor->ndim > kMaxRank) return raise_shape(tensor, info);
  for (int32_t i = 0; i < tensor->ndim; ++i) {
    if (tensor->shape[i] < 0 || tensor->shape[i] > INT32_MAX) return raise_shape(tensor, info);
    dims[i] = (int32_t)tensor->shape[i];
  }
  megcc_status_t status = megcc_set_input_shape(e->context, index, tensor->ndim, dims);
  if (status != MEGCC_OK) {
    return is_about_a_size(e->context) ? raise_problem(e->context, status)
                                       : raise_shape(tensor, info);
  }
  e->provided = 0;
  status = megcc_input_info(e->context, index, info);
  return status == MEGCC_OK ? 0 : raise_status("input", status);
}

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

static int set_input_shape(execution_t *e, const TVMFFIAny *args, int32_t count) {
  uint32_t index = 0;
  megcc_tensor_info_t info;
  DLTensor tensor;
  int64_t dims[kMaxRank];
  if (get_port(e, 0, &args[0], &index, &info) != 0) return -1;
  memset(&tensor, 0, sizeof(tensor));
  tensor.ndim = count - 1 < kMaxRank ? count - 1 : kMaxRank;
  tensor.shape = dims;
  for (int32_t i = 0; i < tensor.ndim; ++i) {
    if (args[i + 1].type_index != kTVMFFIInt) {
      return raise_error("TypeError", "the dims of an input are integers");
    }
    dims[i] = args[i + 1].v_int64;
  }
  return set_shape(e, index, &tensor, &info);
}

static int check_shapes(execution_t *e) {
  size_t bytes = 0;
  const megcc_status_t status = megcc_arena_bytes(e->context, &bytes);
  return status == MEGCC_OK ? 0 : raise_problem(e->context, status);
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

static int set_seed(execution_t *e, const TVMFFIAny *args) {
  if (args[0].type_index != kTVMFFIInt) return raise_error("TypeError", "a seed is an integer");
#if MEGCC_MODEL_DRAWS
  (void)megcc_set_seed(e->context, args[0].v_int64);
#else
  (void)e;  // a model that draws nothing
#endif
  return 0;
}

static int run(execution_t *e) {
  if (!e->provided && execution_provide(e) != 0) return -1;
  const char *node = NULL;
  e->profile_failed = 0;
  const megcc_status_t status = megcc_run(e->context);
  if (e->profile_failed) return -1;
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
  return return_int(result, find_port(e, 0, &name));
}

// Over TVM's RPC a tensor knows which machine it is on; nothing else does.
static int get_device_tensor(TVMFFIAny *result) {
  const int32_t none = 0;
  megcc_tensor_info_t info;
  memset(&info, 0, sizeof(info));
  info.name = "";
  info.dtype = MEGCC_U8;
  info.rank = 1;
  info.dims = &none;
  return return_tensor(result, &info, "");
}

static void on_call(void *user, megcc_event_t event, uint32_t call, const char *name,
                    const char *kernel) {
  execution_t *e = (execution_t *)user;
  TVMFFIAny args[4], result;
  (void)return_int(&args[0], event == MEGCC_CALL_END);
  (void)return_int(&args[1], call);
  for (int i = 2; i < 4; ++i) {
    const char *text = i == 2 ? name : kernel;
    return_none(&args[i]);
    args[i].type_index = kTVMFFIRawStr;
    args[i].v_c_str = text != NULL ? text : "";
  }
  return_none(&result);
  // A run cannot be ended here: its next calls are not reported, and the error is raised after it.
  if (!e->profile_failed) e->profile_failed = TVMFFIFunctionCall(e->profile, args, 4, &result) != 0;
}

static int set_profile(execution_t *e, const TVMFFIAny *args) {
  const int given = args[0].type_index == kTVMFFIFunction;
  if (!given && args[0].type_index != kTVMFFINone) {
    return raise_error("TypeError", "profile takes a function, or None");
  }
  const megcc_status_t status = megcc_set_profile(e->context, given ? on_call : NULL, e);
  if (status != MEGCC_OK) return raise_status("profile", status);
  if (e->profile != NULL) (void)TVMFFIObjectDecRef(e->profile);
  e->profile = given ? (TVMFFIObjectHandle)args[0].v_ptr : NULL;
  return given ? TVMFFIObjectIncRef(e->profile) : 0;
}

static int times(execution_t *e, const TVMFFIAny *args, TVMFFIAny *result) {
  const int status = execution_times(e, args, run, result);
  (void)megcc_set_profile(e->context, e->profile != NULL ? on_call : NULL, e);
  return status;
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
  if (equals(&method, "get_num_inputs") && count == 0) return return_int(result, e->input_count);
  if (equals(&method, "get_num_outputs") && count == 0) return return_int(result, e->output_count);
  if (equals(&method, "set_seed") && count == 1) return set_seed(e, rest);
  if (equals(&method, "set_input") && count == 2) return set_input(e, rest);
  if (equals(&method, "set_input_shape") && count >= 1) return set_input_shape(e, rest, count);
  if (equals(&method, "check_shapes") && count == 0) return check_shapes(e);
  if (equals(&method, "get_input") && count == 1) return get_input(e, rest, result);
  if (equals(&method, "get_output") && (count == 1 || count == 2)) {
    return get_output(e, rest, count, result);
  }
  if (equals(&method, "get_input_name") && count == 1) return get_name(e, 0, rest, result);
  if (equals(&method, "get_output_name") && count == 1) return get_name(e, 1, rest, result);
  if (equals(&method, "get_input_shape") && count == 1) return get_input_shape(e, rest, result);
  if (equals(&method, "get_device_tensor") && count == 0) return get_device_tensor(result);
  if (equals(&method, "profile") && count == 1) return set_profile(e, rest);
  if (equals(&method, "times") && count == 1) return times(e, rest, result);
  if (equals(&method, "get_input_index") && count == 1) return get_input_index(e, rest, result);
  char message[kMessageBytes];
  snprintf(message, sizeof(message), "there is no method '%.*s' of %d arguments",
           (int)(method.size < 100 ? method.size : 100), method.data, (int)count);
  return raise_error("AttributeError", message);
}

/// ``default(device)``: a new execution of the model; any number of them may exist.
TVM_FFI_DLL_EXPORT int __tvm_ffi_default(void *self, const TVMFFIAny *args, int32_t count,
                                         TVMFFIAny *result);
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
  if (execution_open(e) != 0 ||
      TVMFFIFunctionCreate(e, execution_call, execution_free, &function) != 0) {
    execution_free(e);
    return -1;
  }
  return return_object(result, kTVMFFIFunction, function);
}
