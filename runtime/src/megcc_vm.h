// Inside the runtime: the image format and the structs behind the handles. Not for applications.
#ifndef MEGCC_VM_H
#define MEGCC_VM_H

#include "megcc.h"
#include "megcc_kernel.h"

// Raised whenever anything in this file or the kernel's type changes: packages of different ABIs
// in one program refuse each other's models instead of misreading them.
#define MEGCC_ABI 2

// A debug build (-DMEGCC_DEBUG) adds to the structs below; a program half of one, half of the other
// refuses its models, too.
#if defined(MEGCC_DEBUG)
#define MEGCC_BUILD_ABI (MEGCC_ABI | 0x10000)
#else
#define MEGCC_BUILD_ABI MEGCC_ABI
#endif

// ---- image format: 32-bit little-endian words, see docs/package-format.md ------------------

#define MEGCC_MAGIC 0x4347454Du  // "MEGC"
#define MEGCC_VERSION 2u
#define MEGCC_NONE 0xFFFFFFFFu  // "no tensor"

enum {  // words of the header
  MEGCC_H_MAGIC,
  MEGCC_H_VERSION,
  MEGCC_H_BYTES,     // of the whole program
  MEGCC_H_CHECKSUM,  // CRC-32 of everything after this word
  MEGCC_H_FINGERPRINT,
  MEGCC_H_ARCH = MEGCC_H_FINGERPRINT + 2,
  MEGCC_H_NAME,
  MEGCC_H_MAX_OPERANDS,
  MEGCC_H_FLAGS,     // 0
  MEGCC_H_SECTIONS,  // (offset in bytes, count) of each section
  MEGCC_H_WORDS = 32
};

enum {
  MEGCC_S_STRINGS,   // bytes; every string ends with 0, as does the section
  MEGCC_S_SEGMENTS,  // bytes (2 words), CRC-32, 0
  MEGCC_S_KERNELS,   // name
  MEGCC_S_DIMS,      // dimension
  MEGCC_S_TENSORS,   // dtype | space << 8 | rank << 16, first dim, index, offset (2 words), 0
  MEGCC_S_INPUTS,    // name, tensor
  MEGCC_S_OUTPUTS,   // name, tensor
  MEGCC_S_CODE,      // instructions: opcode | words << 8, operands...
  MEGCC_S_POOLS,     // name, bytes (2 words)
  MEGCC_SECTIONS
};

enum {
  MEGCC_SEGMENT_WORDS = 4,
  MEGCC_TENSOR_WORDS = 6,
  MEGCC_PORT_WORDS = 2,
  MEGCC_POOL_WORDS = 3
};

enum { MEGCC_ARENA, MEGCC_WEIGHT, MEGCC_INPUT, MEGCC_OUTPUT, MEGCC_SPACES };

enum {
#define MEGCC_OPCODE(number, name, handler) MEGCC_OP_##name = number,
#include "megcc_opcodes.def"
#undef MEGCC_OPCODE
};

// ---- handles -------------------------------------------------------------------------------

// An instruction: `check` sees it once, when the model is opened, `run` may then trust it.
typedef struct megcc_op {
  megcc_status_t (*check)(const megcc_model_t *model, const uint32_t *code, uint32_t words);
  megcc_status_t (*run)(megcc_context_t *context, const uint32_t *code);
} megcc_op_t;

#if defined(MEGCC_DEBUG)
// Where a storage of the arena lives, and during which calls: [first, last).
typedef struct megcc_block {
  uint32_t first, last, pool;
  uint64_t offset, bytes;
} megcc_block_t;

// The memory plan of the image with this checksum; without a plan, no blocks.
typedef struct megcc_plan {
  uint32_t checksum, count;
  const megcc_block_t *blocks;
} megcc_plan_t;
#endif

// What a package's generated model.c hands to megcc_model_open. The opcodes travel with the
// kernels, so that packages using different opcodes can share one copy of the runtime.
struct megcc_kernels {
  uint32_t abi;
  uint32_t count;
  uint32_t fingerprint[2];
  const megcc_kernel_fn *fn;
  const megcc_op_t *const *op;  // by opcode, null where the package has no use for it
  uint32_t op_count;
#if defined(MEGCC_DEBUG)
  const megcc_plan_t *plan;
#endif
};

struct megcc_model {
  const uint32_t *program;
  const megcc_kernels_t *kernels;
  megcc_bytes_t segment[MEGCC_MAX_SEGMENTS];
  const uint32_t *section[MEGCC_SECTIONS];
  uint32_t count[MEGCC_SECTIONS];
  size_t pool_bytes[MEGCC_MAX_POOLS];
};

enum {
  MEGCC_PORT_OWNED = 1,  // bound to memory of megcc_set_io
  MEGCC_PORT_FILLED = 2  // an input in the arena has its value for the next run
};

struct megcc_port {
  void *bound;
  uint32_t flags;
};

struct megcc_context {
  const megcc_model_t *model;
  uint8_t **base;  // first byte of each segment, input, output; before them, of pool k at ~k
  void **operand;  // of the running call
  struct megcc_port *input, *output;
  uint32_t call;  // number of the running call, for the profile
  uint32_t has_run;
  megcc_profile_fn profile;
  void *profile_user;
  megcc_parallel_fn parallel;
  void *parallel_user;
};

// A tensor, decoded.
typedef struct megcc_tensor {
  uint32_t dtype, space, rank, index;
  const int32_t *dims;
  size_t offset;
  size_t bytes;
} megcc_tensor_t;

uint32_t megcc_crc32(const void *data, size_t bytes);

// Decodes a tensor of a validated model.
megcc_tensor_t megcc_tensor_at(const megcc_model_t *model, uint32_t id);

#if defined(MEGCC_DEBUG)
// Fills the whole arena, but for inputs that are waiting there, with 0xFF: NaN as a float.
void megcc_poison_arena(megcc_context_t *context);

// Fills the blocks that no later call than the running one may read.
void megcc_poison_dead(megcc_context_t *context);
#endif

// Whether `id` is a tensor that an instruction may write.
int megcc_tensor_is_writable(const megcc_model_t *model, uint32_t id);

static inline const char *megcc_string(const megcc_model_t *model, uint32_t ref) {
  return (const char *)model->section[MEGCC_S_STRINGS] + ref;
}

// Where the context keeps the first byte of a pool.
static inline uint8_t **megcc_pool(const megcc_context_t *context, uint32_t pool) {
  return context->base + ~(ptrdiff_t)pool;
}

static inline uint8_t *megcc_tensor_data(const megcc_context_t *context, uint32_t id) {
  const megcc_model_t *m = context->model;
  const uint32_t *t = m->section[MEGCC_S_TENSORS] + (size_t)id * MEGCC_TENSOR_WORDS;
  const uint32_t space = (t[0] >> 8) & 0xFF;
  ptrdiff_t base = (ptrdiff_t)t[2];
  if (space == MEGCC_ARENA) base = ~base;
  if (space >= MEGCC_INPUT) base += m->count[MEGCC_S_SEGMENTS];
  if (space == MEGCC_OUTPUT) base += m->count[MEGCC_S_INPUTS];
  return context->base[base] + (size_t)((uint64_t)t[4] << 32 | t[3]);
}

// The one library function a freestanding compiler supplies anyway.
static inline void megcc_copy(void *dst, const void *src, size_t bytes) {
#if defined(__GNUC__)
  __builtin_memmove(dst, src, bytes);
#else
  size_t i;
  for (i = 0; i < bytes; ++i) ((uint8_t *)dst)[i] = ((const uint8_t *)src)[i];
#endif
}

// All handlers of megcc_opcodes.def; a package links those that its table names.
extern const megcc_op_t megcc_op_call;
extern const megcc_op_t megcc_op_copy;

#endif  // MEGCC_VM_H
