// Names for status codes and element types.
#include "megcc.h"

const char *megcc_status_string(megcc_status_t status) {
  switch (status) {
    case MEGCC_OK: return "success";
    case MEGCC_ERR_NULL: return "a required pointer is null";
    case MEGCC_ERR_INDEX: return "no input, output or pool has this number";
    case MEGCC_ERR_NAME: return "no input or output has this name";
    case MEGCC_ERR_MEMORY: return "the memory given is too small";
    case MEGCC_ERR_ALIGNMENT: return "the memory given is not aligned enough";
    case MEGCC_ERR_TRUNCATED: return "the model image ends too early";
    case MEGCC_ERR_MAGIC: return "this is not a model image";
    case MEGCC_ERR_VERSION: return "image, kernels and runtime are of different versions";
    case MEGCC_ERR_CHECKSUM: return "bytes of the model image have changed";
    case MEGCC_ERR_CORRUPT: return "the model image contradicts itself";
    case MEGCC_ERR_KERNELS: return "the model image was compiled for other kernels than these";
    case MEGCC_ERR_OPCODE: return "the model image uses an instruction that is not linked in";
    case MEGCC_ERR_SHAPE: return "the model does not accept this shape";
    case MEGCC_ERR_SIZE: return "the number of bytes is not that of the tensor";
    case MEGCC_ERR_UNBOUND: return "an input or output has no memory yet";
    case MEGCC_ERR_NO_ARENA: return "the arena has not been set";
    case MEGCC_ERR_NOT_RUN: return "there is no output before a run";
    case MEGCC_ERR_POOLS: return "the model has several memory pools: set each of them";
    case MEGCC_ERR_NO_SHAPE: return "the shape of an input is not fixed and has not been set";
    case MEGCC_ERR_DATA: return "a size or an index that data says is out of range";
    case MEGCC_ERR_NO_ALLOC: return "sizes depend on data and no allocator was set";
    case MEGCC_ERR_ALLOC: return "the allocator has no memory";
    case MEGCC_ERR_MACHINE: return "this CPU lacks instructions that the model was compiled for";
    case MEGCC_ERR_PLATFORM: return "this machine cannot run the model image";
  }
  return "unknown status";
}

// By the type's code: its name, and the bytes of an element by itself.
static const struct {
  char name[11];
  uint8_t bytes;
} dtypes[] = {
    {"f32", 4},    {"f64", 8},        {"f16", 2},    {"bf16", 2},     {"bool", 1},
    {"i8", 1},     {"u8", 1},         {"i16", 2},    {"u16", 2},      {"i32", 4},
    {"u32", 4},    {"i64", 8},        {"u64", 8},    {"f8e4m3fn", 1}, {"f8e4m3fnuz", 1},
    {"f8e5m2", 1}, {"f8e5m2fnuz", 1}, {"f8e8m0", 1}, {"f4e2m1", 1},   {"i4", 1},
    {"u4", 1},     {"i2", 1},         {"u2", 1},
};

const char *megcc_dtype_name(megcc_dtype_t dtype) {
  return (unsigned)dtype < sizeof dtypes / sizeof dtypes[0] ? dtypes[dtype].name : "?";
}

size_t megcc_dtype_bytes(megcc_dtype_t dtype) {
  return (unsigned)dtype < sizeof dtypes / sizeof dtypes[0] ? dtypes[dtype].bytes : 0;
}
