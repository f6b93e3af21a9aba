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
    case MEGCC_ERR_PLATFORM: return "this machine cannot run the model image";
  }
  return "unknown status";
}

const char *megcc_dtype_name(megcc_dtype_t dtype) {
  switch (dtype) {
    case MEGCC_F32: return "f32";
    case MEGCC_F64: return "f64";
    case MEGCC_F16: return "f16";
    case MEGCC_BF16: return "bf16";
    case MEGCC_BOOL: return "bool";
    case MEGCC_I8: return "i8";
    case MEGCC_U8: return "u8";
    case MEGCC_I16: return "i16";
    case MEGCC_U16: return "u16";
    case MEGCC_I32: return "i32";
    case MEGCC_U32: return "u32";
    case MEGCC_I64: return "i64";
    case MEGCC_U64: return "u64";
    case MEGCC_F8E4M3FN: return "f8e4m3fn";
    case MEGCC_F8E4M3FNUZ: return "f8e4m3fnuz";
    case MEGCC_F8E5M2: return "f8e5m2";
    case MEGCC_F8E5M2FNUZ: return "f8e5m2fnuz";
    case MEGCC_F8E8M0: return "f8e8m0";
    case MEGCC_F4E2M1: return "f4e2m1";
    case MEGCC_I4: return "i4";
    case MEGCC_U4: return "u4";
    case MEGCC_I2: return "i2";
    case MEGCC_U2: return "u2";
  }
  return "?";
}

size_t megcc_dtype_bytes(megcc_dtype_t dtype) {
  switch (dtype) {
    case MEGCC_BOOL:
    case MEGCC_I8:
    case MEGCC_F8E4M3FN:
    case MEGCC_F8E4M3FNUZ:
    case MEGCC_F8E5M2:
    case MEGCC_F8E5M2FNUZ:
    case MEGCC_F8E8M0:
    case MEGCC_F4E2M1:
    case MEGCC_I4:
    case MEGCC_U4:
    case MEGCC_I2:
    case MEGCC_U2:
    case MEGCC_U8: return 1;
    case MEGCC_F16:
    case MEGCC_BF16:
    case MEGCC_I16:
    case MEGCC_U16: return 2;
    case MEGCC_F32:
    case MEGCC_I32:
    case MEGCC_U32: return 4;
    case MEGCC_F64:
    case MEGCC_I64:
    case MEGCC_U64: return 8;
  }
  return 0;
}
