// What the C tests of this folder have in common: checks, memory, logits.
#ifndef EXPECTING_H
#define EXPECTING_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "decoder.h"
#include "megcc_generate.h"

enum { LOGITS = 272 };

#define EXPECT(what) expect((what) != 0, #what, __LINE__)

static void expect(int is_so, const char *what, int line) {
  if (is_so) return;
  fprintf(stderr, "line %d: %s\n", line, what);
  exit(1);
}

static void *aligned(size_t bytes) {
  char *const raw = (char *)malloc(bytes + MEGCC_ALIGNMENT);
  return raw + (MEGCC_ALIGNMENT - (uintptr_t)raw % MEGCC_ALIGNMENT);
}

static megcc_model_t *open_decoder(void) {
  megcc_model_t *model;
  EXPECT(megcc_model_open(&decoder_image, &decoder_kernels, aligned(MEGCC_MODEL_BYTES),
                          MEGCC_MODEL_BYTES, &model) == MEGCC_OK);
  return model;
}

static megcc_context_t *new_context(const megcc_model_t *model) {
  megcc_context_t *context;
  size_t bytes;
  EXPECT(megcc_context_bytes(model, &bytes) == MEGCC_OK);
  EXPECT(megcc_context_create(model, aligned(bytes), bytes, &context) == MEGCC_OK);
  return context;
}

// Logits behind the latest token.
static inline void copy_logits(megcc_generator_t *g, float *to) {
  const float *logits;
  uint32_t count;
  EXPECT(megcc_generator_logits(g, &logits, &count) == MEGCC_OK && count == LOGITS);
  memcpy(to, logits, count * sizeof *to);
}

static inline double distance(const float *a, const float *b) {
  double most = 0;
  int i;
  for (i = 0; i < LOGITS; ++i) {
    const double d = a[i] > b[i] ? (double)a[i] - b[i] : (double)b[i] - a[i];
    if (!(d <= most)) most = d;
  }
  return most;
}

#endif  // EXPECTING_H
