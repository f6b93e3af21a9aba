// Names for status codes and element types.
#include "megcc.h"

// In the order of the numbers, one behind the other: a table of addresses would be larger, and a
// linker would have to fill it in.
static const char sentences[] =
    "success\0"                                                      // MEGCC_OK
    "a required pointer is null\0"                                   // MEGCC_ERR_NULL
    "no input, output or pool has this number\0"                     // MEGCC_ERR_INDEX
    "no input or output has this name\0"                             // MEGCC_ERR_NAME
    "the memory given is too small\0"                                // MEGCC_ERR_MEMORY
    "the memory given is not aligned enough\0"                       // MEGCC_ERR_ALIGNMENT
    "the model image ends too early\0"                               // MEGCC_ERR_TRUNCATED
    "this is not a model image\0"                                    // MEGCC_ERR_MAGIC
    "image, kernels and runtime are of different versions\0"         // MEGCC_ERR_VERSION
    "bytes of the model image have changed\0"                        // MEGCC_ERR_CHECKSUM
    "the model image contradicts itself\0"                           // MEGCC_ERR_CORRUPT
    "the model image was compiled for other kernels than these\0"    // MEGCC_ERR_KERNELS
    "the model image uses an instruction that is not linked in\0"    // MEGCC_ERR_OPCODE
    "the model does not accept this shape\0"                         // MEGCC_ERR_SHAPE
    "the number of bytes is not that of the tensor\0"                // MEGCC_ERR_SIZE
    "an input or output has no memory yet\0"                         // MEGCC_ERR_UNBOUND
    "the arena has not been set\0"                                   // MEGCC_ERR_NO_ARENA
    "there is no output before a run\0"                              // MEGCC_ERR_NOT_RUN
    "this machine cannot run the model image\0"                      // MEGCC_ERR_PLATFORM
    "the model has several memory pools: set each of them\0"         // MEGCC_ERR_POOLS
    "the shape of an input is not fixed and has not been set\0"      // MEGCC_ERR_NO_SHAPE
    "a size or an index that data says is out of range\0"            // MEGCC_ERR_DATA
    "sizes depend on data and no allocator was set\0"                // MEGCC_ERR_NO_ALLOC
    "the allocator has no memory\0"                                  // MEGCC_ERR_ALLOC
    "this CPU lacks instructions that the model was compiled for\0"  // MEGCC_ERR_MACHINE
    "an output or the arena overlaps other memory of the run";       // MEGCC_ERR_OVERLAP

const char *megcc_status_string(megcc_status_t status) {
  const char *p = sentences;
  unsigned left = (unsigned)status;
  if (left > MEGCC_ERR_OVERLAP) return "unknown status";
  while (left > 0) left -= *p++ == 0;
  return p;
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
