/// megcc.h: run a compiled neural network from C. This is the whole public API.
///
/// Memory is the caller's: the library never allocates, and never writes to a model. Every call
/// returns a status; nothing aborts. The order of calls is
///
///     megcc_model_open      validate the image once, handle in caller memory
///     megcc_context_create  the state of one run; one per thread, any number per model
///     megcc_set_input_shape of every input whose dims are not fixed; again whenever they change
///     megcc_set_arena       the activations, megcc_arena_bytes() of 64-byte aligned memory
///                           (megcc_set_pool for each pool of a model that has several)
///     megcc_bind_input...   or megcc_set_io + megcc_copy_input
///     megcc_run             any number of times
///
/// A package's own header (include/<name>.h) declares `<name>_image` and `<name>_kernels`.
#ifndef MEGCC_H
#define MEGCC_H

#include <stddef.h>
#include <stdint.h>

/// `MEGCC_API` stands before each function and object of the API, which a shared library exports.
/// With -fvisibility=hidden, which the package's CMakeLists.txt gives it, it exports nothing else.
/// On Windows, define MEGCC_DLL where the library is a DLL, and MEGCC_BUILD where that is built.
/// Define MEGCC_API as nothing to have it all hidden, in a shared library of your own.
#ifndef MEGCC_API
#if defined(_WIN32) && defined(MEGCC_DLL) && defined(MEGCC_BUILD)
#define MEGCC_API __declspec(dllexport)
#elif defined(_WIN32) && defined(MEGCC_DLL)
#define MEGCC_API __declspec(dllimport)
#elif defined(__ELF__) || defined(__APPLE__)
#define MEGCC_API __attribute__((visibility("default")))
#else
#define MEGCC_API
#endif
#endif

#ifdef __cplusplus
extern "C" {
#endif

/// Alignment, in bytes, of the arena; also the best alignment for everything else.
#define MEGCC_ALIGNMENT 64

/// Bytes of the memory that `megcc_model_open` needs, on every platform.
#define MEGCC_MODEL_BYTES 320

/// Most weight segments that one image has.
#define MEGCC_MAX_SEGMENTS 8

/// Most memory pools that one image has.
#define MEGCC_MAX_POOLS 8

typedef enum megcc_status {
  MEGCC_OK = 0,
  MEGCC_ERR_NULL,       // a required pointer is null
  MEGCC_ERR_INDEX,      // no input, output or pool has this number
  MEGCC_ERR_NAME,       // no input or output has this name
  MEGCC_ERR_MEMORY,     // the memory given is too small
  MEGCC_ERR_ALIGNMENT,  // the memory given is not aligned enough
  MEGCC_ERR_TRUNCATED,  // the image ends too early
  MEGCC_ERR_MAGIC,      // this is not a model image
  MEGCC_ERR_VERSION,    // image, kernels and runtime are of different versions
  MEGCC_ERR_CHECKSUM,   // bytes of the image have changed
  MEGCC_ERR_CORRUPT,    // the image contradicts itself
  MEGCC_ERR_KERNELS,    // the image was compiled for other kernels than these
  MEGCC_ERR_OPCODE,     // the image uses an instruction that is not linked in
  MEGCC_ERR_SHAPE,      // the model does not accept this shape
  MEGCC_ERR_SIZE,       // the number of bytes is not that of the tensor
  MEGCC_ERR_UNBOUND,    // an input or output has no memory yet
  MEGCC_ERR_NO_ARENA,   // the arena has not been set
  MEGCC_ERR_NOT_RUN,    // there is no output before a run
  MEGCC_ERR_PLATFORM,   // this machine cannot run the image (byte order, address space)
  MEGCC_ERR_POOLS,      // the model has several memory pools: set each of them
  MEGCC_ERR_NO_SHAPE,   // an input's dims are not fixed and have not been set
  MEGCC_ERR_DATA,       // a size or an index that data says is out of range
  MEGCC_ERR_NO_ALLOC,   // the model has sizes that depend on data and no allocator was set
  MEGCC_ERR_ALLOC,      // the caller's allocator has no memory
  MEGCC_ERR_MACHINE,    // this CPU lacks instructions that the model was compiled for
  MEGCC_ERR_OVERLAP     // an output or the arena overlaps memory that is bound to another port
} megcc_status_t;

/// Element types; the values are part of the image format. From MEGCC_F4E2M1 on, elements are
/// packed as in ONNX: a tensor has two (MEGCC_I2, MEGCC_U2: four) of them in a byte, the first in
/// the lowest bits. The kernels of a package never compute with a type from MEGCC_F8E4M3FN on.
typedef enum megcc_dtype {
  MEGCC_F32 = 0,
  MEGCC_F64,
  MEGCC_F16,
  MEGCC_BF16,
  MEGCC_BOOL,
  MEGCC_I8,
  MEGCC_U8,
  MEGCC_I16,
  MEGCC_U16,
  MEGCC_I32,
  MEGCC_U32,
  MEGCC_I64,
  MEGCC_U64,
  MEGCC_F8E4M3FN,
  MEGCC_F8E4M3FNUZ,
  MEGCC_F8E5M2,
  MEGCC_F8E5M2FNUZ,
  MEGCC_F8E8M0,
  MEGCC_F4E2M1,
  MEGCC_I4,
  MEGCC_U4,
  MEGCC_I2,
  MEGCC_U2
} megcc_dtype_t;

/// Const bytes somewhere in memory (flash, .rodata, a mapped file).
typedef struct megcc_bytes {
  const void *data;
  size_t bytes;
} megcc_bytes_t;

/// A model as data: the program (4-byte aligned) and its weights (8-byte aligned, best 64).
typedef struct megcc_image {
  megcc_bytes_t program;
  megcc_bytes_t segment[MEGCC_MAX_SEGMENTS];
} megcc_image_t;

typedef struct megcc_kernels megcc_kernels_t;  ///< a package's table of compiled kernels
typedef struct megcc_model megcc_model_t;      ///< a validated image with its kernels
typedef struct megcc_context megcc_context_t;  ///< the state of one execution

/// What is known of an input or output; the pointers are valid as long as the context and model.
typedef struct megcc_tensor_info {
  const char *name;  ///< exactly as in the original model, UTF-8
  megcc_dtype_t dtype;
  int32_t rank;         ///< 0 for a scalar
  const int32_t *dims;  ///< `rank` numbers; -1 where it is not known yet
  size_t bytes;         ///< dense, row-major; 0 while a dim is not known
} megcc_tensor_info_t;

// ---- model ---------------------------------------------------------------------------------

/// Describes a `model_<arch>.bin` that lies in memory (read, mapped or flashed, 8-byte aligned).
MEGCC_API megcc_status_t megcc_image_from_bytes(const void *data, size_t bytes,
                                                megcc_image_t *image);

/// Validates `image` completely (weights: their sizes only) and makes a handle for it in `mem`.
/// The image, the kernels and `mem` must stay where they are as long as the model is used.
MEGCC_API megcc_status_t megcc_model_open(const megcc_image_t *image,
                                          const megcc_kernels_t *kernels, void *mem, size_t bytes,
                                          megcc_model_t **model);

/// Compares the checksums of the weights; reads all of them once.
MEGCC_API megcc_status_t megcc_model_verify(const megcc_model_t *model);

/// The name of the machine that the package is compiled for and this CPU is, as in its manifest;
/// where there are several, of the best one, which megcc_model_open takes. MEGCC_ERR_MACHINE: it is
/// none of them. A package whose model is a file wants `model_<name>.bin`. This function and the
/// next are in packages for machines with features ("x86+avx2"); others do not carry them.
MEGCC_API megcc_status_t megcc_machine_name(const megcc_kernels_t *kernels, const char **name);

/// Of a package for several machines, the kernels for one of them, to be given to megcc_model_open
/// in place of the package's own. MEGCC_ERR_NAME: it was not compiled for this one.
MEGCC_API megcc_status_t megcc_machine_kernels(const megcc_kernels_t *kernels, const char *name,
                                               const megcc_kernels_t **one);

MEGCC_API megcc_status_t megcc_input_count(const megcc_model_t *model, uint32_t *count);
MEGCC_API megcc_status_t megcc_output_count(const megcc_model_t *model, uint32_t *count);

/// Number of the input called `name`, and of the first output called so.
MEGCC_API megcc_status_t megcc_input_index(const megcc_model_t *model, const char *name,
                                           uint32_t *index);
MEGCC_API megcc_status_t megcc_output_index(const megcc_model_t *model, const char *name,
                                            uint32_t *index);

/// Number of the output that shares the memory of an input (`tvmc compile --state`): a run changes
/// it in place, and binding either of them binds both. MEGCC_ERR_NAME where none does.
MEGCC_API megcc_status_t megcc_state_output(const megcc_model_t *model, uint32_t input,
                                            uint32_t *output);

// ---- context -------------------------------------------------------------------------------

/// Bytes of the memory that `megcc_context_create` needs (small: some pointers per input, output).
MEGCC_API megcc_status_t megcc_context_bytes(const megcc_model_t *model, size_t *bytes);

/// Makes a context in `mem`, aligned for a pointer. There is no destroy: just forget it.
MEGCC_API megcc_status_t megcc_context_create(const megcc_model_t *model, void *mem, size_t bytes,
                                              megcc_context_t **context);

/// Bytes of arena that the present input shapes need; may be 0. A model whose arena is spread over
/// several pools answers MEGCC_ERR_POOLS, here and to megcc_set_arena.
MEGCC_API megcc_status_t megcc_arena_bytes(const megcc_context_t *context, size_t *bytes);

/// Gives the context its arena, aligned to MEGCC_ALIGNMENT. Contexts that never run at the same
/// time may share one arena (outputs that lie in it are then valid until any of them runs).
MEGCC_API megcc_status_t megcc_set_arena(megcc_context_t *context, void *mem, size_t bytes);

/// How many pools the arena consists of: 1 unless the model was compiled for several memories.
MEGCC_API megcc_status_t megcc_pool_count(const megcc_model_t *model, uint32_t *count);

/// Name of a pool, and the bytes of it that the present input shapes need; may be 0.
MEGCC_API megcc_status_t megcc_pool_info(const megcc_context_t *context, uint32_t index,
                                         const char **name, size_t *bytes);

/// Gives the context one of its pools, under the terms of megcc_set_arena. All are set before the
/// first megcc_copy_input: values that wait in the arena are forgotten.
MEGCC_API megcc_status_t megcc_set_pool(megcc_context_t *context, uint32_t index, void *mem,
                                        size_t bytes);

MEGCC_API megcc_status_t megcc_input_info(const megcc_context_t *context, uint32_t index,
                                          megcc_tensor_info_t *info);
MEGCC_API megcc_status_t megcc_output_info(const megcc_context_t *context, uint32_t index,
                                           megcc_tensor_info_t *info);

/// Sets the shape of an input: MEGCC_ERR_SHAPE for a rank, a fixed dim or a bound that the model
/// does not accept. What several inputs must have in common is looked at when they are all set, by
/// the next call that needs it. A changed shape takes effect then, too: inputs and outputs whose
/// bytes changed lose the memory they were bound to, and values of a run are forgotten. To set what
/// is set already costs nothing.
MEGCC_API megcc_status_t megcc_set_input_shape(megcc_context_t *context, uint32_t index,
                                               int32_t rank, const int32_t *dims);

/// Why a shape was not accepted.
typedef enum megcc_shape_reason {
  MEGCC_SHAPE_FINE,
  MEGCC_SHAPE_RANK,         // the input has `low` dims, not `value`
  MEGCC_SHAPE_FIXED,        // dim `axis` is `value`; it must be `low`
  MEGCC_SHAPE_BOUNDS,       // dim `axis` is `value`; it must be from `low` to `high`
  MEGCC_SHAPE_DIFFERENT,    // dim `axis` is `value`; the dim of the same name is `low`
  MEGCC_SHAPE_NO_FUNCTION,  // the model was not compiled for these sizes together
  MEGCC_SHAPE_REQUIRED,     // two values that the model needs to be equal are `value` and `low`
  MEGCC_SHAPE_NEGATIVE,     // a dim inside the model would be `value`
  MEGCC_SHAPE_TOO_LARGE,    // a size does not fit in 31 bits, or there is none (division by 0)
  MEGCC_SHAPE_MULTIPLE      // dim `axis` is `value`; it must be a multiple of `low`
} megcc_shape_reason_t;

typedef struct megcc_shape_problem_t {
  megcc_shape_reason_t reason;
  uint32_t input;  ///< number of the input, where one is to blame; of sizes inside the model the
                   ///< first with a dim (`axis`) that they follow from; else UINT32_MAX
  int32_t axis, value, low, high;
  const char *name;    ///< of the input, where one is to blame; where the reason is a size inside
                       ///< the model, of the value whose dim it is; or null
  const char *symbol;  ///< name of the dim, or null
} megcc_shape_problem_t;

// The functions from here to megcc_release are in packages whose shapes can change; others, which
// have no use for them, do not carry them.

/// What the latest MEGCC_ERR_SHAPE or MEGCC_ERR_NO_SHAPE was about.
MEGCC_API megcc_status_t megcc_shape_problem(const megcc_context_t *context,
                                             megcc_shape_problem_t *problem);

/// One English sentence without a full stop; never null.
MEGCC_API const char *megcc_shape_reason_string(megcc_shape_reason_t reason);

/// Which of the programs in the package serves the present shapes; 0 where there is one.
MEGCC_API megcc_status_t megcc_function_index(const megcc_context_t *context, uint32_t *index);

// ---- sizes that depend on data -------------------------------------------------------------

/// Memory of `bytes`, aligned to MEGCC_ALIGNMENT, or null.
typedef void *(*megcc_alloc_fn)(void *user, size_t bytes);

/// Takes back what the allocator gave.
typedef void (*megcc_free_fn)(void *user, void *data, size_t bytes);

/// Sets the caller's allocator. Only values whose size depends on data are allocated, during a run;
/// what was allocated is kept for the next run, and grows when it has to. So an output that lies
/// there cannot be bound as an input of the next run: copy it, or the run ends with
/// MEGCC_ERR_OVERLAP.
MEGCC_API megcc_status_t megcc_set_allocator(megcc_context_t *context, megcc_alloc_fn alloc,
                                             megcc_free_fn release, void *user);

/// Gives back everything that was allocated; the context stays usable. Without an allocator there
/// is nothing to release.
MEGCC_API megcc_status_t megcc_release(megcc_context_t *context);

// ---- inputs and outputs --------------------------------------------------------------------

/// Lets the model read an input from `data` (aligned for its element), which must stay valid and
/// unchanged during every run. No copy is made unless the plan put the input into the arena. Inputs
/// may share memory with each other, not with an output or the arena.
MEGCC_API megcc_status_t megcc_bind_input(megcc_context_t *context, uint32_t index,
                                          const void *data, size_t bytes);

/// Lets the model write an output to `data`, which may not overlap any input (but that of its own
/// state, see megcc_state_output), any other output or the arena: a run says so
/// (MEGCC_ERR_OVERLAP), as only then is everything bound for it. An output whose size depends on
/// data cannot be bound (MEGCC_ERR_DATA): read it after the run.
MEGCC_API megcc_status_t megcc_bind_output(megcc_context_t *context, uint32_t index, void *data,
                                           size_t bytes);

/// Bytes of the memory that `megcc_set_io` needs; may be 0.
MEGCC_API megcc_status_t megcc_io_bytes(const megcc_context_t *context, size_t *bytes);

/// Binds every input and output that does not lie in memory of the model to a piece of `mem`
/// (aligned to MEGCC_ALIGNMENT), for callers who would rather copy than bind.
MEGCC_API megcc_status_t megcc_set_io(megcc_context_t *context, void *mem, size_t bytes);

/// Copies an input's value into memory given by `megcc_set_io` or, if it lies there, into the
/// arena; in that case the copy serves one run.
MEGCC_API megcc_status_t megcc_copy_input(megcc_context_t *context, uint32_t index,
                                          const void *data, size_t bytes);

/// Where an output's value is after a run: the bound memory, else in the arena until the next run.
MEGCC_API megcc_status_t megcc_output_data(const megcc_context_t *context, uint32_t index,
                                           const void **data);

/// Copies an output's value.
MEGCC_API megcc_status_t megcc_read_output(const megcc_context_t *context, uint32_t index,
                                           void *data, size_t bytes);

// ---- run -----------------------------------------------------------------------------------

/// Runs the model once. Allocates nothing; a context runs in one thread at a time.
/// MEGCC_ERR_OVERLAP: a bound output or a pool of the arena overlaps another port's memory or
/// another pool, and nothing has been written; or memory of the allocator does, which is compared
/// during the run, when its size is known and before it is written. 0 bytes overlap nothing.
MEGCC_API megcc_status_t megcc_run(megcc_context_t *context);

/// Begins the random numbers of a context again: of the runs from here on, which each draw others.
/// A new context has the seed 0. Equal seeds give equal integers on every machine and with any
/// number of threads; a node with a seed of its own has that one instead, and begins again, too. In
/// packages that draw random numbers; others, which have no use for it, do not carry it.
MEGCC_API megcc_status_t megcc_set_seed(megcc_context_t *context, int64_t seed);

/// Where the latest run ended: `name` is the model's node, null where it was no node, and `call`
/// the number of the call that would have come next. In packages whose runs can fail for what is in
/// the data; others, which have no use for it, do not carry it.
MEGCC_API megcc_status_t megcc_failed_call(const megcc_context_t *context, uint32_t *call,
                                           const char **name);

typedef enum megcc_event { MEGCC_CALL_BEGIN, MEGCC_CALL_END } megcc_event_t;

/// Called before and after kernel call number `call`; `name` is the model's node(s).
typedef void (*megcc_profile_fn)(void *user, megcc_event_t event, uint32_t call, const char *name,
                                 const char *kernel);

/// Sets (or, with null, removes) the profile hook.
MEGCC_API megcc_status_t megcc_set_profile(megcc_context_t *context, megcc_profile_fn profile,
                                           void *user);

/// Processes [begin, end) of a task; disjoint ranges may run at the same time, each with the number
/// of another worker.
typedef void (*megcc_range_fn)(const void *task, uint32_t worker, int32_t begin, int32_t end);

/// Covers [0, work) by disjoint calls of `range` and returns when all of them have returned. Ranges
/// that run at the same time have different workers' numbers, all of them below `workers`: a worker
/// has scratch memory of its own. Below `grain`, a range costs more to hand out than it gives.
typedef void (*megcc_parallel_fn)(void *user, megcc_range_fn range, const void *task, int32_t work,
                                  int32_t grain, uint32_t workers);

/// Sets (or, with null, removes) the caller's thread pool; megcc_pool.h has one. Not every call is
/// split: one that is small, whose output takes the place of input that it has read, or whose
/// workspace was planned for one worker (`tvmc compile --threads`), runs from first to last.
MEGCC_API megcc_status_t megcc_set_parallel(megcc_context_t *context, megcc_parallel_fn parallel,
                                            void *user);

/// One English sentence without a full stop; never null.
MEGCC_API const char *megcc_status_string(megcc_status_t status);

/// "f32", "i64", ...; "?" for a number that is no element type.
MEGCC_API const char *megcc_dtype_name(megcc_dtype_t dtype);

/// Bytes of one element by itself, 1 where elements are packed; 0 for a number that is no element
/// type. For the bytes of a tensor see megcc_tensor_info_t.
MEGCC_API size_t megcc_dtype_bytes(megcc_dtype_t dtype);

#ifdef __cplusplus
}
#endif

#endif  // MEGCC_H
