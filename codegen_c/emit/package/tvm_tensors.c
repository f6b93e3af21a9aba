// TVM's tensors at the ports of a model: types, shapes, copies.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tvm_library.h"

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

int same_shape(const DLTensor *tensor, const megcc_tensor_info_t *info) {
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

int check_tensor(const DLTensor *tensor, const megcc_tensor_info_t *info) {
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

static void print_shape(char *text, size_t size, int32_t rank, const int64_t *dims) {
  size_t used = 0;
  for (int32_t i = 0; i < rank && used < size; ++i) {
    used += (size_t)snprintf(text + used, size - used, "%s%lld", i == 0 ? "" : ", ",
                             (long long)dims[i]);
  }
  if (rank == 0) text[0] = '\0';
}

int raise_shape(const DLTensor *tensor, const megcc_tensor_info_t *info) {
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

size_t bytes_of(const megcc_tensor_info_t *info) {
  const size_t each = elements_per_byte(info->dtype), n = outside_bytes(info);
  return n / each + (n % each != 0);
}

void copy_in(const megcc_tensor_info_t *info, void *port, const void *value) {
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

void copy_out(const megcc_tensor_info_t *info, void *value, const void *port) {
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

int return_tensor(TVMFFIAny *result, const megcc_tensor_info_t *info, const void *data) {
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
  return return_object(result, kTVMFFITensor, object);
}
