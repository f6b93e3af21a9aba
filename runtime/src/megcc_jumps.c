// Targets, counters and rows, for BRANCH, JUMP, ROW, BAND, SLIDE, FEED and STORE; only packages
// with one of them carry this file.
#include "megcc_vm.h"

const uint32_t *megcc_instruction(const megcc_model_t *m, const uint32_t *code, int32_t words,
                                  uint32_t *calls) {
  const uint32_t *at = m->section[MEGCC_S_CODE];
  const int64_t target = (int64_t)(code - at) + words;
  const uint32_t *end;
  *calls = 0;
  if (target < 0 || target >= (int64_t)m->count[MEGCC_S_CODE]) return NULL;
  // Instructions before `code` have been checked, later ones not yet.
  for (end = at + target; at < end; at += *at >> 8) {
    if (*at >> 8 == 0 || *at >> 8 > (uint32_t)(end - at)) return NULL;
    const uint32_t opcode = *at & 0xFF;
    *calls += opcode == MEGCC_OP_CALL || opcode == MEGCC_OP_CALL_SIZED || opcode == MEGCC_OP_BAND ||
              opcode == MEGCC_OP_BAND_SIZED;
  }
  return at;
}

int megcc_is_counter(const megcc_model_t *m, uint32_t id) {
  megcc_tensor_t t;
  return megcc_find_tensor(m, id, &t) && t.dtype == MEGCC_I64 && t.bytes == 8;
}

int64_t megcc_counter(const megcc_context_t *c, uint32_t id) {
  int64_t x;
  megcc_copy(&x, megcc_tensor_data(c, id), sizeof x);  // perhaps aligned to 4 only
  return x;
}

enum { MOST_ROWS = 1 << 20 };  // of an image, so that no product of rows and strides is too large

int megcc_is_path(const megcc_path_t *path) {
  return path->step >= 0 && path->step <= MOST_ROWS && path->first >= -MOST_ROWS &&
         path->first <= MOST_ROWS && path->height >= 0 && path->height <= MOST_ROWS;
}

int32_t megcc_path_at(const megcc_path_t *path, int32_t iteration) {
  return megcc_row_at(path, iteration);
}

int32_t megcc_iteration(const megcc_context_t *c, uint32_t counter, uint32_t period,
                        int32_t *image) {
  const int64_t found = megcc_counter(c, counter);
  const int32_t t = found < 0 || found > 2 * MOST_ROWS ? -1 : (int32_t)found;
  *image = 0;
  if (period == 0 || t < 0) return t;
  *image = t / (int32_t)period;
  return t % (int32_t)period;
}

int megcc_is_batch(uint32_t period, uint32_t images, int32_t height) {
  return period <= 2 * MOST_ROWS && images > 0 && images <= MOST_ROWS &&
         (uint64_t)images * (uint32_t)height <= MOST_ROWS;
}
