// Forged images: what opens can be run (kernels aside) without a step outside the memory given, and
// what a kernel would be given is memory of its tensors' sizes.
//
// Wants HEADER, KERNELS, SHAPED and FED of the package whose images they are. Every block of memory
// is exactly as large as the runtime asks for, so that a sanitizer sees a step beyond it.
// Instructions are counted: a forged image may run for ever.
#ifndef MEGCC_TEST_FORGE_H
#define MEGCC_TEST_FORGE_H

#include "check.h"
#include "megcc_vm.h"
#include HEADER
#if FED
#include "megcc_step.h"
#endif

enum { LIMIT = 1 << 18, STEPS = 400, PORTS = 16, RANK = 8, BLOCKS = 256 };

static char model_memory[MEGCC_MODEL_BYTES] __attribute__((aligned(64)));

// ---- memory --------------------------------------------------------------------------------

// Without a sanitizer what stands after a block says whether something was written there.
#if defined(__SANITIZE_ADDRESS__)
enum { GUARD = 0 };
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
enum { GUARD = 0 };
#else
enum { GUARD = 64 };
#endif
#else
enum { GUARD = 64 };
#endif

static struct {
  unsigned char *data;
  size_t bytes;
} blocks[BLOCKS];
static size_t block_count;

// Memory of exactly `bytes`, with small numbers in case they are read as sizes; null for too much.
static void *block_of(size_t bytes, int seed) {
  unsigned char *p = NULL;
  size_t i;
  if (bytes > LIMIT || block_count == BLOCKS) return NULL;
  CHECK(posix_memalign((void **)&p, MEGCC_ALIGNMENT, bytes + (bytes == 0) + GUARD) == 0);
  for (i = 0; i < bytes; ++i)
    p[i] = i % 8 == 0 ? (unsigned char)(1 + (i / 8 + (size_t)seed) % 2) : 0;
  memset(p + bytes, 0x5A, GUARD);
  blocks[block_count].data = p;
  blocks[block_count++].bytes = bytes;
  return p;
}

static void free_blocks(void) {
  while (block_count > 0) {
    int i = 0;
    --block_count;
    for (; i < GUARD; ++i)
      CHECK(blocks[block_count].data[blocks[block_count].bytes + (size_t)i] == 0x5A);
    free(blocks[block_count].data);
  }
}

#if SHAPED
static void *allocate(void *user, size_t bytes) {
  void *data = NULL;
  (void)user;
  if (bytes > LIMIT || posix_memalign(&data, MEGCC_ALIGNMENT, bytes) != 0) return NULL;
  memset(data, 0, bytes);
  return data;
}

static void give_back(void *user, void *data, size_t bytes) {
  (void)user;
  (void)bytes;
  free(data);
}
#endif

// ---- instructions --------------------------------------------------------------------------

static const megcc_op_t *own_op[256];
static uint32_t steps;

// Reads, of a tensor that an instruction has accepted, the first and the last byte.
static void touch(const megcc_context_t *c, uint32_t id, int writes) {
  const megcc_tensor_t t = megcc_tensor_in(c, id);
  volatile uint8_t *data = megcc_tensor_data(c, id);
  uint8_t first, last;
  CHECK(data != NULL);
  if (t.bytes == 0) return;
  first = data[0];
  last = data[t.bytes - 1];
  if (!writes) return;
  data[0] = first;
  data[t.bytes - 1] = last;
}

static megcc_status_t step(megcc_context_t *c, const uint32_t *code) {
  const uint32_t opcode = *code & 0xFF;
  const uint32_t first = opcode == MEGCC_OP_CALL ? MEGCC_C_FIRST : MEGCC_C_FIRST + 2;
  megcc_status_t status;
  uint32_t i;
  if (++steps > STEPS) return MEGCC_ERR_DATA;
  status = own_op[opcode]->run(c, code);
  if (status != MEGCC_OK || (opcode != MEGCC_OP_CALL && opcode != MEGCC_OP_CALL_SIZED)) {
    return status;
  }
  for (i = 0; i < code[MEGCC_C_OPERANDS]; ++i) {
    touch(c, code[first + i], i >= code[MEGCC_C_OPERANDS] - code[MEGCC_C_OUTPUTS]);
  }
  if (code[MEGCC_C_WORKSPACE] != MEGCC_NONE) touch(c, code[MEGCC_C_WORKSPACE], 1);
  return MEGCC_OK;
}

static void idle(void *const *ptr, const int32_t *attr, void *ws, int32_t begin, int32_t end) {
  (void)ptr, (void)attr, (void)ws, (void)begin, (void)end;
}

// The package's kernels, but each does nothing, and each instruction is counted.
static const megcc_kernels_t *idle_kernels(void) {
  static megcc_kernels_t kernels;
  static megcc_kernel_fn idles[64];
  static megcc_op_t op[256];
  static const megcc_op_t *table[256];
  uint32_t i;
  kernels = KERNELS;
  CHECK(kernels.count <= 64 && kernels.op_count <= 256);
  for (i = 0; i < 64; ++i) idles[i] = idle;
  for (i = 0; i < kernels.op_count; ++i) {
    own_op[i] = kernels.op[i];
    if (own_op[i] == NULL) continue;
    op[i].check = own_op[i]->check;
    op[i].run = step;
    table[i] = op + i;
  }
  kernels.fn = idles;
  kernels.op = table;
  return &kernels;
}

// ---- runs ----------------------------------------------------------------------------------

struct forged {
  const megcc_model_t *model;
  megcc_context_t *context;
  uint32_t inputs, outputs;
#if SHAPED
  int32_t rank[PORTS], dims[PORTS][RANK];  // as they are before any is set
#endif
};

#if SHAPED
static void remember_shapes(struct forged *f) {
  megcc_tensor_info_t info;
  uint32_t i;
  for (i = 0; i < f->inputs && i < PORTS; ++i) {
    CHECK_STATUS(MEGCC_OK, megcc_input_info(f->context, i, &info));
    f->rank[i] = info.rank;
    if (info.rank <= RANK) memcpy(f->dims[i], info.dims, (size_t)info.rank * sizeof *info.dims);
  }
}

static void set_shapes(const struct forged *f, int32_t n) {
  uint32_t i;
  for (i = 0; i < f->inputs && i < PORTS; ++i) {
    int32_t dims[RANK], d;
    if (f->rank[i] > RANK) continue;
    for (d = 0; d < f->rank[i]; ++d) dims[d] = f->dims[i][d] < 0 ? n : f->dims[i][d];
    (void)megcc_set_input_shape(f->context, i, f->rank[i], dims);
  }
}
#endif

static void bind_all(const struct forged *f, int seed) {
  megcc_tensor_info_t info;
  uint32_t i;
  for (i = 0; i < f->inputs; ++i) {
    void *data;
    CHECK_STATUS(MEGCC_OK, megcc_input_info(f->context, i, &info));
    if ((data = block_of(info.bytes, seed)) == NULL) continue;
    if (seed % 2) (void)megcc_copy_input(f->context, i, data, info.bytes);
    (void)megcc_bind_input(f->context, i, data, info.bytes);
  }
  for (i = 0; i < f->outputs; ++i) {
    void *data;
    CHECK_STATUS(MEGCC_OK, megcc_output_info(f->context, i, &info));
    if ((data = block_of(info.bytes, seed)) == NULL) continue;
    (void)megcc_bind_output(f->context, i, data, info.bytes);
  }
}

static void set_io(const struct forged *f, int seed) {
  megcc_tensor_info_t info;
  size_t bytes = 0;
  void *data;
  uint32_t i;
  if (megcc_io_bytes(f->context, &bytes) != MEGCC_OK) return;
  if ((data = block_of(bytes, seed)) == NULL) return;
  CHECK_STATUS(MEGCC_OK, megcc_set_io(f->context, data, bytes));
  for (i = 0; i < f->inputs; ++i) {
    CHECK_STATUS(MEGCC_OK, megcc_input_info(f->context, i, &info));
    if ((data = block_of(info.bytes, seed)) == NULL) continue;
    CHECK_STATUS(MEGCC_OK, megcc_copy_input(f->context, i, data, info.bytes));
  }
}

static void read_all(const struct forged *f) {
  megcc_tensor_info_t info;
  const void *from;
  uint32_t i;
  for (i = 0; i < f->outputs; ++i) {
    void *data;
    CHECK_STATUS(MEGCC_OK, megcc_output_info(f->context, i, &info));
    CHECK(strlen(info.name) < LIMIT);
    CHECK_STATUS(MEGCC_OK, megcc_output_data(f->context, i, &from));
    if ((data = block_of(info.bytes, 0)) == NULL) continue;
    CHECK_STATUS(MEGCC_OK, megcc_read_output(f->context, i, data, info.bytes));
  }
}

// One run with open dims of size n; how memory is given depends on `seed`.
static megcc_status_t run_at(const struct forged *f, int32_t n, int seed) {
  megcc_status_t status;
  uint32_t i, pools = 0;
#if SHAPED
  set_shapes(f, n);
#else
  (void)n;
#endif
  CHECK_STATUS(MEGCC_OK, megcc_pool_count(f->model, &pools));
  for (i = 0; i < pools; ++i) {
    const char *name;
    size_t bytes = 0;
    void *mem;
    status = megcc_pool_info(f->context, i, &name, &bytes);
    if (status != MEGCC_OK) return status;
    if ((mem = block_of(bytes, seed)) == NULL) return MEGCC_ERR_MEMORY;
    CHECK_STATUS(MEGCC_OK, megcc_set_pool(f->context, i, mem, bytes));
  }
  if (seed != 2) bind_all(f, seed);
  if (seed == 2) set_io(f, seed);
  steps = 0;
  status = megcc_run(f->context);
  if (status == MEGCC_OK) read_all(f);
  return status;
}

#if FED
// A run in pieces of another context, which is given the rows of its image.
static void run_by_rows(const struct forged *whole) {
  struct forged f = *whole;
  megcc_stepper_t stepper;
  megcc_step_state_t state = MEGCC_STEP_MORE;
  megcc_rows_t rows;
  megcc_status_t status;
  size_t bytes = 0;
  void *mem;
  uint32_t i, pools = 0;
  CHECK_STATUS(MEGCC_OK, megcc_context_bytes(f.model, &bytes));
  if ((mem = block_of(bytes, 0)) == NULL) return;
  CHECK_STATUS(MEGCC_OK, megcc_context_create(f.model, mem, bytes, &f.context));
  CHECK_STATUS(MEGCC_OK, megcc_pool_count(f.model, &pools));
  for (i = 0; i < pools; ++i) {
    const char *name;
    CHECK_STATUS(MEGCC_OK, megcc_pool_info(f.context, i, &name, &bytes));
    if ((mem = block_of(bytes, 0)) == NULL) return;
    CHECK_STATUS(MEGCC_OK, megcc_set_pool(f.context, i, mem, bytes));
  }
  f.inputs = 0;
  bind_all(&f, 0);
  steps = 0;
  CHECK_STATUS(MEGCC_OK, megcc_stepper_init(&stepper, f.context));
  while ((status = megcc_step(&stepper, 1, &state)) == MEGCC_OK && state != MEGCC_STEP_DONE) {
    if (state != MEGCC_STEP_ROWS) continue;
    if (megcc_rows_wanted(&stepper, &rows) != MEGCC_OK) break;
    if ((mem = block_of(rows.planes * rows.row_bytes * rows.count, 0)) == NULL) break;
    CHECK_STATUS(MEGCC_ERR_SIZE, megcc_put_rows(&stepper, rows.input, mem, rows.count + 1));
    CHECK_STATUS(MEGCC_OK, megcc_put_rows(&stepper, rows.input, mem, rows.count));
  }
}
#endif

// Opens a program over the package's weights and runs what opens; the answer of the first run.
// (What kernels would have computed is missing, so that other sizes may well not fit the data.)
static megcc_status_t try_image(const megcc_image_t *image, const megcc_kernels_t *kernels) {
  struct forged f;
  megcc_model_t *model;
  size_t bytes = 0;
  uint32_t index;
  megcc_status_t status, first = MEGCC_OK;
  static const int32_t sizes[][2] = {{3, 0}, {0, 1}, {8, 2}, {3, 3}};  // n, seed
  size_t k;
  void *mem;
  status = megcc_model_open(image, kernels, model_memory, sizeof model_memory, &model);
  if (status != MEGCC_OK) return status;
  f.model = model;
  CHECK_STATUS(MEGCC_OK, megcc_context_bytes(model, &bytes));
  if ((mem = block_of(bytes, 0)) == NULL) return MEGCC_ERR_MEMORY;
  CHECK_STATUS(MEGCC_OK, megcc_context_create(model, mem, bytes, &f.context));
  CHECK_STATUS(MEGCC_OK, megcc_input_count(model, &f.inputs));
  CHECK_STATUS(MEGCC_OK, megcc_output_count(model, &f.outputs));
  (void)megcc_input_index(model, "none of them", &index);
#if SHAPED
  CHECK_STATUS(MEGCC_OK, megcc_set_allocator(f.context, allocate, give_back, NULL));
  remember_shapes(&f);
#endif
  for (k = 0; k < sizeof sizes / sizeof *sizes; ++k) {
    status = run_at(&f, sizes[k][0], sizes[k][1]);
    if (k == 0) first = status;
  }
#if FED
  run_by_rows(&f);
#endif
#if SHAPED
  CHECK_STATUS(MEGCC_OK, megcc_release(f.context));
#endif
  free_blocks();
  return first;
}

static void fix_checksum(uint32_t *word) {
  word[MEGCC_H_CHECKSUM] =
      megcc_crc32(word + MEGCC_H_CHECKSUM + 1, word[MEGCC_H_BYTES] - 4 * (MEGCC_H_CHECKSUM + 1));
}

#endif  // MEGCC_TEST_FORGE_H
