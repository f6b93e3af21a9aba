// SLIDE: move the rows of a line buffer that are still read to its beginning.
//
//   word 1 counter (a tensor, i64), 2 tensor, 3 bytes of a row, 4 ... 6 the row that lies at its
//   first byte (step, row in iteration 0, height of the image), 7 the first row that is not there
//   yet, in iteration 0: it moves as the other one does; 8 iterations of an image, where there are
//   several, or 0.
#include "megcc_bands.h"

enum {
  COUNTER = MEGCC_SLIDE_COUNTER,
  TENSOR = MEGCC_SLIDE_TENSOR,
  BYTES = MEGCC_SLIDE_BYTES,
  BASE = MEGCC_SLIDE_BASE,
  MADE = MEGCC_SLIDE_MADE,
  PERIOD = MEGCC_SLIDE_PERIOD
};

static megcc_path_t made_of(const uint32_t *code) {
  megcc_path_t made = megcc_path_of(code + BASE);
  made.first = (int32_t)code[MADE];
  return made;
}

megcc_status_t megcc_check_slide(const megcc_model_t *m, const uint32_t *code, uint32_t words) {
  if (words != MEGCC_SLIDE_WORDS || !megcc_is_counter(m, code[COUNTER])) return MEGCC_ERR_CORRUPT;
  if (!megcc_is_batch(code[PERIOD], 1, 0)) return MEGCC_ERR_CORRUPT;
  return megcc_tensor_is_writable(m, code[TENSOR]) ? MEGCC_OK : MEGCC_ERR_CORRUPT;
}

int megcc_slide_fits(const megcc_model_t *m, const megcc_context_t *c, const uint32_t *code) {
  const megcc_path_t base = megcc_path_of(code + BASE), made = made_of(code);
  megcc_tensor_t t = megcc_tensor_at(m, code[TENSOR]);
  int32_t rows;
  if (c != NULL) megcc_measure_tensor(c, code[TENSOR], &t);
  if (!megcc_is_path(&base) || !megcc_is_path(&made)) return 0;
  // Before the move the rows are those from where the buffer began one iteration ago.
  rows = made.first - base.first + base.step;
  if (made.first < base.first - base.step) return 0;
  if (code[BYTES] == 0) return c != NULL;  // an image without columns, for these shapes
  if (rows > base.height) rows = base.height;
  return (uint32_t)rows <= t.bytes / code[BYTES];
}

static megcc_status_t check(const megcc_model_t *m, const uint32_t *code, uint32_t words) {
  const megcc_status_t status = megcc_check_slide(m, code, words);
  if (status != MEGCC_OK) return status;
  return megcc_slide_fits(m, NULL, code) ? MEGCC_OK : MEGCC_ERR_CORRUPT;
}

// Moves bytes down. The memmove of C libraries for microcontrollers goes byte by byte: there words
// at a time, where both places allow it.
static void move_down(uint8_t *to, const uint8_t *from, size_t bytes) {
#if defined(__GNUC__) && defined(__ARM_ARCH_PROFILE) && __ARM_ARCH_PROFILE == 'M'
  if (((uintptr_t)to | (uintptr_t)from) % 4 == 0) {
    uint32_t *t = (uint32_t *)__builtin_assume_aligned(to, 4);
    const uint32_t *f = (const uint32_t *)__builtin_assume_aligned(from, 4);
    for (; bytes >= 16; bytes -= 16, t += 4, f += 4) {
      uint32_t word[4];
      __builtin_memcpy(word, f, 16);  // all are read before one is written
      __builtin_memcpy(t, word, 16);
    }
    to = (uint8_t *)t, from = (const uint8_t *)f;
  }
#endif
  megcc_copy(to, from, bytes);
}

static megcc_status_t run(megcc_context_t *c, const uint32_t *code) {
  int32_t image = 0, t = -1;
  const megcc_path_t base = megcc_path_of(code + BASE), made = made_of(code);
  const size_t bytes = code[BYTES];
  uint8_t *data;
  int32_t from, to, end;
  if (megcc_has_memory(c, code + COUNTER, 2))
    t = megcc_iteration(c, code[COUNTER], code[PERIOD], &image);
  if (t < 0) return MEGCC_ERR_DATA;
  if (t == 0) return MEGCC_OK;  // an image begins
  from = megcc_path_at(&base, t - 1);
  to = megcc_path_at(&base, t);
  end = megcc_path_at(&made, t);
  if (from == to || end <= to) return MEGCC_OK;
  data = megcc_tensor_data(c, code[TENSOR]);
  move_down(data, data + (size_t)(to - from) * bytes, (size_t)(end - to) * bytes);
  return MEGCC_OK;
}

const megcc_op_t megcc_op_slide = {check, run};
