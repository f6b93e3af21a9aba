// SLIDE: move the rows of a line buffer that are still read to its beginning.
//
//   word 1 counter (a tensor, i64), 2 tensor, 3 bytes of a row, 4 ... 6 the row that lies at its
//   first byte (step, row in iteration 0, height of the image), 7 the first row that is not there
//   yet, in iteration 0: it moves as the other one does; 8 iterations of an image, where there are
//   several, or 0.
#include "megcc_vm.h"

enum { COUNTER = 1, TENSOR, BYTES, BASE, MADE = BASE + 3, PERIOD };

static megcc_path_t made_of(const uint32_t *code) {
  megcc_path_t made = megcc_path_of(code + BASE);
  made.first = (int32_t)code[MADE];
  return made;
}

static megcc_status_t check(const megcc_model_t *m, const uint32_t *code, uint32_t words) {
  megcc_path_t base, made;
  megcc_tensor_t t;
  int32_t rows;
  if (words != PERIOD + 1 || !megcc_is_counter(m, code[COUNTER])) return MEGCC_ERR_CORRUPT;
  if (!megcc_tensor_is_writable(m, code[TENSOR])) return MEGCC_ERR_CORRUPT;
  t = megcc_tensor_at(m, code[TENSOR]);
  base = megcc_path_of(code + BASE);
  made = made_of(code);
  if (!megcc_is_batch(code[PERIOD], 1, 0)) return MEGCC_ERR_CORRUPT;
  if (!megcc_is_path(&base) || !megcc_is_path(&made)) return MEGCC_ERR_CORRUPT;
  // Before the move the rows are those from where the buffer began one iteration ago.
  rows = made.first - base.first + base.step;
  if (made.first < base.first - base.step || code[BYTES] == 0) return MEGCC_ERR_CORRUPT;
  if (rows > base.height) rows = base.height;
  return (uint32_t)rows > t.bytes / code[BYTES] ? MEGCC_ERR_CORRUPT : MEGCC_OK;
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
