// Values and errors of TVM's FFI.
#include <stdio.h>
#include <string.h>

#include "tvm_library.h"

int raise_error(const char *kind, const char *message) {
  TVMFFIErrorSetRaisedFromCStr(kind, message);
  return -1;
}

int raise_status(const char *what, megcc_status_t status) {
  char message[kMessageBytes];
  snprintf(message, sizeof(message), "%s: %s", what, megcc_status_string(status));
  return raise_error("RuntimeError", message);
}

void return_none(TVMFFIAny *result) {
  result->type_index = kTVMFFINone;
  result->zero_padding = 0;
  result->v_int64 = 0;
}

int return_int(TVMFFIAny *result, int64_t value) {
  result->type_index = kTVMFFIInt;
  result->zero_padding = 0;
  result->v_int64 = value;
  return 0;
}

int return_object(TVMFFIAny *result, int32_t type_index, TVMFFIObjectHandle object) {
  result->type_index = type_index;
  result->zero_padding = 0;
  result->v_ptr = object;
  return 0;
}

int return_string(TVMFFIAny *result, const char *text) {
  TVMFFIByteArray bytes;
  bytes.data = text;
  bytes.size = strlen(text);
  return TVMFFIStringFromByteArray(&bytes, result);
}

int as_string(const TVMFFIAny *value, TVMFFIByteArray *text) {
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
    *text =
        *(const TVMFFIByteArray *)(const void *)((const char *)value->v_ptr + sizeof(TVMFFIObject));
    return 1;
  }
  return 0;
}

const DLTensor *as_tensor(const TVMFFIAny *value) {
  if (value->type_index == kTVMFFIDLTensorPtr) return (const DLTensor *)value->v_ptr;
  if (value->type_index == kTVMFFITensor) {
    return (const DLTensor *)(const void *)((const char *)value->v_ptr + sizeof(TVMFFIObject));
  }
  return NULL;
}

int equals(const TVMFFIByteArray *text, const char *word) {
  return text->size == strlen(word) && memcmp(text->data, word, text->size) == 0;
}
