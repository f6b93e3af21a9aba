// Inside the runtime: the image format and the structs behind the handles. Not for applications.
#ifndef MEGCC_VM_H
#define MEGCC_VM_H

#include "megcc.h"
#include "megcc_kernel.h"

// Raised whenever anything in this file or the kernel's type changes: packages of different ABIs
// in one program refuse each other's models instead of misreading them.
#define MEGCC_ABI 12

// A debug build (-DMEGCC_DEBUG) adds to the structs below; a program half of one, half of the other
// refuses its models, too.
#if defined(MEGCC_DEBUG)
#define MEGCC_BUILD_ABI (MEGCC_ABI | 0x10000)
#else
#define MEGCC_BUILD_ABI MEGCC_ABI
#endif

// ---- image format: 32-bit little-endian words, see docs/package-format.md ------------------

#define MEGCC_MAGIC 0x4347454Du  // "MEGC"
#define MEGCC_VERSION 5u
#define MEGCC_NONE 0xFFFFFFFFu  // "no tensor"

// For functions that are smaller called than put in place.
#if defined(__GNUC__)
#define MEGCC_NOINLINE __attribute__((noinline))
#else
#define MEGCC_NOINLINE
#endif

enum {  // words of the header
  MEGCC_H_MAGIC,
  MEGCC_H_VERSION,
  MEGCC_H_BYTES,     // of the whole program
  MEGCC_H_CHECKSUM,  // CRC-32 of everything after this word
  MEGCC_H_FINGERPRINT,
  MEGCC_H_ARCH = MEGCC_H_FINGERPRINT + 2,
  MEGCC_H_NAME,
  MEGCC_H_SECTIONS = 10,  // (offset in bytes, count) of each section that all functions share
  MEGCC_H_WORDS = 32
};

enum {
  // Shared by all functions.
  MEGCC_S_STRINGS,    // bytes; every string ends with 0, as does the section
  MEGCC_S_SEGMENTS,   // bytes (2 words), CRC-32, 0
  MEGCC_S_KERNELS,    // name
  MEGCC_S_SYMBOLS,    // name, least and greatest value
  MEGCC_S_SIGNATURE,  // of each input: rank, dims; a dim -1 - k - n * (f - 1) of n symbols is
                      // f times symbol k
  MEGCC_S_FUNCTIONS,  // a program for some of the shapes
  // Of one function.
  MEGCC_S_DIMS,     // dimension; -1 - k is value k
  MEGCC_S_TENSORS,  // dtype | space << 8 | rank << 16, first dim, index, offset (2 words), 0
  MEGCC_S_INPUTS,   // name, tensor, number of the port that shares its memory or NONE
  MEGCC_S_OUTPUTS,  // the same
  MEGCC_S_CODE,     // instructions: opcode | words << 8, operands...
  MEGCC_S_POOLS,    // name, bytes (2 words)
  MEGCC_S_VALUES,   // what the context's values are at first; the symbols stand in front
  MEGCC_S_SCALARS,  // operation | value << 8, value, value
  MEGCC_S_BLOCKS,   // kind | log2 of the alignment << 8, then by kind
  MEGCC_S_BELOW,    // block
  MEGCC_S_GUARDS,   // symbol, least value, first value that is too large
  MEGCC_SECTIONS,
  MEGCC_S_FIRST_OF_FUNCTION = MEGCC_S_DIMS
};

enum {  // words of a function
  MEGCC_F_MAX_OPERANDS,
  MEGCC_F_SCALARS,  // so many are computed when the shapes change, the others by LOAD
  MEGCC_F_DATA,     // values from this one on depend on data
  MEGCC_F_SECTIONS = 4,
  MEGCC_F_WORDS = MEGCC_F_SECTIONS + 2 * (MEGCC_SECTIONS - MEGCC_S_FIRST_OF_FUNCTION)
};

enum {
  MEGCC_SEGMENT_WORDS = 4,
  MEGCC_SYMBOL_WORDS = 3,
  MEGCC_TENSOR_WORDS = 6,
  MEGCC_PORT_WORDS = 3,
  MEGCC_POOL_WORDS = 3,
  MEGCC_SCALAR_WORDS = 3,
  MEGCC_BLOCK_WORDS = 4,
  MEGCC_GUARD_WORDS = 3
};

enum {  // operations on values; the result of all but REQUIRE, which has a string there, goes to
        // the value named first
  MEGCC_V_MOVE,
  MEGCC_V_ADD,
  MEGCC_V_SUB,
  MEGCC_V_MUL,
  MEGCC_V_FLOORDIV,
  MEGCC_V_FLOORMOD,
  MEGCC_V_MIN,
  MEGCC_V_MAX,
  MEGCC_V_EQ,
  MEGCC_V_LT,
  MEGCC_V_REQUIRE,  // the model needs both values to be equal
  MEGCC_V_OPERATIONS
};

// Kinds of blocks; a tensor of the arena in block b has the index pools + b.
enum {
  MEGCC_B_PLACED,  // first of BELOW, count: stands on the highest end of those blocks
  MEGCC_B_ALIAS,   // block, value: lies so many bytes from the start of an earlier block
  MEGCC_B_DYNAMIC  // has memory of its own, allocated by LOAD
};

enum { MEGCC_ARENA, MEGCC_WEIGHT, MEGCC_INPUT, MEGCC_OUTPUT, MEGCC_SPACES };

// Words of CALL (WORK: a number) and CALL_SIZED (WORK: a value, then the value of the first
// attribute).
enum {
  MEGCC_C_KERNEL = 1,
  MEGCC_C_NAME,
  MEGCC_C_WORK,
  MEGCC_C_SPLIT,  // most workers (1: the call is whole) | least work of one of them << 8
  MEGCC_C_WORKSPACE,
  MEGCC_C_OUTPUTS,
  MEGCC_C_OPERANDS,
  MEGCC_C_FIRST,
  MEGCC_C_FIRST_OF_SIZED = MEGCC_C_FIRST + 2
};

// Words of BAND behind those of CALL, and of each operand that is a band.
enum {
  MEGCC_BAND_COUNTER = MEGCC_C_FIRST,
  MEGCC_BAND_OUTPUT,
  MEGCC_BAND_STRIDE = MEGCC_BAND_OUTPUT + 3,
  MEGCC_BAND_UP,
  MEGCC_BAND_REACH,
  MEGCC_BAND_PAD,
  MEGCC_BAND_ROWS,
  MEGCC_BAND_TILE,
  MEGCC_BAND_BLOCK,
  MEGCC_BAND_COLUMNS,
  MEGCC_BAND_BANDS,
  MEGCC_BAND_PATCHES,
  MEGCC_BAND_PERIOD,
  MEGCC_BAND_IMAGES,
  MEGCC_BAND_OPERANDS,
  MEGCC_BAND_WORDS = 5
};

// Pointers by which programs with DRAW have more operands than any of their calls: in place of the
// last ones, a context keeps seed and counter (16 bytes on every machine). So no other context
// grows.
#define MEGCC_DRAW_OPERANDS 4

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
// Place of a storage of the arena, and its calls [first, last). A pool from the number
// of pools on is a block, whose offset and size are those of the moment.
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

struct megcc_port;
struct megcc_tensor;

// Pointers that a context has behind its struct, and its bytes but for what changing shapes want.
struct megcc_layout {
  size_t pools, operands, bytes;
};

// Functions of models whose shapes can change. The package's table points to them, so that others
// do not link them.
typedef struct megcc_shapes {
  int (*may_lie)(const megcc_model_t *function, const struct megcc_tensor *tensor);
  megcc_status_t (*check)(const megcc_model_t *function);
  size_t (*lay_out)(const megcc_model_t *model, struct megcc_layout *layout);
  void (*create)(megcc_context_t *context, void *mem);
  megcc_status_t (*set)(megcc_context_t *context, uint32_t input, int32_t rank,
                        const int32_t *dims);
  megcc_status_t (*resolve)(megcc_context_t *context);
  megcc_status_t (*begin)(const megcc_context_t *context);
  void (*set_arena)(megcc_context_t *context, void *mem, size_t bytes);
  void (*measure)(const megcc_context_t *context, struct megcc_tensor *tensor);
  void (*describe)(const megcc_context_t *context, uint32_t port, megcc_tensor_info_t *info);
  int (*reaches)(const megcc_context_t *context, const uint32_t *tensors, uint32_t count);
  void (*settle)(megcc_context_t *context);
  int (*complete)(const megcc_context_t *context);
  int (*waits)(const megcc_model_t *function, const struct megcc_tensor *tensor);
} megcc_shapes_t;

// The model compiled for one machine of several of the same architecture.
typedef struct megcc_build {
  const char *name;   // "x86+avx2"
  uint32_t needs[2];  // bits of the two words that megcc_machine.c reads of the CPU
  const megcc_kernels_t *kernels;
  const megcc_image_t *image;  // null where it is a file
} megcc_build_t;

// A package whose machines have features beyond those of every CPU of their architecture.
typedef struct megcc_machine {
  megcc_status_t (*choose)(const megcc_kernels_t **kernels, const megcc_image_t **image);
  const megcc_kernels_t *kernels;  // the package's own, which stand for all the builds
  const megcc_image_t *image;      // likewise, or null
  const megcc_build_t *build;      // best first
  uint32_t count;
} megcc_machine_t;

extern megcc_status_t megcc_machine_choose(const megcc_kernels_t **kernels,
                                           const megcc_image_t **image);

// The table that a package's generated model.c defines for megcc_model_open. It has the opcodes, so
// that packages using different ones can share one copy of the runtime.
struct megcc_kernels {
  uint32_t abi;
  uint32_t count;
  uint32_t fingerprint[2];
  const megcc_kernel_fn *fn;
  const megcc_op_t *const *op;  // by opcode, null where the package has no use for it
  uint32_t op_count;
  const megcc_shapes_t *shapes;    // null where every shape is fixed
  const megcc_machine_t *machine;  // null where every CPU of the architecture will do
#if defined(MEGCC_DEBUG)
  const megcc_plan_t *plan;  // of each function
#endif
};

struct megcc_model {
  const uint32_t *program;
  const megcc_kernels_t *kernels;
  const void *segment[MEGCC_MAX_SEGMENTS];
  const uint32_t *section[MEGCC_SECTIONS];
  uint32_t count[MEGCC_SECTIONS];
  uint32_t function;       // whose sections these are
  const uint32_t *record;  // of the function
};

enum {
  MEGCC_PORT_OWNED = 1,      // bound to memory of megcc_set_io
  MEGCC_PORT_FILLED = 2,     // an input in the arena has its value for the next run
  MEGCC_PORT_ROWS = 4,       // an input needs no memory for the run that begins
  MEGCC_PORT_ROWS_GIVEN = 8  // from this bit on: rows that the next FEED has been given
};

struct megcc_port {
  void *bound;
  uint32_t flags;
};

// Bytes that <NAME>_CONTEXT_BYTES counts for the struct below, on every platform.
#define MEGCC_SHAPED_BYTES 512

// The size inside a model for which shapes were refused; megcc_shape_problem names it.
struct megcc_cause {
  uint32_t value[2];    // that a size is computed from; MEGCC_NONE: it follows from no values
  uint32_t size;        // the value of the size, where it is one
  uint32_t operations;  // how many scalars come before it
};

// State of a context whose shapes can change.
struct megcc_shaped {
  const megcc_shapes_t *ops;  // the package's
  megcc_model_t view;         // the model with the function that serves these shapes
  const megcc_model_t *model;
  int32_t *given;                 // dims of all inputs in order, as they were set; -1: not yet
  int32_t *symbol;                // value of each symbol
  int32_t *dims;                  // dims of all inputs, then of all outputs
  int32_t *value;                 // of the function
  size_t *size;                   // of each block
  size_t *offset;                 // of each block in the arena
  size_t *room;                   // bytes of memory from where each block is, 0 where it has none
  size_t *port_bytes;             // of all inputs, then of all outputs, when they were resolved
  struct megcc_dynamic *dynamic;  // memory of each block that has its own
  uint8_t *arena;
  size_t arena_bytes, arena_capacity;
  megcc_alloc_fn alloc;
  megcc_free_fn free;
  void *alloc_user;
  megcc_shape_problem_t problem;
  struct megcc_cause cause;  // of the problem
  uint32_t resolved;
  uint32_t settled;  // every tensor has its memory, for this run
};

struct megcc_dynamic {
  void *data;
  size_t bytes;
};

struct megcc_context {
  const megcc_model_t *model;
  struct megcc_shaped *shaped;    // null where every shape is fixed
  uint8_t **place[MEGCC_SPACES];  // by space: first byte of each pool, segment, input, output;
                                  // segments are those of the model
  void **operand;                 // of the running call
  const uint32_t *next;           // instruction that follows the running one; the one that failed
  struct megcc_port *port;        // inputs, then outputs
  uint32_t call;                  // number of the running call, for the profile
  uint16_t has_run;
  uint16_t is_apart;  // the memory that is bound overlaps nowhere: found by a run
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
  size_t element;  // bytes of an element by itself
  size_t bytes;
} megcc_tensor_t;

static inline uint64_t megcc_u64(const uint32_t *word) { return (uint64_t)word[1] << 32 | word[0]; }

// Bytes of a segment, and of a pool where every shape is fixed.
static inline size_t megcc_segment_bytes(const megcc_model_t *m, uint32_t segment) {
  return (size_t)megcc_u64(m->section[MEGCC_S_SEGMENTS] + (size_t)segment * MEGCC_SEGMENT_WORDS);
}

static inline size_t megcc_pool_bytes(const megcc_model_t *m, uint32_t pool) {
  return (size_t)megcc_u64(m->section[MEGCC_S_POOLS] + (size_t)pool * MEGCC_POOL_WORDS + 1);
}

// The words of a port, whose number counts inputs, then outputs.
const uint32_t *megcc_port_words(const megcc_model_t *model, uint32_t number);

// Number of the port that shares a port's memory, MEGCC_NONE where none does.
static inline uint32_t megcc_partner(const megcc_model_t *m, uint32_t number) {
  return megcc_port_words(m, number)[2];
}

static inline const uint32_t *megcc_function_record(const megcc_model_t *m, uint32_t function) {
  return m->section[MEGCC_S_FUNCTIONS] + (size_t)function * MEGCC_F_WORDS;
}

static inline const uint32_t *megcc_tensor_words(const megcc_model_t *m, uint32_t id) {
  return m->section[MEGCC_S_TENSORS] + (size_t)id * MEGCC_TENSOR_WORDS;
}

static inline uint32_t megcc_port_count(const megcc_model_t *m) {
  return m->count[MEGCC_S_INPUTS] + m->count[MEGCC_S_OUTPUTS];
}

// Finds the sections of a function of a model.
megcc_status_t megcc_select(megcc_model_t *model, uint32_t function);

uint32_t megcc_crc32(const void *data, size_t bytes);

// Decodes a tensor of an image that need not be trusted: false unless it is one of the function's,
// whose type is known, whose dims and values are there, and whose bytes fit in a size_t; these are
// 0 where a dim is a value.
int megcc_find_tensor(const megcc_model_t *model, uint32_t id, megcc_tensor_t *tensor);

// The same for a tensor that was found when the model was opened.
static inline megcc_tensor_t megcc_tensor_at(const megcc_model_t *model, uint32_t id) {
  megcc_tensor_t t;
  (void)megcc_find_tensor(model, id, &t);
  return t;
}

// The same without the bytes.
static inline void megcc_decode_tensor(const megcc_model_t *m, const uint32_t *w,
                                       megcc_tensor_t *t) {
  const uint32_t head = w[0], first_dim = w[1];
  t->index = w[2];
  t->offset = (size_t)megcc_u64(w + 3);
  t->dtype = head & 0xFF;
  t->space = head >> 8 & 0xFF;
  t->rank = head >> 16;
  t->dims = (const int32_t *)m->section[MEGCC_S_DIMS] + first_dim;
  t->element = megcc_dtype_bytes((megcc_dtype_t)t->dtype);
}

// Bytes of `n` elements that would have a byte each: packed ones share theirs, the last byte may
// not be full.
static inline size_t megcc_packed(uint32_t dtype, size_t n) {
  if (dtype >= MEGCC_F4E2M1) n -= n >> 1;
  if (dtype >= MEGCC_I2) n -= n >> 1;
  return n;
}

// Multiplies `n`, false where it does not fit.
static inline int megcc_times(size_t *n, size_t by) {
#if defined(__clang__) || (defined(__GNUC__) && __GNUC__ >= 5)
  return !__builtin_mul_overflow(*n, by, n);
#else
  if (by != 0 && *n > SIZE_MAX / by) return 0;
  *n *= by;
  return 1;
#endif
}

// Whether all dims of a tensor are fixed.
int megcc_is_fixed(const megcc_tensor_t *tensor);

// Brings a context up to date with the shapes that were set; MEGCC_ERR_NULL without a context.
megcc_status_t megcc_ready(const megcc_context_t *context);

// Beginning and end of a run, also of one in pieces.
megcc_status_t megcc_begin_run(megcc_context_t *context);
megcc_status_t megcc_end_run(megcc_context_t *context);

// Runs the kernel of a call over `work` units from `begin` on, with these attributes. Without
// `operands` the context's pointers are those to use.
megcc_status_t megcc_call(megcc_context_t *context, const uint32_t *code, int32_t begin,
                          int32_t work, const int32_t *attr, const uint32_t *operands);

// Checks the words that CALL and CALL_SIZED share, and the operands from word `first` on.
megcc_status_t megcc_check_call(const megcc_model_t *model, const uint32_t *code, uint32_t words,
                                uint32_t first);

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

// The context's pointer to the first byte of a pool or block.
static inline uint8_t **megcc_pool(const megcc_context_t *context, uint32_t pool) {
  return context->place[MEGCC_ARENA] + pool;
}

uint8_t *megcc_tensor_data(const megcc_context_t *context, uint32_t id);

// Whether a run has found memory for all tensors, and nobody has given the context another one
// since.
static inline int megcc_is_settled(const megcc_context_t *context) {
  return context->shaped->settled && context->is_apart;
}

// Whether tensors have memory for the present values, as each has where every shape is fixed. What
// lies in memory that a LOAD allocates has none before; a forged image may want it nevertheless.
static inline int megcc_has_memory(const megcc_context_t *context, const uint32_t *tensors,
                                   uint32_t count) {
  const struct megcc_shaped *s = context->shaped;
  return s == NULL || megcc_is_settled(context) || s->ops->reaches(context, tensors, count);
}

// A tensor with its bytes for the present shapes; a dim that is not known yet counts as 0 bytes.
void megcc_measure_tensor(const megcc_context_t *context, uint32_t id, megcc_tensor_t *tensor);

static inline megcc_tensor_t megcc_tensor_in(const megcc_context_t *context, uint32_t id) {
  megcc_tensor_t t;
  megcc_measure_tensor(context, id, &t);
  return t;
}

// The instruction `words` words from one, null where none begins there, and how many calls stand
// before it.
const uint32_t *megcc_instruction(const megcc_model_t *model, const uint32_t *code, int32_t words,
                                  uint32_t *calls);

// A row that moves on in each iteration of a loop; three words of BAND, SLIDE and FEED.
typedef struct megcc_path {
  int32_t step, first, height;
} megcc_path_t;

static inline megcc_path_t megcc_path_of(const uint32_t *word) {
  const megcc_path_t path = {(int32_t)word[0], (int32_t)word[1], (int32_t)word[2]};
  return path;
}

// Whether it is one: it moves down, and stays where 32 bits count it.
int megcc_is_path(const megcc_path_t *path);

// Where it is in an iteration, of an image of its height. megcc_path_at takes less code; the inline
// function is for what is linked without megcc_jumps.c, too.
static inline int32_t megcc_row_at(const megcc_path_t *path, int64_t iteration) {
  const int64_t row = path->step * iteration + path->first;
  return row < 0 ? 0 : row < path->height ? (int32_t)row : path->height;
}

int32_t megcc_path_at(const megcc_path_t *path, int32_t iteration);

// The number of a loop's iteration, -1 where it is none that an image has. With `period` iterations
// an image, of several: the number within one of them, whose own number goes to `image`; 0: there
// is one image.
int32_t megcc_iteration(const megcc_context_t *context, uint32_t counter, uint32_t period,
                        int32_t *image);

// Whether so many images have rows that are counted, one image after the other.
int megcc_is_batch(uint32_t period, uint32_t images, int32_t height);

// A loop's counter: a tensor that holds one i64.
int megcc_is_counter(const megcc_model_t *model, uint32_t id);
int64_t megcc_counter(const megcc_context_t *context, uint32_t id);

// The words that LOAD and LET share: first value, number of values, scalars (first, last + 1),
// blocks (first, last + 1), then bounds of each value.
megcc_status_t megcc_check_sizes(const megcc_model_t *model, const uint32_t *code, uint32_t words);
megcc_status_t megcc_set_size(megcc_context_t *context, const uint32_t *code, uint32_t k,
                              int64_t x);
megcc_status_t megcc_adopt_sizes(megcc_context_t *context, const uint32_t *code);

// ---- where shapes can change -----------------------------------------------------------------

// Evaluates scalars and sizes a range of blocks: for the shapes, or after a LOAD. Values from
// `unknown` on wait for data.
megcc_status_t megcc_compute(struct megcc_shaped *shaped, uint32_t first, uint32_t last);
megcc_status_t megcc_size_blocks(struct megcc_shaped *shaped, uint32_t first, uint32_t last,
                                 uint32_t unknown);

// Stacks the blocks that do not wait for data.
megcc_status_t megcc_stack_blocks(struct megcc_shaped *shaped);

// Addresses the blocks from one on: later ones may be parts of it.
void megcc_place_blocks(megcc_context_t *context, uint32_t first);

// Bytes of a tensor for the present values: 1 and them, 0 where a dim is negative, -1 where they do
// not fit in a size_t.
int megcc_value_bytes(const struct megcc_shaped *shaped, const megcc_tensor_t *tensor,
                      size_t *bytes);

// The functions of megcc_shapes_t that are not beside it. Whether a tensor may lie where it says: 1
// when the shapes will tell, -1 when it is as fixed as any other tensor. `reaches`: whether each of
// some tensors (or MEGCC_NONE) lies within memory, aligned for its elements; `settle`: before a
// run, finds out whether all do and no size is decided during it; `complete`: whether all outputs
// do.
int megcc_may_lie(const megcc_model_t *function, const megcc_tensor_t *tensor);
megcc_status_t megcc_check_shapes(const megcc_model_t *function);
int megcc_reaches(const megcc_context_t *context, const uint32_t *tensors, uint32_t count);
void megcc_settle(megcc_context_t *context);
int megcc_complete(const megcc_context_t *context);

// `reaches` of the operands and the workspace of a call.
int megcc_call_has_memory(const megcc_context_t *context, const uint32_t *code,
                          const uint32_t *operands);

// Whether the size or the place of a tensor is decided during a run.
int megcc_waits_for_data(const megcc_model_t *function, const megcc_tensor_t *tensor);

// Writes down why shapes are refused; MEGCC_ERR_SHAPE.
megcc_status_t megcc_shape_refuse(struct megcc_shaped *shaped, megcc_shape_reason_t reason,
                                  uint32_t input, int32_t axis, int32_t value, int32_t low,
                                  int32_t high);

// The same for a size inside the model, which follows from two values.
megcc_status_t megcc_size_refuse(struct megcc_shaped *shaped, megcc_shape_reason_t reason,
                                 const struct megcc_cause *cause, int32_t value, int32_t low);

// Two library functions, which even a freestanding compiler supplies.
static inline void megcc_copy(void *dst, const void *src, size_t bytes) {
#if defined(__GNUC__)
  __builtin_memmove(dst, src, bytes);
#else
  size_t i;
  for (i = 0; i < bytes; ++i) ((uint8_t *)dst)[i] = ((const uint8_t *)src)[i];
#endif
}

static inline void megcc_zero(void *dst, size_t bytes) {
#if defined(__GNUC__)
  __builtin_memset(dst, 0, bytes);
#else
  size_t i;
  for (i = 0; i < bytes; ++i) ((uint8_t *)dst)[i] = 0;
#endif
}

// All handlers of megcc_opcodes.def; a package links those that its table names. Where shapes can
// change those of CALL and COPY are the `_shaped` ones, which look at memory first.
extern const megcc_op_t megcc_op_call;
extern const megcc_op_t megcc_op_copy;
extern const megcc_op_t megcc_op_call_sized;
extern const megcc_op_t megcc_op_call_shaped;
extern const megcc_op_t megcc_op_copy_shaped;
extern const megcc_op_t megcc_op_load;
extern const megcc_op_t megcc_op_let;
extern const megcc_op_t megcc_op_row;
extern const megcc_op_t megcc_op_branch;
extern const megcc_op_t megcc_op_band;
extern const megcc_op_t megcc_op_jump;
extern const megcc_op_t megcc_op_check;
extern const megcc_op_t megcc_op_draw;
extern const megcc_op_t megcc_op_slide;
extern const megcc_op_t megcc_op_feed;
extern const megcc_op_t megcc_op_store;
extern const megcc_op_t megcc_op_band_sized;
extern const megcc_op_t megcc_op_slide_sized;
extern const megcc_shapes_t megcc_shapes;

#endif  // MEGCC_VM_H
